// OpenAI's chat completions: what it refuses of a question, and an answer as the events of its stream.
import { z } from 'zod'
import type { Said } from './model-server.ts'

const call = z.object({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.object({ name: z.string().regex(/^[\w-]{1,64}$/), arguments: z.string() }),
})
const content = z.union([z.string().min(1), z.array(z.object({ type: z.literal('text'), text: z.string().min(1) }))])
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content: content.or(z.literal('')).nullish(),
    tool_calls: z.array(call).optional(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string(), content }),
])
const question = z.object({
  model: z.string().min(1),
  stream: z.literal(true),
  messages: z.array(message).min(1),
  tools: z
    .array(
      z.object({
        type: z.literal('function'),
        function: z.object({
          name: z.string().regex(/^[\w-]{1,64}$/),
          description: z.string(),
          parameters: z.looseObject({ type: z.literal('object') }),
        }),
      }),
    )
    .optional(),
})

export function openAiFault(body: unknown): string | null {
  const parsed = question.safeParse(body)
  if (!parsed.success) return parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`).join('; ')
  let open: string[] = []
  for (const one of parsed.data.messages) {
    if (one.role === 'tool') {
      if (!open.includes(one.tool_call_id)) return `no tool call ${one.tool_call_id} before its result`
      open = open.filter((id) => id !== one.tool_call_id)
      continue
    }
    if (open.length > 0) return `tool calls without a result: ${open.join(', ')}`
    if (one.role === 'assistant') {
      if (!one.content && one.tool_calls === undefined) return 'an assistant message needs content or tool calls'
      const bad = one.tool_calls?.find((each) => !isJson(each.function.arguments))
      if (bad !== undefined) return `arguments of ${bad.id} are no JSON`
      open = one.tool_calls?.map((each) => each.id) ?? []
    }
  }
  return open.length > 0 ? `tool calls without a result: ${open.join(', ')}` : null
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const REASONS = { stop: 'stop', calls: 'tool_calls', length: 'length', refusal: 'content_filter' } as const

export function openAiStream(said: Said): string[] {
  const { text = [], calls = [], usage = { input: 12, cached: 4, output: 7 }, end } = said
  const reason = REASONS[end ?? (calls.length > 0 ? 'calls' : 'stop')]
  const chunk = (delta: object, finish: string | null = null): string =>
    event({ choices: [{ index: 0, delta, finish_reason: finish }] })
  return [
    chunk({ role: 'assistant', content: '' }),
    ...text.map((piece) => chunk({ content: piece })),
    ...calls.flatMap((one, at) =>
      callChunks(one, said.sameIndex ? 0 : at).map((delta) => chunk({ tool_calls: [delta] })),
    ),
    chunk({}, reason),
    ...(usage === null ? [] : [event({ choices: [], usage: usageOf(usage) })]),
    'data: [DONE]\n\n',
  ]
}

const usageOf = ({ input, cached, output }: NonNullable<Said['usage']>): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
})

const callChunks = (one: NonNullable<Said['calls']>[number], index: number): object[] => {
  const [first = '', ...rest] = one.arguments
  return [
    { index, id: one.id, type: 'function', function: { name: one.name, arguments: first } },
    ...rest.map((piece) => ({ index, function: { arguments: piece } })),
  ]
}

const event = (data: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'test', ...data })}\n\n`
