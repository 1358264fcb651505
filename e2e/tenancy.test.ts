// Two workspaces: whatever one names by id, uid or slug, the other does not have.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type GraphQLInputType, getNamedType, isInputObjectType } from 'graphql'
import { updateEnvironment } from '../service/src/app/environments.ts'
import { createIntegration } from '../service/src/app/integrations.ts'
import { setMcpServer } from '../service/src/app/mcp-servers.ts'
import { createMessageTemplate } from '../service/src/app/message-templates.ts'
import { setModelFamily } from '../service/src/app/model-families.ts'
import { createWebhook, testWebhook } from '../service/src/app/webhooks.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { newUid } from '../service/src/domain/ids.ts'
import * as people from '../service/src/store/people.ts'
import * as pulls from '../service/src/store/pull-requests.ts'
import { TEST_PULL } from '../service/test/support/git-hooks.ts'
import { testSession } from './support/agents.ts'
import { bearer, pairOf, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'
import { schema } from './support/arguments.ts'

interface Naming {
  /** The argument as `operation.argument`. */
  readonly argument: string
  /** `$` stands for the value. */
  readonly document: string
  /** A mutation unless it says otherwise. */
  readonly kind?: 'query'
  /** NOT_FOUND unless a field of an input names it. */
  readonly code?: 'INVALID_INPUT'
  /** What is B's own. */
  readonly theirs: string | number
  /** What nobody has. */
  readonly nobodys: string | number
  readonly by: readonly RequestHeaders[]
}

let api: TestApi
let a: WorkspaceRef
let b: WorkspaceRef
let namings: Naming[]
let waysIntoA: RequestHeaders[]

before(async () => {
  api = await testApi()
  const { t } = api
  a = await t.workspace('A')
  b = await t.workspace('B')
  const ana = await t.member(a, 'ADMIN')
  const ben = await t.member(b, 'ADMIN')
  await t.member(b, 'ADMIN')
  const account = bearer((await t.key()).key)
  const inB = (query: string) => api.ask(query, { by: account, workspace: b.uid })
  await inB('mutation { createEnvironment(environment: { displayName: "Only B" }) { ok } }')
  await inB('mutation { setVariable(name: "ONLY_B", value: "1") { ok } }')
  await inB('mutation { setSecret(kind: VARIABLE, name: "ONLY_B", value: "long enough") { ok } }')
  await api.ask('mutation { createEnvironment(environment: { displayName: "Only A" }) { ok } }', {
    by: account,
    workspace: a.uid,
  })
  const session = sessionOf(await api.session(ana))
  await api.session(ben)
  const [other] = await t.app.db.selectFrom('session').select('id').where('person_id', '=', ben.id).execute()
  const keyOfB = await t.key({ kind: 'workspace', workspace: b })
  const benKey = await t.key({ kind: 'personal', person: ben })

  const key = bearer((await t.key({ kind: 'workspace', workspace: a })).key)
  const pair = pairOf(await t.key({ kind: 'pair', workspace: a }))
  const personal = bearer((await t.key({ kind: 'personal', person: ana })).key)
  waysIntoA = [key, pair, personal, session]
  const inA = [...waysIntoA, account]
  const uid = { theirs: ben.uid, nobodys: newUid(), by: inA }
  const slug = { theirs: 'only-b', nobodys: 'nowhere', by: inA }
  const name = { theirs: 'ONLY_B', nobodys: 'NOBODYS', by: inA }
  const id = { nobodys: 2_000_000_000, by: waysIntoA }
  namings = [
    { argument: 'updateUserAccountType.uid', document: 'updateUserAccountType(uid: $, accountType: ANALYST)', ...uid },
    { argument: 'disableUser.uid', document: 'disableUser(uid: $)', ...uid },
    { argument: 'updateEnvironment.slug', document: 'updateEnvironment(slug: $, environment: {})', ...slug },
    { argument: 'archiveEnvironment.slug', document: 'archiveEnvironment(slug: $)', ...slug },
    { argument: 'setVariable.environment', document: 'setVariable(environment: $, name: "V", value: "1")', ...slug },
    { argument: 'deleteVariable.environment', document: 'deleteVariable(environment: $, name: "ONLY_B")', ...slug },
    { argument: 'deleteVariable.name', document: 'deleteVariable(name: $)', ...name },
    {
      argument: 'setSecret.environment',
      document: 'setSecret(environment: $, kind: FILE, name: "f", value: "long enough")',
      ...slug,
    },
    {
      argument: 'deleteSecret.environment',
      document: 'deleteSecret(environment: $, kind: VARIABLE, name: "X")',
      ...slug,
    },
    { argument: 'deleteSecret.name', document: 'deleteSecret(kind: VARIABLE, name: $)', ...name },
    { argument: 'revokeApiKey.id', document: 'revokeApiKey(id: $)', theirs: keyOfB.id, ...id },
    {
      argument: 'createApiKey.key.workspaceUid',
      document: 'createApiKey(key: { name: "k", kind: WORKSPACE, workspaceUid: $ })',
      ...{ theirs: b.uid, nobodys: newUid(), by: waysIntoA },
    },
    {
      argument: 'endSession.id',
      document: 'endSession(id: $)',
      theirs: other!.id,
      nobodys: 2_000_000_000,
      by: [session],
    },
    {
      argument: 'revokePersonalKey.id',
      document: 'revokePersonalKey(id: $)',
      ...{ theirs: benKey.id, nobodys: 2_000_000_000, by: [session, personal] },
    },
    ...(await scheduleNamings(account, inA)),
    ...(await wayOutNamings(inA)),
    ...(await agentNamings(inA)),
  ]
})
after(() => api.close())

/** A schedule of B with a run, its commands and a file of it. */
async function scheduleNamings(account: RequestHeaders, by: readonly RequestHeaders[]): Promise<Naming[]> {
  const { db } = api.t.app
  const inB = async (query: string) => (await api.ask(query, { by: account, workspace: b.uid })).json.data
  const made =
    await inB(`mutation { createBoltSchedule(schedule: { name: "Only B", schedule: "OFF", environment: "only-b",
    commands: ["true"] }) { slug } }`)
  const { slug } = made.createBoltSchedule as { slug: string }
  const { runId } = (await inB(`mutation { triggerBoltRun(slug: "${slug}") { runId } }`)).triggerBoltRun as {
    runId: number
  }
  const command = await db.selectFrom('command').select('id').where('run_id', '=', runId).executeTakeFirstOrThrow()
  const file = {
    workspace_id: b.id,
    run_id: runId,
    command_id: command.id,
    path: 'x',
    size: 1,
    sha256: Buffer.alloc(32),
  }
  const artifact = await db.insertInto('artifact').values(file).returning('id').executeTakeFirstOrThrow()
  const bySlug = { theirs: slug, nobodys: 'nowhere-000000', by }
  const byRun = { theirs: runId, nobodys: 2_000_000_000, by }
  const byCommand = { theirs: command.id, nobodys: 2_000_000_000, by }
  const query = { kind: 'query' } as const
  const input = 'name: "New", schedule: "OFF", commands: ["true"]'
  const field = { code: 'INVALID_INPUT' } as const
  return [
    { argument: 'listBoltRuns.slug', document: 'listBoltRuns(slug: $, offset: 0, limit: 1)', ...bySlug, ...query },
    { argument: 'boltScheduleName.slug', document: 'boltScheduleName(slug: $)', ...bySlug, ...query },
    { argument: 'boltSchedule.slug', document: 'boltSchedule(slug: $)', ...bySlug, ...query },
    { argument: 'boltRunPage.filter.slug', document: 'boltRunPage(filter: { slug: $ })', ...bySlug, ...query },
    { argument: 'boltRunStatus.runId', document: 'boltRunStatus(runId: $)', ...byRun, ...query },
    { argument: 'boltRun.runId', document: 'boltRun(runId: $)', ...byRun, ...query },
    { argument: 'boltCommand.commandId', document: 'boltCommand(commandId: $)', ...byCommand, ...query },
    { argument: 'boltCommandLogs.commandId', document: 'boltCommandLogs(commandId: $)', ...byCommand, ...query },
    {
      argument: 'searchCommandLog.commandId',
      document: 'searchCommandLog(commandId: $, text: "x")',
      ...byCommand,
      ...query,
    },
    {
      argument: 'commandLogUrl.commandId',
      document: 'commandLogUrl(commandId: $, stream: STDOUT)',
      ...byCommand,
      ...query,
    },
    {
      argument: 'boltResourceUrl.resourceId',
      document: 'boltResourceUrl(resourceId: $)',
      ...byRun,
      ...query,
      theirs: artifact.id,
    },
    { argument: 'triggerBoltRun.slug', document: 'triggerBoltRun(slug: $)', ...bySlug },
    { argument: 'retryBoltRunFromFailure.slug', document: 'retryBoltRunFromFailure(slug: $)', ...bySlug },
    { argument: 'suspendBoltSchedule.slug', document: 'suspendBoltSchedule(slug: $)', ...bySlug },
    { argument: 'deleteBoltSchedule.slug', document: 'deleteBoltSchedule(slug: $)', ...bySlug },
    { argument: 'updateBoltSchedule.slug', document: 'updateBoltSchedule(slug: $, schedule: {})', ...bySlug },
    { argument: 'cancelBoltRun.scheduleRunId', document: 'cancelBoltRun(scheduleRunId: $)', ...byRun },
    { argument: 'retryBoltRun.scheduleRunId', document: 'retryBoltRun(scheduleRunId: $)', ...byRun },
    { argument: 'retryAllBoltRun.scheduleRunId', document: 'retryAllBoltRun(scheduleRunId: $)', ...byRun },
    {
      argument: 'createBoltSchedule.schedule.environment',
      document: `createBoltSchedule(schedule: { ${input}, environment: $ })`,
      ...{ theirs: 'only-b', nobodys: 'nowhere', by, ...field },
    },
    ...(['turboCi', 'deferredSchedule'] as const).map((name) => ({
      argument: `createBoltSchedule.schedule.${name}.deferredScheduleSlug`,
      document: `createBoltSchedule(schedule: { ${input}, environment: "only-a",
        ${name}: { enabled: true, deferredScheduleSlug: $ } })`,
      ...bySlug,
      ...field,
    })),
  ]
}

/** A webhook of B with a delivery, and an integration. */
async function wayOutNamings(by: readonly RequestHeaders[]): Promise<Naming[]> {
  const inside = api.t.inside(b)
  const hook = await createWebhook(inside, { url: 'https://hooks.example.com', events: ['bolt.run.completed'] })
  const { deliveryId } = await testWebhook(inside, hook.id)
  const slack = { kind: 'slack', name: '', settings: {}, secrets: { token: 'xoxb-long-enough' } }
  const integration = await createIntegration(inside, slack)
  const run = await api.t.app.db
    .selectFrom('run')
    .select('id')
    .where('workspace_id', '=', b.id)
    .executeTakeFirstOrThrow()
  const pull = await pulls.save(api.t.app.db, b.id, TEST_PULL, 'open')
  const query = { kind: 'query' } as const
  const byHook = { theirs: hook.id, nobodys: 2_000_000_000, by }
  const byIntegration = { theirs: integration.id, nobodys: 2_000_000_000, by }
  const own = { channel: 'slack', name: 'Only of B', text: '{{run.state}}' }
  const template = await createMessageTemplate(inside, own)
  const byTemplate = { theirs: template.slug, nobodys: 'no-such-template', by }
  const byDelivery = { theirs: deliveryId, nobodys: randomUUID(), by }
  return [
    { argument: 'updateWebhook.id', document: 'updateWebhook(id: $, webhook: {})', ...byHook },
    { argument: 'deleteWebhook.id', document: 'deleteWebhook(id: $)', ...byHook },
    { argument: 'rotateWebhookSecret.id', document: 'rotateWebhookSecret(id: $)', ...byHook },
    { argument: 'testWebhook.id', document: 'testWebhook(id: $)', ...byHook },
    { argument: 'updateIntegration.id', document: 'updateIntegration(id: $)', ...byIntegration },
    { argument: 'removeIntegration.id', document: 'removeIntegration(id: $)', ...byIntegration },
    { argument: 'testIntegration.id', document: 'testIntegration(id: $)', ...byIntegration },
    { argument: 'delivery.id', document: 'delivery(id: $)', ...byDelivery, ...query },
    { argument: 'sendDeliveryAgain.id', document: 'sendDeliveryAgain(id: $)', ...byDelivery },
    { argument: 'updateMessageTemplate.slug', document: 'updateMessageTemplate(slug: $)', ...byTemplate },
    { argument: 'deleteMessageTemplate.slug', document: 'deleteMessageTemplate(slug: $)', ...byTemplate },
    {
      argument: 'allowPullRequest.id',
      document: `allowPullRequest(id: $, commit: "${pull.headCommit}")`,
      ...{ theirs: pull.id, nobodys: 2_000_000_000, by },
    },
    {
      argument: 'listDeliveries.filter.webhookId',
      document: 'listDeliveries(filter: { webhookId: $ })',
      ...byHook,
      ...query,
    },
    {
      argument: 'listDeliveries.filter.runId',
      document: 'listDeliveries(filter: { runId: $ })',
      ...{ theirs: run.id, nobodys: 2_000_000_000, by },
      ...query,
    },
  ]
}

/** A session of B, and what B gives its agents. */
async function agentNamings(by: readonly RequestHeaders[]): Promise<Naming[]> {
  const inside = api.t.inside(b)
  await updateEnvironment(inside, 'only-b', { repositoryUrl: 'https://git.example.com/b.git' })
  const query = { kind: 'query' } as const
  const bySession = { theirs: await testSession(inside), nobodys: newUid(), by }
  await setModelFamily(inside, { name: 'only-b', provider: 'openai', model: 'm', secrets: { apiKey: 'long-enough' } })
  await setMcpServer(inside, { name: 'only-b', url: 'https://mcp.example.com/b' })
  const byName = { theirs: 'only-b', nobodys: 'nobodys', by }
  return [
    {
      argument: 'dinoaiAgentRun.agentSessionId',
      document: 'dinoaiAgentRun(agentSessionId: $)',
      ...bySession,
      ...query,
    },
    {
      argument: 'dinoaiAgentToolOutput.agentSessionId',
      document: 'dinoaiAgentToolOutput(agentSessionId: $, call: "c1")',
      ...bySession,
      ...query,
    },
    {
      argument: 'listDinoaiAgentSessions.filter.parentSessionId',
      document: 'listDinoaiAgentSessions(filter: { parentSessionId: $ })',
      ...bySession,
      ...query,
    },
    {
      argument: 'sendDinoaiAgentMessage.agentSessionId',
      document: 'sendDinoaiAgentMessage(agentSessionId: $, message: "x")',
      ...bySession,
    },
    { argument: 'stopDinoaiAgentRun.agentSessionId', document: 'stopDinoaiAgentRun(agentSessionId: $)', ...bySession },
    { argument: 'removeModelFamily.name', document: 'removeModelFamily(name: $)', ...byName },
    { argument: 'testModelFamily.name', document: 'testModelFamily(name: $)', ...byName },
    { argument: 'removeMcpServer.name', document: 'removeMcpServer(name: $)', ...byName },
  ]
}

// Names of things at other services or of what is made here, and fields of an update, which goes through the code of the
// creation.
const NOT_OURS = /\.(notifications|integrations)\.|^updateBoltSchedule\.schedule\.|^createMessageTemplate\.slug$/

/** Arguments that name something which is there already: by id, uid or slug. */
function namingArguments(): string[] {
  const found: string[] = []
  const look = (path: string, name: string, type: GraphQLInputType): void => {
    const named = getNamedType(type)
    if (/^(id|uid|slug|environment|.*(Id|Uid|Slug))$/.test(name) && !isInputObjectType(named)) found.push(path)
    if (!isInputObjectType(named)) return
    for (const field of Object.values(named.getFields())) look(`${path}.${field.name}`, field.name, field.type)
  }
  for (const type of [schema.getQueryType()!, schema.getMutationType()!]) {
    for (const field of Object.values(type.getFields())) {
      for (const one of field.args) look(`${field.name}.${one.name}`, one.name, one.type)
    }
  }
  return found
}

test('every argument that names something by id, uid or slug is tried', () => {
  const tried = new Set(namings.map((one) => one.argument))
  assert.deepEqual(
    namingArguments().filter((one) => !tried.has(one) && !NOT_OURS.test(one)),
    [],
  )
})

test('an id, uid or slug of another workspace is NOT_FOUND, in the words for one that does not exist', async () => {
  for (const { argument, document, theirs, nobodys, by, kind = 'mutation', code = 'NOT_FOUND' } of namings) {
    for (const [at, who] of by.entries()) {
      const ask = (value: string | number) =>
        api.ask(`${kind} { ${document.replace('$', JSON.stringify(value))} { __typename } }`, {
          by: who,
          workspace: a.uid,
        })
      const [other, unknown] = [await ask(theirs), await ask(nobodys)]
      assert.deepEqual([other.status, other.code], [200, code], `${argument} ${at}: ${other.text}`)
      const blank = (text: string, value: string | number) => text.replaceAll(String(value), '…')
      assert.equal(blank(other.message, theirs), blank(unknown.message, nobodys), argument)
      assert.deepEqual(other.json.data, unknown.json.data)
    }
  }
})

test('what is there stays as it was', async () => {
  const { db } = api.t.app
  assert.equal((await people.listMembers(db, b.id)).length, 2)
  const count = async (table: 'environment' | 'variable' | 'secret') =>
    (await db.selectFrom(table).select('workspace_id').where('workspace_id', '=', b.id).execute()).length
  assert.deepEqual([await count('environment'), await count('variable'), await count('secret')], [1, 1, 1])
  const revoked = await db.selectFrom('api_key').select('id').where('revoked_at', 'is not', null).execute()
  assert.deepEqual(revoked, [])
})

test('no answer of a query through the keys of one workspace holds anything of the other', async () => {
  const everything = `{
    listUsers { activeUsers { uid email name } invitedUsers { email } }
    listWorkspaces { workspaces { name uid } }
    features { workspaces { workspaceUid } }
    environments { environments { slug displayName variables { name } secrets { name } } variables { name } secrets { name } }
    getAuditLogs { auditLogs { workspaceId workspaceName actorEmail metadataJson } }
    listApiKeys { keys { id name workspaceUid start } }
    listDinoaiAgentSessions { sessions { agentSessionId } totalCount }
    listModelFamilies { families { name } }
    listMcpServers { servers { name } }
  }`
  const emails = (await people.listMembers(api.t.app.db, b.id)).flatMap((one) => [one.email, one.uid])
  const foreign = [...emails, b.uid, 'only-b', 'ONLY_B', `"workspaceId":${b.id},`, '"workspaceId":0,']
  for (const by of waysIntoA) {
    const reply = await api.ask(everything, { by, workspace: a.uid })
    assert.deepEqual([reply.status, reply.code], [200, ''], reply.text)
    for (const word of foreign) assert.ok(!reply.text.includes(word), word)
    assert.ok(reply.text.includes('only-a'))
  }
})

test('a workspace that is archived is gone for everybody', async () => {
  await using other = await testApi()
  const [first, second] = [await other.t.workspace('First'), await other.t.workspace('Second')]
  const account = bearer((await other.t.key()).key)
  const key = bearer((await other.t.key({ kind: 'workspace', workspace: second })).key)
  const ana = await other.t.member(second, 'ADMIN')
  const session = sessionOf(await other.session(ana))
  const node = await other.secondNode()
  const reply = await other.ask('mutation { archiveWorkspace { ok } }', { by: account, workspace: second.uid })
  assert.equal(reply.code, '')
  const status = async (by: RequestHeaders, workspace?: string) =>
    (await other.ask('{ listUsers { ok } }', { by, workspace, node })).status
  assert.deepEqual(
    [await status(account, second.uid), await status(key), await status(session, second.uid)],
    [403, 401, 401],
  )
  assert.equal(await status(account, first.uid), 200)
  const last = await other.ask('mutation { archiveWorkspace { ok } }', { by: account, workspace: first.uid })
  assert.equal(last.code, 'CONFLICT')
})
