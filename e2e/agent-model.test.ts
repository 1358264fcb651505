// Agents with a model over HTTP: a real service, real tools on the repository of its first start, and a server that
// speaks the dialects of models and misbehaves as they do.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ModelServer, modelServer, type Reply } from '../service/test/receivers/model-server.ts'
import { type Client, clientOf } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

let service: ServiceProcess
let client: Client
let models: ModelServer

before(async () => {
  models = await modelServer()
  service = await startProcess({ env: { YARDMASTER_OUTGOING_ALLOW: '127.0.0.1' } })
  client = clientOf(service)
})
after(async () => {
  await service.stop()
  await models[Symbol.asyncDispose]()
})

const PROVIDERS = { openai: 'OPENAI_COMPATIBLE', anthropic: 'ANTHROPIC' } as const

const setFamily = (name: string, provider: string, apiKey = models.key) =>
  client.ask(
    `mutation ($name: String!, $provider: ModelProvider, $model: String, $settings: [IntegrationSettingInput!],
      $secrets: [IntegrationSettingInput!]) {
      setModelFamily(name: $name, provider: $provider, model: $model, settings: $settings, secrets: $secrets) { ok } }`,
    {
      ...{ name, provider, model: 'test-model' },
      settings: [
        { name: 'address', value: models.address },
        { name: 'priceInput', value: '3' },
        { name: 'priceOutput', value: '15' },
      ],
      secrets: [{ name: 'apiKey', value: apiKey }],
    },
  )

const STATE = `query ($id: String!) { dinoaiAgentRun(agentSessionId: $id) { status reason model
  messages { role content } usage { steps tokensIn tokensOut costDollars }
  steps(includeToolIo: true) { kind tool input output isError isRunning } } }`

async function run(modelFamily: string, message: string) {
  const { agentSessionId: id, warning } = await client.ask(
    `mutation ($message: String, $modelFamily: String) {
      triggerDinoaiAgentRun(message: $message, modelFamily: $modelFamily) { agentSessionId warning } }`,
    { message, modelFamily },
  )
  const state = await client.until(async () => {
    const seen = await client.ask(STATE, { id })
    return ['COMPLETED', 'FAILED', 'EXPIRED', 'STOPPED'].includes(seen.status) && seen
  }, 120_000)
  return { ...state, warning }
}

const call = (id: string, name: string, ...pieces: string[]) => ({ id, name, arguments: pieces })
const says = (said: Omit<Extract<Reply, { kind: 'says' }>, 'kind'>): Reply => ({ kind: 'says', ...said })

for (const dialect of ['openai', 'anthropic'] as const) {
  test(`a session on a model in the dialect of ${dialect} survives what models do, and its tools are real`, async () => {
    await setFamily(dialect, PROVIDERS[dialect])
    models.script(
      { kind: 'status', status: 429, headers: { 'retry-after': '1' } },
      says({
        text: ['I look ', 'around.'],
        calls: [
          call('call_1', 'read_file', '{"path":', '"README.md"}'),
          call('call_2', 'delete_everything', '{}'),
          call('call_3', 'read_file', '{"path": oops'),
          call('call_4', 'read_file', '{"path":"../../etc/passwd"}'),
        ],
      }),
      { kind: 'cut', after: 4, how: 'reset', text: ['This is ', 'cut ', 'off'] },
      // An id of the answer before: they may repeat.
      says({ calls: [call('call_1', 'list_directory', '{"path":"scripts"}')] }),
      says({ text: ['The repository ', 'says hello.'] }),
    )
    const before = models.questions.length
    const state = await run(dialect, 'What is in the repository?')
    assert.equal(state.status, 'COMPLETED', JSON.stringify(state))
    assert.equal(state.model, dialect)
    assert.equal(state.warning, null)
    assert.deepEqual(state.messages.at(-1), { role: 'assistant', content: 'The repository says hello.' })
    const tools = state.steps.filter((step: { kind: string }) => step.kind === 'TOOL')
    assert.deepEqual(
      tools.map((step: { tool: string; isError: boolean }) => [step.tool, step.isError]),
      [
        ['read_file', false],
        ['delete_everything', true],
        ['read_file', true],
        ['read_file', true],
        ['list_directory', false],
      ],
    )
    assert.match(tools[0].output, /The repository of the demo workspace/)
    // What the model was given in the end: every call with its result.
    const last = JSON.stringify(models.questions.at(-1)!.body)
    assert.match(last, /The repository of the demo workspace/)
    assert.match(last, /hello\.sh/)
    assert.equal(models.questions.length - before, 5)
    const { steps, tokensIn, tokensOut, costDollars } = state.usage
    assert.deepEqual([steps, tokensIn, tokensOut], [3, 36, 21])
    assert.ok(Math.abs(costDollars - (36 * 3 + 21 * 15) / 1e6) < 1e-6, String(costDollars))
  })
}

test('a key that the provider refuses ends the turn with the reason, and the key is told to nobody', async () => {
  await setFamily('wrong', 'ANTHROPIC', 'sk-wrong-4711-do-not-show')
  const state = await run('wrong', 'Hello?')
  assert.equal(state.status, 'FAILED')
  assert.match(state.reason, /401/)
  assert.match(state.messages.at(-1).content, /401/)
  const tested = await client.ask('mutation { testModelFamily(name: "wrong") { ok text } }', {})
  assert.equal(tested.ok, false)
  const listed = await client.ask('{ listModelFamilies { families { name secretNames settings { name value } } } }', {})
  const said = JSON.stringify([state, tested, listed, service.stdout(), service.stderr()])
  for (const key of ['sk-wrong-4711', models.key]) assert.ok(!said.includes(key), key)
  assert.deepEqual(filesWith(service.dataFolder, ['sk-wrong-4711', models.key]), [])
  assert.notDeepEqual(filesWith(service.dataFolder, ['test-model']), [], 'what is not sealed is found')
})

test('a family that there is not is replaced by the default, with a warning', async () => {
  models.script(says({ text: ['Here I am.'] }))
  const state = await run('nobody-knows-it', 'Hello?')
  assert.equal(state.status, 'COMPLETED')
  assert.match(state.warning, /no model family "nobody-knows-it" .*: openai is used/)
  assert.equal(state.model, 'openai')
})

/** Files below the folder, those of the database too, that hold one of the texts. */
function filesWith(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name)
    try {
      return statSync(path).isFile() && texts.some((text) => readFileSync(path).includes(text))
    } catch {
      // Gone meanwhile, or a socket.
      return false
    }
  })
}
