import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ModelServer, modelServer } from '../../test/receivers/model-server.ts'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { openModel } from '../adapters/models/index.ts'
import { outgoingFetch } from '../adapters/outgoing-fetch.ts'
import type { ModelAccess } from '../domain/model-family.ts'
import type { Model } from '../ports/model.ts'
import { listModelFamilies, modelsOf, removeModelFamily, setModelFamily, testModelFamily } from './model-families.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(() => t.close())

const CLAUDE = { name: 'Claude', provider: 'anthropic', model: 'claude-test', secrets: { apiKey: 'sk-first-0123' } }
const OLLAMA = {
  name: 'ollama',
  provider: 'openai-compatible',
  model: 'qwen',
  settings: { address: 'http://127.0.0.1:1/v1' },
}

/** Models that only remember how they were opened. */
function remembering(app = t.app) {
  const opened: { family: string; access: ModelAccess | null }[] = []
  const models = modelsOf(app, (family, access) => {
    opened.push({ family, access })
    return { name: family } as Model
  })
  return { models, opened }
}

test('a family is made and changed by its name; what is not given stays, and keys are never read back', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await setModelFamily(ctx, { ...CLAUDE, settings: { priceInput: '3', priceOutput: '15', priceCached: '0.3' } })
  await setModelFamily(ctx, { name: 'claude', model: 'claude-other', settings: { maxOutputTokens: '8000' } })
  const [family, ...others] = await listModelFamilies(ctx)
  assert.deepEqual(others, [])
  assert.equal(family!.model, 'claude-other')
  assert.equal(family!.isDefault, true)
  assert.deepEqual(family!.secretNames, ['apiKey'])
  const { models, opened } = remembering()
  await models.open(workspace.id, 'claude')
  assert.deepEqual(opened[0]!.access, {
    provider: 'anthropic',
    model: 'claude-other',
    address: '',
    region: '',
    contextTokens: 200_000,
    maxOutputTokens: 8000,
    prices: { input: 3_000_000, cached: 300_000, output: 15_000_000 },
    secrets: { apiKey: 'sk-first-0123' },
  })
  const records = await t.records('model_family_set')
  assert.equal(records.length, 2)
  assert.ok(!JSON.stringify([await listModelFamilies(ctx), await t.records()]).includes('sk-first'))
})

test('a key goes to the provider and the address that it was given for, nowhere else', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await setModelFamily(ctx, CLAUDE)
  const elsewhere = { name: 'claude', settings: { address: 'https://evil.example/v1' } }
  await assert.rejects(setModelFamily(ctx, elsewhere), /give them again .* apiKey/)
  await assert.rejects(setModelFamily(ctx, { name: 'claude', provider: 'openai' }), /secrets: openai needs apiKey/)
  await setModelFamily(ctx, { ...elsewhere, secrets: { apiKey: 'sk-of-that-place' } })
  const { models, opened } = remembering()
  await models.open(workspace.id, 'claude')
  assert.equal(opened[0]!.access!.secrets.apiKey, 'sk-of-that-place')
})

test('with another provider the secrets of the old one are gone', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const aws = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret-of-aws' }
  await setModelFamily(ctx, { ...CLAUDE, provider: 'bedrock', settings: { region: 'eu-central-1' }, secrets: aws })
  await setModelFamily(ctx, { name: 'claude', provider: 'google', secrets: { apiKey: 'of-google' } })
  const { models, opened } = remembering()
  await models.open(workspace.id, 'claude')
  assert.deepEqual(opened[0]!.access!.secrets, { apiKey: 'of-google' })
})

test('what is missing or unknown is refused with what to do', async () => {
  const ctx = t.inside(await t.workspace())
  const refusals: [Parameters<typeof setModelFamily>[1], RegExp][] = [
    [{ ...CLAUDE, name: 'scripted' }, /scripted is the built-in one/],
    [{ ...CLAUDE, name: 'Two words' }, /name: up to 64/],
    [{ ...CLAUDE, provider: 'acme' }, /provider: no "acme"\. Allowed: anthropic/],
    [{ ...CLAUDE, model: '' }, /model: the name/],
    [{ ...CLAUDE, secrets: {} }, /secrets: anthropic needs apiKey/],
    [{ ...CLAUDE, secrets: { token: 'x' } }, /secrets: no "token" there/],
    [{ ...CLAUDE, secrets: { apiKey: 'with space' } }, /secrets\.apiKey: not a key/],
    [{ ...CLAUDE, settings: { adress: 'x' } }, /settings: no "adress" there/],
    [{ ...CLAUDE, settings: { address: 'https://user:pw@host/v1' } }, /settings\.address: not an http/],
    [{ ...CLAUDE, settings: { priceInput: '3' } }, /priceInput and priceOutput together/],
    [{ ...OLLAMA, settings: {} }, /settings\.address: needed/],
    [{ ...CLAUDE, provider: 'bedrock' }, /settings\.region: needed/],
    [
      { ...CLAUDE, provider: 'bedrock', settings: { region: 'us-east-1' }, secrets: { accessKeyId: 'AKIA' } },
      /bedrock needs apiKey, or accessKeyId and secretAccessKey/,
    ],
  ]
  for (const [input, why] of refusals) await assert.rejects(setModelFamily(ctx, input), why)
  assert.deepEqual(await listModelFamilies(ctx), [])
  await assert.rejects(removeModelFamily(ctx, 'gone'), { code: 'NOT_FOUND' })
})

