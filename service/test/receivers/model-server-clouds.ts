// Three more dialects, each with one answer: OpenAI's responses, Google's generateContent and Bedrock's converse. A
// question without a result is answered with words and one call of list_directory; one with a result, with words.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'

export type Cloud = 'openai' | 'google' | 'bedrock'

export interface CloudAsked {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface Wire {
  readonly type: string
  chunks(hasResult: boolean): (string | Uint8Array)[]
}

/** The key that is taken, in whatever header the dialect has for it. */
export const CLOUD_KEY = 'key-of-the-cloud-01234567'

/** `cutAfter`: ends as if the answer were whole after so many events. */
export async function cloudServer(cloud: Cloud, cutAfter = Number.POSITIVE_INFINITY) {
  const asked: CloudAsked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { headers, url = '' } = request
    asked.push({ path: url, headers, body })
    const proof = `${headers.authorization ?? ''} ${String(headers['x-goog-api-key'] ?? '')}`
    const isSigned = /^AWS4-HMAC-SHA256 Credential=AKIATEST\//.test(headers.authorization ?? '')
    if (!proof.includes(CLOUD_KEY) && !isSigned) {
      response.writeHead(401, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ error: { message: `bad key ${proof}`, code: 401 }, message: proof }))
    }
    response.writeHead(200, { 'content-type': WIRES[cloud].type })
    for (const chunk of WIRES[cloud].chunks(/the listing/.test(body)).slice(0, cutAfter)) response.write(chunk)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: asked as readonly CloudAsked[],
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const INPUT = '{"path":"."}'

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const openai: Wire = {
  type: 'text/event-stream',
  chunks: (hasResult) => {
    const item = (type: string, id: string, more: object) => ({ type, id, ...more })
    const call = { call_id: 'call_1', name: 'list_directory', arguments: INPUT, status: 'completed' }
    const events: object[] = [
      { type: 'response.created', response: { id: 'resp_1', created_at: 1_760_000_000, model: 'test' } },
      { type: 'response.output_item.added', output_index: 0, item: item('message', 'msg_1', {}) },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'I loo' },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'k.' },
      { type: 'response.output_item.done', output_index: 0, item: item('message', 'msg_1', {}) },
    ]
    if (!hasResult) {
      const at = { item_id: 'fc_1', output_index: 1 }
      const begun = item('function_call', 'fc_1', { ...call, arguments: '', status: 'in_progress' })
      events.push(
        { type: 'response.output_item.added', output_index: 1, item: begun },
        { type: 'response.function_call_arguments.delta', ...at, delta: '{"path"' },
        { type: 'response.function_call_arguments.delta', ...at, delta: ':"."}' },
        { type: 'response.function_call_arguments.done', ...at, arguments: INPUT },
        { type: 'response.output_item.done', output_index: 1, item: item('function_call', 'fc_1', call) },
      )
    }
    const usage = { input_tokens: 12, input_tokens_details: { cached_tokens: 4 }, output_tokens: 7 }
    return [...events, { type: 'response.completed', response: { usage, incomplete_details: null } }].map(sse)
  },
}

const google: Wire = {
  type: 'text/event-stream',
  chunks: (hasResult) => {
    const part = (parts: object[], more: object = {}) =>
      sse({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }] })
    const call = hasResult ? [] : [{ functionCall: { name: 'list_directory', args: JSON.parse(INPUT) as object } }]
    const usageMetadata = {
      promptTokenCount: 12,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 7,
      totalTokenCount: 19,
    }
    return [
      part([{ text: 'I loo' }]),
      part([{ text: 'k.' }]),
      ...(call.length > 0 ? [part(call)] : []),
      sse({ candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP', index: 0 }], usageMetadata }),
    ]
  },
}

const bedrock: Wire = {
  type: 'application/vnd.amazon.eventstream',
  chunks: (hasResult) => {
    const call = [
      frame('contentBlockStart', {
        contentBlockIndex: 1,
        start: { toolUse: { toolUseId: 'call_1', name: 'list_directory' } },
      }),
      frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"path"' } } }),
      frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: ':"."}' } } }),
      frame('contentBlockStop', { contentBlockIndex: 1 }),
    ]
    return [
      frame('messageStart', { role: 'assistant' }),
      frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'I loo' } }),
      frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'k.' } }),
      frame('contentBlockStop', { contentBlockIndex: 0 }),
      ...(hasResult ? [] : call),
      frame('messageStop', { stopReason: hasResult ? 'end_turn' : 'tool_use' }),
      frame('metadata', {
        usage: { inputTokens: 8, cacheReadInputTokens: 4, outputTokens: 7, totalTokens: 19 },
        metrics: { latencyMs: 1 },
      }),
    ]
  },
}

/** A message of Amazon's event stream: lengths, a checksum of them, headers, the payload, a checksum of all. */
function frame(type: string, data: object): Uint8Array {
  const headers = Buffer.concat(
    Object.entries({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }).map(
      ([name, value]) => {
        const size = Buffer.alloc(2)
        size.writeUInt16BE(value.length)
        // 7: a text.
        return Buffer.concat([
          Buffer.from([name.length]),
          Buffer.from(name),
          Buffer.from([7]),
          size,
          Buffer.from(value),
        ])
      },
    ),
  )
  const payload = Buffer.from(JSON.stringify(data))
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return bytes
  }
  const lengths = Buffer.concat([number(headers.length + payload.length + 16), number(headers.length)])
  const head = Buffer.concat([lengths, number(crc32(lengths)), headers, payload])
  return Buffer.concat([head, number(crc32(head))])
}

const WIRES: Readonly<Record<Cloud, Wire>> = { openai, google, bedrock }
