import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatToken } from '../domain/key.ts'
import * as integrations from '../store/integrations.ts'
import * as modelFamilies from '../store/model-families.ts'
import * as nodes from '../store/nodes.ts'
import * as secrets from '../store/secrets.ts'
import * as sessions from '../store/sessions.ts'
import { MissingMasterKey, Vault } from '../store/vault.ts'
import * as webhooks from '../store/webhooks.ts'
import { authenticate } from './authenticate.ts'
import type { App } from './context.ts'
import { systemContext } from './context.ts'
import {
  archiveEnvironment,
  createEnvironment,
  deleteSecret,
  deleteVariable,
  listEnvironments,
  rotateMasterKey,
  setSecret,
  setVariable,
  updateEnvironment,
} from './environments.ts'
import { createIntegration } from './integrations.ts'
import { createApiKey } from './keys.ts'
import { setModelFamily } from './model-families.ts'
import { createWebhook } from './webhooks.ts'

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

async function defaults(t: TestApp, workspace: WorkspaceRef): Promise<string[]> {
  const { environments } = await listEnvironments(t.inside(workspace), null)
  return environments.filter((one) => one.isDefault).map((one) => one.slug)
}

async function opened(app: App, workspace: WorkspaceRef, slug: string): Promise<Record<string, string>> {
  const { environments } = await listEnvironments(systemContext(app, 'test', workspace), null)
  const { id } = environments.find((one) => one.slug === slug)!
  const all = await secrets.openAll(app.db, app.vault, workspace.id, id)
  return Object.fromEntries(all.map((one) => [`${one.kind} ${one.name}`, one.value]))
}

test('the first environment of a type is its default, and there is one default of each type', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await createEnvironment(ctx, { displayName: 'Production', isDefault: false })
  await createEnvironment(ctx, { displayName: 'Staging' })
  await createEnvironment(ctx, { displayName: 'Helpers', type: 'agent' })
  assert.deepEqual(await defaults(t, workspace), ['helpers', 'production'])
  await createEnvironment(ctx, { displayName: 'Newer', isDefault: true })
  assert.deepEqual(await defaults(t, workspace), ['helpers', 'newer'])
  await updateEnvironment(ctx, 'staging', { isDefault: true })
  assert.deepEqual(await defaults(t, workspace), ['helpers', 'staging'])
  await refused(updateEnvironment(ctx, 'staging', { isDefault: false }), 'CONFLICT', /make another environment/)
  await refused(updateEnvironment(ctx, 'staging', { type: 'agent' }), 'INVALID_INPUT', /keeps its type/)
  await refused(createEnvironment(ctx, {}), 'INVALID_INPUT', /^displayName: needed/)
})

test('two that are made default at once, or made under one name at once, do not hurt each other', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const made = await Promise.all(Array.from({ length: 6 }, () => createEnvironment(ctx, { displayName: 'Same name' })))
  assert.deepEqual(made.map((one) => one.slug).sort(), [
    'same-name',
    'same-name-2',
    'same-name-3',
    'same-name-4',
    'same-name-5',
    'same-name-6',
  ])
  await Promise.all(made.map(({ slug }) => updateEnvironment(ctx, slug, { isDefault: true })))
  assert.equal((await defaults(t, workspace)).length, 1)
})

test('an archived environment frees its slug; the default goes only when it is the last of its type', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await createEnvironment(ctx, { displayName: 'One' })
  await createEnvironment(ctx, { displayName: 'Two' })
  await refused(archiveEnvironment(ctx, 'one'), 'CONFLICT', /default of its type/)
  await archiveEnvironment(ctx, 'two')
  await refused(archiveEnvironment(ctx, 'two'), 'NOT_FOUND', /No environment "two".*There are: one/)
  await archiveEnvironment(ctx, 'one')
  assert.deepEqual((await listEnvironments(ctx, null)).environments, [])
  assert.deepEqual(await createEnvironment(ctx, { displayName: 'One' }), { slug: 'one' })
  assert.deepEqual(await defaults(t, workspace), ['one'])
})

test('without an agent environment the default scheduler one serves agents', async () => {
  await using t = await testApp()
  const ctx = t.inside(await t.workspace())
  await createEnvironment(ctx, { displayName: 'Production' })
  await createEnvironment(ctx, { displayName: 'Staging' })
  const slugs = async () => (await listEnvironments(ctx, 'agent')).environments.map((one) => one.slug)
  assert.deepEqual(await slugs(), ['production'])
  await createEnvironment(ctx, { displayName: 'Helpers', type: 'agent' })
  assert.deepEqual(await slugs(), ['helpers'])
})