test('the family that was named is used, else the default with a warning, else the scripted one', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const { models, opened } = remembering()
  const choose = (family: string) => models.choose(workspace.id, family)
  assert.deepEqual(await choose(''), { family: 'scripted', warning: null })
  const none = await choose('gpt')
  assert.equal(none.family, 'scripted')
  assert.match(none.warning!, /no model family "gpt" .*: scripted is used/)
  await setModelFamily(ctx, CLAUDE)
  await setModelFamily(ctx, OLLAMA)
  assert.deepEqual(await choose(''), { family: 'claude', warning: null })
  assert.deepEqual(await choose(' OLLAMA '), { family: 'ollama', warning: null })
  assert.deepEqual(await choose('scripted'), { family: 'scripted', warning: null })
  assert.match((await choose('gpt')).warning!, /claude is used/)
  await setModelFamily(ctx, { name: 'ollama', isDefault: true })
  assert.deepEqual(await choose(''), { family: 'ollama', warning: null })
  assert.deepEqual(
    (await listModelFamilies(ctx)).map((one) => one.isDefault),
    [false, true],
  )
  await models.open(workspace.id, 'scripted')
  assert.deepEqual(opened, [{ family: 'scripted', access: null }])
})

test('families of one workspace are unknown in another, and a removed one is told as such', async () => {
  const [workspace, other] = [await t.workspace(), await t.workspace()]
  await setModelFamily(t.inside(workspace), CLAUDE)
  const { models } = remembering()
  assert.equal((await models.choose(other.id, 'claude')).family, 'scripted')
  await assert.rejects(models.open(other.id, 'claude'), { name: 'ModelFault', kind: 'refused' })
  await removeModelFamily(t.inside(workspace), 'CLAUDE')
  await assert.rejects(models.open(workspace.id, 'claude'), /claude was removed/)
  assert.equal((await t.records('model_family_removed')).length, 1)
})

test('two that make the first family at once leave one default', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => setModelFamily(ctx, { ...CLAUDE, name, isDefault: true })))
  const all = await listModelFamilies(ctx)
  assert.equal(all.length, 4)
  assert.equal(all.filter((one) => one.isDefault).length, 1)
})

async function atServer(
  work: (server: ModelServer, test: (name: string) => ReturnType<typeof testModelFamily>) => Promise<void>,
) {
  await using server = await modelServer()
  const ctx = t.inside(await t.workspace())
  const settings = { address: server.address }
  await setModelFamily(ctx, { ...OLLAMA, settings, secrets: { apiKey: server.key } })
  const models = modelsOf(t.app, openModel({ fetch: outgoingFetch({ allow: ['127.0.0.1'], allowHttp: false }) }))
  await work(server, (name) => testModelFamily(ctx, models, name))
}

test('a test asks for one tool call and tells what came', async () => {
  await atServer(async (server, tested) => {
    const echo = (argument: string) => [{ id: 'c1', name: 'echo', arguments: [argument] }]
    server.script({ kind: 'says', calls: echo('{"text":"yardmaster"}') })
    const good = await tested('ollama')
    assert.deepEqual(good, {
      ok: true,
      text: 'The model called the tool as it was asked, with 12 tokens in and 7 out.',
    })
    server.script({ kind: 'says', text: ['I cannot call tools.'] })
    assert.match((await tested('ollama')).text, /did not call the tool: it said "I cannot call tools\."/)
    server.script({ kind: 'says', calls: echo('{"text":') })
    assert.match((await tested('ollama')).text, /no JSON/)
    server.script({ kind: 'status', status: 500, message: 'out of memory' })
    const bad = await tested('ollama')
    assert.equal(bad.ok, false)
    assert.match(bad.text, /500.*out of memory/)
    assert.equal((await tested('scripted')).ok, true)
    await assert.rejects(tested('gone'), { code: 'NOT_FOUND' })
    assert.ok((await t.records('model_family_tested')).length >= 4)
  })
})
