import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelServer } from '../../../test/receivers/model-server.ts'
import { testApp } from '../../../test/support/app.ts'
import { setModelFamily } from '../../app/model-families.ts'
import type { Config } from '../../config/schema.ts'
import { modelChecks } from './models.ts'

const CONFIG = { outgoing: { allow: ['127.0.0.1'], allowHttp: false } } as unknown as Config

test('doctor says that no model is needed, then asks each that is set up for one tool call', async () => {
  await using t = await testApp()
  await using server = await modelServer()
  const look = () => modelChecks(CONFIG, t.app.db, async () => t.app.vault)
  const none = await look()
  assert.deepEqual(
    none.map((one) => [one.name, one.status]),
    [['models', 'ok']],
  )
  assert.match(none[0]!.message, /none is set up/)

  const ctx = t.inside(await t.workspace('Finance'))
  const settings = { address: server.address }
  const local = { provider: 'openai_compatible', model: 'qwen', settings }
  await setModelFamily(ctx, { name: 'good', ...local, secrets: { apiKey: server.key } })
  await setModelFamily(ctx, { name: 'bad', ...local, secrets: { apiKey: 'sk-of-somebody-else' } })
  server.script({ kind: 'says', calls: [{ id: 'c1', name: 'echo', arguments: ['{"text":"yardmaster"}'] }] })
  const [good, bad] = await look()
  assert.equal(good!.status, 'ok')
  assert.match(good!.message, /^good of Finance \(openai_compatible qwen\): The model called the tool/)
  assert.equal(bad!.status, 'warn')
  assert.match(bad!.message, /refuses the key/)
  assert.ok(!JSON.stringify([good, bad]).includes('sk-of'))
  assert.equal(server.questions.length, 1)
})
