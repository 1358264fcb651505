// The clouds: one question and its follow-up each, and whose key is sent where.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { answered, question, unhurried } from '../../../test/conformance/model.ts'
import { CLOUD_KEY, type Cloud, cloudServer } from '../../../test/receivers/model-server-clouds.ts'
import { accessOf, type ModelProvider } from '../../domain/model-family.ts'
import { ModelFault } from '../../ports/model.ts'
import { outgoingFetch } from '../outgoing-fetch.ts'
import { openModel } from './index.ts'

const SOURCE = join(import.meta.dirname, '..', '..')

const modelAt = (address: string, provider: ModelProvider, secrets: Record<string, string>) =>
  openModel({ fetch: outgoingFetch({ allow: ['127.0.0.1'], allowHttp: false, idleMs: 10_000 }) })(
    'tested',
    accessOf({ provider, model: 'test-model', settings: { address, region: 'eu-central-1' }, secrets }),
  )

const PATHS: Readonly<Record<Cloud, string>> = {
  openai: '/responses',
  google: '/models/test-model:streamGenerateContent?alt=sse',
  bedrock: '/model/test-model/converse-stream',
}

// Whoever runs the service may have keys of his own in its environment: they are not for workspaces.
const FOREIGN = {
  OPENAI_API_KEY: CLOUD_KEY,
  GOOGLE_GENERATIVE_AI_API_KEY: CLOUD_KEY,
  ANTHROPIC_API_KEY: CLOUD_KEY,
  AWS_BEARER_TOKEN_BEDROCK: CLOUD_KEY,
  AWS_ACCESS_KEY_ID: 'AKIATEST',
  AWS_SECRET_ACCESS_KEY: CLOUD_KEY,
  AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
  OPENAI_BASE_URL: 'http://127.0.0.1:1',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
}
const kept = new Map(Object.keys(FOREIGN).map((name) => [name, process.env[name]]))
before(() => void Object.assign(process.env, FOREIGN))
after(() => {
  for (const [name, value] of kept) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
})

for (const cloud of ['openai', 'google', 'bedrock'] as const) {
  describe(`a model of ${cloud}`, () => {
    test('answers with words and a call, takes the result, and says what it took', async () => {
      await using server = await cloudServer(cloud)
      const model = modelAt(server.address, cloud, { apiKey: CLOUD_KEY })
      const first = await model.answer(question(), unhurried())
      assert.equal(first.text, 'I look.')
      assert.deepEqual(
        first.calls.map((call) => [call.tool, call.input, call.broken]),
        [['list_directory', { path: '.' }, undefined]],
      )
      assert.equal(first.end, 'calls')
      assert.deepEqual(first.usage, { tokensIn: 12, tokensOut: 7, tokensCached: 4 })
      const second = await model.answer(question(...answered(first, 'the listing')), unhurried())
      assert.deepEqual([second.text, second.calls, second.end], ['I look.', [], 'end'])
      assert.equal(server.asked[0]!.path, PATHS[cloud])
      assert.match(server.asked[1]!.body, /the listing/)
    })

    test('an answer that ends before its end may pass', async () => {
      for (const cutAfter of [0, 1, 2, 3]) {
        await using server = await cloudServer(cloud, cutAfter)
        const asked = modelAt(server.address, cloud, { apiKey: CLOUD_KEY }).answer(question(), unhurried())
        await assert.rejects(
          asked,
          (error) => error instanceof ModelFault && error.kind === 'again',
          `after ${cutAfter}`,
        )
      }
    })

    test('a wrong key is refused without a word of it, also where the environment has a right one', async () => {
      await using server = await cloudServer(cloud)
      const asked = modelAt(server.address, cloud, { apiKey: 'wrong-key-of-somebody' }).answer(question(), unhurried())
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof ModelFault)
        assert.equal(error.kind, 'refused')
        return !`${error.stack}`.includes('wrong-key')
      })
      assert.ok(!JSON.stringify(server.asked).includes(CLOUD_KEY))
    })
  })
}

test('Bedrock is asked with signed requests where there is a pair of keys, which is not sent', async () => {
  await using server = await cloudServer('bedrock')
  const pair = { accessKeyId: 'AKIATEST', secretAccessKey: 'the-secret-half' }
  const { text } = await modelAt(server.address, 'bedrock', pair).answer(question(), unhurried())
  assert.equal(text, 'I look.')
  const { authorization } = server.asked[0]!.headers
  assert.match(
    String(authorization),
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-central-1\/bedrock\/aws4_request/,
  )
  assert.ok(!JSON.stringify(server.asked).includes('the-secret-half'))
})

test('no package of a provider is loaded before it is used', () => {
  const files = globSync('**/*.ts', { cwd: SOURCE }).filter((file) => !file.endsWith('.test.ts'))
  const loads = files.filter((file) =>
    /^(?:import|export) (?!type\b)[^;]*? from '(?:ai|@ai-sdk\/[^']+)'$/m.test(readFileSync(join(SOURCE, file), 'utf8')),
  )
  assert.ok(files.length > 100)
  assert.deepEqual(loads, [])
})

test('what was asked is not kept at OpenAI', async () => {
  await using server = await cloudServer('openai')
  await modelAt(server.address, 'openai', { apiKey: CLOUD_KEY }).answer(question(), unhurried())
  assert.equal((JSON.parse(server.asked[0]!.body) as { store?: unknown }).store, false)
})