test('a change leaves alone what it does not name, and what is named null is taken away', async () => {
  await using t = await testApp()
  const ctx = t.inside(await t.workspace())
  const fields = {
    displayName: 'Production',
    repositoryUrl: 'https://host.example/r.git',
    defaultBranch: 'trunk',
    deploymentBranch: 'release',
    installStep: 'pip install -r requirements.txt',
    pythonPackages: ['dbt-core==1.10.0'],
    excludedFiles: ['target/**'],
  }
  await createEnvironment(ctx, fields)
  await updateEnvironment(ctx, 'production', { displayName: 'Live' })
  const [one] = (await listEnvironments(ctx, null)).environments
  assert.deepEqual({ ...one, ...fields, displayName: 'Live' }, one)
  await updateEnvironment(ctx, 'production', {
    deploymentBranch: null,
    installStep: null,
    excludedFiles: null,
    pythonPackages: [],
  })
  const [after] = (await listEnvironments(ctx, null)).environments
  assert.deepEqual(
    [after?.deploymentBranch, after?.installStep, after?.excludedFiles, after?.pythonPackages, after?.defaultBranch],
    [null, null, null, [], 'trunk'],
  )
})

test('credentials in the address of a repository become secrets, and are in no answer, record or row', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const token = 'glpat-very-secret-value'
  await createEnvironment(ctx, { displayName: 'Production', repositoryUrl: `https://ana:${token}@host.example/r.git` })
  const list = await listEnvironments(ctx, null)
  assert.equal(list.environments[0]?.repositoryUrl, 'https://host.example/r.git')
  assert.deepEqual(
    list.environments[0]?.secrets.map((one) => [one.kind, one.name]),
    [
      ['credential', 'token'],
      ['credential', 'username'],
    ],
  )
  assert.deepEqual(await opened(t.app, workspace, 'production'), {
    'credential token': token,
    'credential username': 'ana',
  })
  await updateEnvironment(ctx, 'production', { repositoryUrl: 'https://another-token@host.example/r.git' })
  assert.equal((await opened(t.app, workspace, 'production'))['credential token'], 'another-token')
  const rows = await Promise.all(
    ['environment', 'secret', 'audit_log', 'variable'].map((table) =>
      sql<{ row: string }>`select t::text as row from ${sql.table(table)} t`.execute(t.app.db),
    ),
  )
  const everything = JSON.stringify([list, rows.map((one) => one.rows), t.lines])
  assert.ok(!everything.includes(token) && !everything.includes('another-token'))
})

test('variables and secrets belong to a workspace or to one environment of it, and secrets are never listed with values', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await createEnvironment(ctx, { displayName: 'Production' })
  await setVariable(ctx, { environment: null, name: 'REGION', value: 'eu' })
  await setVariable(ctx, { environment: 'production', name: 'REGION', value: 'us' })
  await setVariable(ctx, { environment: 'production', name: 'REGION', value: 'ap' })
  await setSecret(ctx, { environment: null, kind: 'variable', name: 'TOKEN', value: 'workspace-token' })
  await setSecret(ctx, { environment: 'production', kind: 'file', name: 'profiles.yml', value: 'a: b # file' })
  const list = await listEnvironments(ctx, null)
  assert.deepEqual(
    list.variables.map(({ name, value }) => [name, value]),
    [['REGION', 'eu']],
  )
  assert.deepEqual(
    list.environments[0]?.variables.map(({ name, value }) => [name, value]),
    [['REGION', 'ap']],
  )
  assert.deepEqual(
    list.secrets.map((one) => one.name),
    ['TOKEN'],
  )
  assert.ok(!JSON.stringify(list).includes('workspace-token'))
  assert.deepEqual(await opened(t.app, workspace, 'production'), {
    'variable TOKEN': 'workspace-token',
    'file profiles.yml': 'a: b # file',
  })
  await deleteVariable(ctx, { environment: 'production', name: 'REGION' })
  await deleteSecret(ctx, { environment: null, kind: 'variable', name: 'TOKEN' })
  await refused(deleteVariable(ctx, { environment: 'production', name: 'REGION' }), 'NOT_FOUND', /No variable "REGION"/)
  await refused(
    deleteSecret(ctx, { environment: null, kind: 'variable', name: 'TOKEN' }),
    'NOT_FOUND',
    /No variable secret/,
  )
  await refused(deleteVariable(ctx, { environment: null, name: 'a\u0000' }), 'INVALID_INPUT', /NUL/)
  await refused(
    setVariable(ctx, { environment: 'nowhere', name: 'A', value: '' }),
    'NOT_FOUND',
    /No environment "nowhere"/,
  )
  const records = await t.records()
  assert.ok(!JSON.stringify(records).includes('workspace-token'))
  assert.deepEqual(
    records.map((one) => one.eventType),
    [
      'environment_created',
      'variable_set',
      'variable_set',
      'variable_set',
      'secret_set',
      'secret_set',
      'variable_deleted',
      'secret_deleted',
    ],
  )
})

