// The model of a storm of agents: a server of our own that speaks OpenAI's dialect. Its answer is a function of the question
// alone, and it refuses what the real one refuses, such as a call without its result.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { openAiFault, openAiStream } from '../../service/test/receivers/model-server-openai.ts'

interface Step {
  readonly tool: string
  readonly input: object
}

/** What a session does; the message says which one it is. */
const stepsOf = (tag: string, schedule: string): readonly (readonly Step[])[] => [
  [{ tool: 'write_file', input: { path: `notes/${tag}.txt`, content: `one ${tag}\n` } }],
  [
    { tool: 'git_commit', input: { message: `one of ${tag}` } },
    { tool: 'trigger_bolt_run', input: { schedule, reason: tag } },
  ],
  [{ tool: 'run_terminal_command', input: { command: `echo ${tag} >> effects.txt` } }],
  [
    { tool: 'post_slack_message', input: { text: `note of ${tag}` } },
    { tool: 'write_file', input: { path: `notes/${tag}.txt`, content: `two ${tag}\n` } },
  ],
  [{ tool: 'git_commit', input: { message: `two of ${tag}` } }],
  [{ tool: 'git_push', input: {} }],
]

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : ((content as { text: string }[] | undefined) ?? []).map((one) => one.text).join('')

export async function stormModel(schedule: () => string, delay: () => number) {
  const faults: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked
    const fault = openAiFault(body)
    if (fault !== null) {
      faults.push(fault)
      return void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: fault, type: 'invalid_request_error', code: null, param: null } }))
    }
    const tag = /storm-\d+/.exec(
      body.messages
        .filter((one) => one.role === 'user')
        .map((one) => textOf(one.content))
        .join(),
    )?.[0]
    const done = body.messages.filter((one) => one.role === 'assistant').length
    const step = stepsOf(tag ?? '', schedule())[done]
    await pause(delay())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const said =
      step === undefined
        ? { text: [`done ${tag}`] }
        : {
            calls: step.map(({ tool, input }, at) => ({
              id: `c${at}`,
              name: tool,
              arguments: [JSON.stringify(input)],
            })),
          }
    response.end(openAiStream(said).join(''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { faults, address: `http://127.0.0.1:${port}/v1`, close: () => server.close() }
}
