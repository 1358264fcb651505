// Anthropic's messages: what it refuses of a question, and an answer as the events of its stream.
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Said } from './model-server.ts'

const id = z.string().regex(/^[A-Za-z0-9_-]+$/)
const text = z.looseObject({ type: z.literal('text'), text: z.string().regex(/\S/) })
const part = z.discriminatedUnion('type', [
  text,
  z.looseObject({ type: z.literal('tool_use'), id, name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.looseObject({
    type: z.literal('tool_result'),
    tool_use_id: id,
    content: z.union([z.string().min(1), z.array(text)]),
    is_error: z.boolean().optional(),
  }),
])
const question = z.object({
  model: z.string().min(1),
  max_tokens: z.int().positive(),
  stream: z.literal(true),
  system: z.array(text).optional(),
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.array(part).min(1) })).min(1),
  tools: z
    .array(
      z.looseObject({
        name: z.string().regex(/^[\w-]{1,128}$/),
        description: z.string(),
        input_schema: z.looseObject({ type: z.literal('object') }),
      }),
    )
    .optional(),
})

export function anthropicFault(body: unknown, headers: IncomingHttpHeaders): string | null {
  if (headers['anthropic-version'] === undefined) return 'anthropic-version: header is required'
  const parsed = question.safeParse(body)
  if (!parsed.success) return parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`).join('; ')
  const { messages } = parsed.data
  if (messages[0]!.role !== 'user') return 'messages: first message must use the "user" role'
  for (const [at, { content }] of messages.entries()) {
    const called = content.flatMap((one) => (one.type === 'tool_use' ? [one.id] : []))
    const answered = (messages[at + 1]?.content ?? []).flatMap((one) =>
      one.type === 'tool_result' ? [one.tool_use_id] : [],
    )
    const missing = called.filter((one) => !answered.includes(one))
    if (missing.length > 0) return `tool_use ids without tool_result blocks: ${missing.join(', ')}`
    if (answered.some((one) => !called.includes(one))) return 'tool_result without its tool_use'
  }
  return null
}

const REASONS = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens', refusal: 'refusal' } as const

export function anthropicStream(said: Said): string[] {
  const { text: pieces = [], calls = [], usage = { input: 12, cached: 4, output: 7 }, end } = said
  const reason = REASONS[end ?? (calls.length > 0 ? 'calls' : 'stop')]
  const blocks = [
    ...(pieces.length > 0 ? [{ start: { type: 'text', text: '' }, deltas: pieces.map(textDelta) }] : []),
    ...calls.map((one) => ({
      start: { type: 'tool_use', id: one.id, name: one.name, input: {} },
      deltas: one.arguments.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    })),
  ]
  return [
    event('message_start', {
      message: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'test', content: [] },
        ...{ stop_reason: null, stop_sequence: null },
        usage: startUsage(usage ?? NOT_SAID),
      },
    }),
    event('ping', {}),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: (usage ?? NOT_SAID).output },
    }),
    event('message_stop', {}),
  ]
}

const textDelta = (piece: string): object => ({ type: 'text_delta', text: piece })

/** The counts are always there; a server in between that does not know them writes zeros. */
const NOT_SAID = { input: 0, cached: 0, output: 0 }

/** What came from the cache is not part of `input_tokens` here. */
const startUsage = ({ input, cached }: NonNullable<Said['usage']>): object => ({
  input_tokens: input - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: 0,
})

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
