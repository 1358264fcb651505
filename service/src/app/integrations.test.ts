import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import * as integrations from '../store/integrations.ts'
import {
  createIntegration,
  listIntegrations,
  removeIntegration,
  testIntegration,
  updateIntegration,
} from './integrations.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(() => t.close())

const SLACK = { kind: 'slack', name: '', settings: {}, secrets: { token: 'xoxb-long-enough' } }

test('secrets are kept, used and never read back; what is not given stays', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const { id } = await createIntegration(ctx, SLACK)
  await updateIntegration(ctx, id, { settings: {}, secrets: { token: 'xoxb-another-one' } })
  await updateIntegration(ctx, id, { settings: {}, secrets: {} })
  const opened = await integrations.open(t.app.db, t.app.vault, workspace.id, id)
  assert.deepEqual(opened!.secrets, { token: 'xoxb-another-one' })
  const [listed] = await listIntegrations(ctx)
  assert.deepEqual(listed!.secretNames, ['token'])
  assert.ok(!JSON.stringify([listed, await t.records()]).includes('xoxb-'))
})

test('an integration that is pointed elsewhere needs its secrets again: nobody can have them sent to himself', async () => {
  const ctx = t.inside(await t.workspace())
  const { id } = await createIntegration(ctx, SLACK)
  const settings = { apiUrl: 'https://evil.example' }
  await assert.rejects(updateIntegration(ctx, id, { settings, secrets: {} }), /secrets: give them again .* token/)
  assert.deepEqual((await listIntegrations(ctx))[0]!.settings, {})
  await updateIntegration(ctx, id, { settings, secrets: { token: 'xoxb-of-that-place' } })
  // And back again.
  await assert.rejects(updateIntegration(ctx, id, { settings: { apiUrl: '' }, secrets: {} }), /give them again/)
})

test('one of a kind, or one of a name; what is removed makes room and is unknown', async () => {
  const ctx = t.inside(await t.workspace())
  const { id } = await createIntegration(ctx, SLACK)
  await assert.rejects(createIntegration(ctx, SLACK), { code: 'CONFLICT' })
  const teams = { kind: 'teams', name: 'Data', settings: {}, secrets: { url: 'https://teams.example/hook' } }
  await createIntegration(ctx, teams)
  await createIntegration(ctx, { ...teams, name: 'Other' })
  await assert.rejects(createIntegration(ctx, { ...teams, name: 'dATA' }), { code: 'CONFLICT' })
  await removeIntegration(ctx, id)
  await assert.rejects(testIntegration(ctx, { id, address: '#data' }), { code: 'NOT_FOUND' })
  await createIntegration(ctx, SLACK)
  assert.equal((await listIntegrations(ctx)).length, 3)
})