test('nothing of another workspace can be named', async () => {
  await using t = await testApp()
  const [one, two] = [await t.workspace(), await t.workspace()]
  await createEnvironment(t.inside(one), { displayName: 'Mine' })
  await setVariable(t.inside(one), { environment: 'mine', name: 'A', value: '1' })
  const ctx = t.inside(two)
  for (const work of [
    () => updateEnvironment(ctx, 'mine', { displayName: 'Theirs' }),
    () => archiveEnvironment(ctx, 'mine'),
    () => setVariable(ctx, { environment: 'mine', name: 'A', value: '2' }),
    () => deleteVariable(ctx, { environment: 'mine', name: 'A' }),
    () => setSecret(ctx, { environment: 'mine', kind: 'variable', name: 'A', value: '123456' }),
  ])
    await refused(work(), 'NOT_FOUND', /No environment "mine" in this workspace. There are: none yet/)
  assert.deepEqual((await listEnvironments(ctx, null)).environments, [])
  assert.deepEqual((await listEnvironments(t.inside(one), null)).environments[0]?.variables[0]?.value, '1')
})

test('a rotation re-wraps every secret; keys and sessions of before work on as long as the old key is there', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ADMIN')
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
  const old: App = { ...t.app, vault: new Vault([oldKey]) }
  const before = systemContext(old, 'test', workspace)
  await createEnvironment(before, { displayName: 'Production' })
  const values = Array.from({ length: 7 }, (_, number) => `value ${number}`)
  for (const [number, value] of values.entries()) {
    await setSecret(before, { environment: 'production', kind: 'variable', name: `S${number}`, value })
  }
  const hook = await createWebhook(before, { url: 'https://hooks.example.com', events: ['bolt.run.completed'] })
  const token = 'token-of-the-pager'
  const pager = { kind: 'pagerduty', name: '', settings: {}, secrets: { token } }
  const { id: pagerId } = await createIntegration(before, pager)
  const apiKey = 'key-of-the-model'
  await setModelFamily(before, { name: 'claude', provider: 'anthropic', model: 'claude', secrets: { apiKey } })
  const { key } = await createApiKey(systemContext(old, 'test'), {
    name: 'k',
    kind: 'account',
    workspaceUid: null,
    capabilities: null,
    client: null,
    expiresDays: null,
  })
  const session = formatToken(newSecret())
  const tokenHash = old.vault.hashSecret(session)
  await sessions.insert(t.app.db, { personId: ana.id, tokenHash, address: '', userAgent: '', hours: 1 })

  const rotated: App = { ...t.app, vault: new Vault([newKey, oldKey]) }
  assert.equal(await rotateMasterKey(systemContext(rotated, 'test')), 10)
  assert.equal(await rotateMasterKey(systemContext(rotated, 'test')), 0)
  const [record] = await t.records('master_key_rotated')
  assert.deepEqual([record?.data.secrets, record?.data.kid], [10, rotated.vault.kid])

  const alone: App = { ...t.app, vault: new Vault([newKey]) }
  for (const app of [rotated, alone]) {
    assert.deepEqual(Object.values(await opened(app, workspace, 'production')), values)
    const webhook = await webhooks.open(app.db, app.vault, workspace.id, hook.id)
    assert.deepEqual(webhook?.secrets, [hook.secret])
    const integration = await integrations.open(app.db, app.vault, workspace.id, pagerId)
    assert.deepEqual(integration?.secrets, { token })
    const [family] = await modelFamilies.list(app.db, workspace.id)
    const place = { workspaceId: workspace.id, familyId: family!.id }
    assert.deepEqual(await modelFamilies.openSecrets(app.db, app.vault, place), { apiKey })
  }
  const byKey = (app: App) => authenticate(app, { kind: 'bearer', token: key }, null)
  const bySession = (app: App) => authenticate(app, { kind: 'session', token: session }, null)
  assert.equal((await byKey(rotated)).actor.kind, 'key')
  assert.equal((await bySession(rotated)).actor.kind, 'person')
  // Without the old key its keys are as unknown as any other, which is no fault of the service.
  assert.equal((await byKey(alone)).rejected?.reason, 'unknown')
  assert.equal((await bySession(alone)).rejected?.reason, 'unknown')
})

test('a rotation without the old key says which one is missing, and leaves everything as it was', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  await createEnvironment(t.inside(workspace), { displayName: 'Production' })
  await setSecret(t.inside(workspace), { environment: 'production', kind: 'variable', name: 'S', value: 'the value' })
  const stranger: App = { ...t.app, vault: new Vault([randomBytes(32)]) }
  await assert.rejects(rotateMasterKey(systemContext(stranger, 'test')), (error) => {
    return error instanceof MissingMasterKey && error.message.includes(t.app.vault.kid)
  })
  assert.deepEqual(await opened(t.app, workspace, 'production'), { 'variable S': 'the value' })
  assert.equal((await t.records('master_key_rotated')).length, 0)
})

test('a rotation waits for processes that do not know the new key yet', async () => {
  await using t = await testApp()
  const node = { id: 'n1', host: 'worker-1', pid: 42, roles: ['api'], kids: ['an-old-one'], version: '1' }
  await nodes.beat(t.app.db, node)
  await refused(rotateMasterKey(t.system), 'CONFLICT', /Restart these first.*worker-1 pid 42/)
  await nodes.leave(t.app.db, 'n1')
  await nodes.beat(t.app.db, { ...node, id: 'n2', kids: ['an-old-one', t.app.vault.kid] })
  assert.equal(await rotateMasterKey(t.system), 0)
})
