// "Clients send every optional variable as an explicit null: null means 'not given', everywhere."
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type GraphQLArgument,
  type GraphQLInputField,
  getNullableType,
  isInputObjectType,
  isNonNullType,
  isRequiredInputField,
} from 'graphql'
import { sql } from 'kysely'
import { createIntegration } from '../service/src/app/integrations.ts'
import { setMcpServer } from '../service/src/app/mcp-servers.ts'
import { createMessageTemplate } from '../service/src/app/message-templates.ts'
import { setModelFamily } from '../service/src/app/model-families.ts'
import { createSchedule } from '../service/src/app/schedules.ts'
import { triggerRun } from '../service/src/app/trigger-run.ts'
import { createWebhook } from '../service/src/app/webhooks.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { bearer, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'
import { documentOf, schema } from './support/arguments.ts'

// Stand for what is made in the workspace of each try.
const SCHEDULE = 'the schedule'
const COMMAND = 'a command of its failed run'
const WEBHOOK = 'a webhook'
const INTEGRATION = 'an integration'
const TEMPLATE = 'a template'
const FAMILY = 'a model family'
const SERVER = 'a server'

// What the required arguments are given; an operation is asked as many times as it has kinds of callers.
const REQUIRED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  getAuditLogs: {},
  environments: {},
  createEnvironment: { environment: { displayName: 'Nulls' } },
  updateEnvironment: { slug: 'production', environment: {} },
  setVariable: { name: 'V', value: '1' },
  deleteVariable: { name: 'V' },
  setSecret: { kind: 'VARIABLE', name: 'S', value: 'long enough' },
  deleteSecret: { kind: 'VARIABLE', name: 'S' },
  createApiKey: { key: { name: 'k', kind: 'ACCOUNT' } },
  createPersonalKey: { key: { name: 'k' } },
  listBoltSchedules: { offset: 0, limit: 10, showInactive: true },
  boltScheduleName: { slug: SCHEDULE },
  nextFireTimes: { schedule: '@daily' },
  listBoltRuns: { offset: 0, limit: 10 },
  boltCommandLogs: { commandId: COMMAND },
  boltRunPage: {},
  searchCommandLog: { commandId: COMMAND, text: 'x' },
  listDeliveries: {},
  createWebhook: { webhook: { url: 'https://hooks.example.com', events: ['bolt.run.completed'] } },
  updateWebhook: { id: WEBHOOK, webhook: {} },
  rotateWebhookSecret: { id: WEBHOOK },
  createIntegration: { kind: 'PAGERDUTY', secrets: [{ name: 'token', value: 'long-enough' }] },
  updateIntegration: { id: INTEGRATION },
  testIntegration: { id: INTEGRATION },
  createMessageTemplate: { channel: 'SLACK', name: 'k', text: '{{run.state}}' },
  updateMessageTemplate: { slug: TEMPLATE },
  listDinoaiAgentSessions: {},
  listHealingRequests: {},
  triggerDinoaiAgentRun: { message: 'Why?' },
  setModelFamily: { name: FAMILY },
  setAgentPolicy: { policy: {} },
  setMcpServer: { name: SERVER },
  createBoltSchedule: { schedule: { name: 'k', schedule: 'OFF', environment: 'production', commands: ['true'] } },
  updateBoltSchedule: { slug: SCHEDULE, schedule: {} },
  deleteBoltSchedule: { slug: SCHEDULE },
  suspendBoltSchedule: { slug: SCHEDULE },
  triggerBoltRun: { slug: SCHEDULE },
  retryBoltRunFromFailure: { slug: SCHEDULE },
}

/** Every optional argument, and every optional member of an input, as null. */
function withNulls(fields: readonly (GraphQLArgument | GraphQLInputField)[], given: Readonly<Record<string, unknown>>) {
  const values: Record<string, unknown> = {}
  let nulls = 0
  for (const field of fields) {
    const type = getNullableType(field.type)
    const value = given[field.name]
    // An optional one that needs something itself is left out as a whole.
    if (
      isInputObjectType(type) &&
      (value !== undefined || !Object.values(type.getFields()).some(isRequiredInputField))
    ) {
      const inner = withNulls(Object.values(type.getFields()), (value ?? {}) as Record<string, unknown>)
      values[field.name] = inner.values
      nulls += inner.nulls
    } else if (isNonNullType(field.type) || value !== undefined) {
      values[field.name] = value
    } else {
      values[field.name] = null
      nulls++
    }
  }
  return { values, nulls }
}

test('every optional variable can be sent as an explicit null, and means what leaving it out means', async () => {
  await using api = await testApi()
  const tried: string[] = []
  const expected: string[] = []
  for (const type of [schema.getQueryType()!, schema.getMutationType()!]) {
    for (const { name, args } of Object.values(type.getFields())) {
      const { nulls } = withNulls(args, REQUIRED[name] ?? {})
      if (nulls > 0) expected.push(name)
      if (nulls === 0 || REQUIRED[name] === undefined) continue
      tried.push(name)
      const [left, sent] = [
        await outcome(api, name, REQUIRED[name]),
        await outcome(api, name, withNulls(args, REQUIRED[name]).values),
      ]
      assert.deepEqual(sent, left, name)
      assert.equal(left.code, '', `${name}: ${left.message}`)
    }
  }
  assert.deepEqual(tried, expected)
})

/** In a workspace of its own, so that both ways start from the same. */
async function outcome(api: TestApi, name: string, variables: Readonly<Record<string, unknown>>) {
  const { uid, ...workspace } = await api.t.workspace()
  const owner = sessionOf(await api.session(await api.t.member({ uid, ...workspace }, 'ADMIN')))
  const key = bearer((await api.t.key()).key)
  const inside = (query: string) => api.ask(query, { by: key, workspace: uid })
  await inside(`mutation { createEnvironment(environment: { displayName: "Production", defaultBranch: "trunk",
    deploymentBranch: "live", installStep: "make", pythonPackages: ["dbt-core"], excludedFiles: ["x/**"],
    repositoryUrl: "https://git.example.com/x" }) { ok } }`)
  await inside('mutation { setVariable(name: "V", value: "0") { ok } }')
  await inside('mutation { setSecret(kind: VARIABLE, name: "S", value: "long enough") { ok } }')
  const { slug, commandId } = await failedRun(api, { uid, ...workspace })
  const real = new Map<unknown, unknown>([
    [SCHEDULE, slug],
    [COMMAND, commandId],
    ...(await waysOut(api, { uid, ...workspace })),
  ])
  const given = Object.fromEntries(
    Object.entries(variables).map(([key, value]) => [key, real.has(value) ? real.get(value) : value]),
  )
  const by: RequestHeaders = name === 'createPersonalKey' ? owner : key
  const reply = await api.ask(documentOf(name), { by, workspace: uid, variables: given })
  const after = await inside(`{ environments { environments { slug isDefault type repositoryUrl defaultBranch
      deploymentBranch installStep pythonPackages excludedFiles variables { name value } secrets { name } }
    variables { name value } secrets { name kind } } }`)
  const keys = await inside('{ listApiKeys { keys { name kind client workspaceUid capabilities expiresDttm } } }')
  const personal = await api.ask('{ listPersonalKeys { keys { name capabilities expiresDttm } } }', { by: owner })
  const jobs =
    await inside(`{ listBoltSchedules(offset: 0, limit: 10, showInactive: true) { schedules { name schedule timezone
      description owner suspended active overlap catchUp catchUpWindowSeconds commands gitBranch nextRunAt labels
      turboCi { enabled } deferredSchedule { enabled } slackOn emailOn envVarNames timeLimitSeconds slaSeconds } }
    listBoltRuns(offset: 0, limit: 10) { runs { state reason actorEmail gitInfo { branch pullRequestId } } } }`)
  const agents = await inside(`{ listModelFamilies { families { name provider model isDefault secretNames } }
    agentPolicy { tools egressHosts maxSteps commitName } listMcpServers { servers { name url tools headerNames } }
    listDinoaiAgentSessions { sessions { agent status model } totalCount } }`)
  const { code, message } = reply
  return {
    code,
    message,
    data: reply.json.data,
    jobs: jobs.json,
    agents: agents.json,
    after: after.json,
    made: madeBy(keys.json),
    personal: personal.json,
  }
}

async function waysOut({ t }: TestApi, workspace: WorkspaceRef): Promise<[string, unknown][]> {
  const inside = t.inside(workspace)
  const hook = await createWebhook(inside, { url: 'https://hooks.example.com', events: ['bolt.run.completed'] })
  const slack = { kind: 'slack', name: '', settings: {}, secrets: { token: 'long-enough' } }
  const integration = await createIntegration(inside, slack)
  const template = await createMessageTemplate(inside, { channel: 'slack', name: 'Own', text: '{{run.state}}' })
  const access = { provider: 'openai', model: 'm', secrets: { apiKey: 'long-enough' } }
  const family = await setModelFamily(inside, { name: 'large', ...access })
  const server = await setMcpServer(inside, { name: 'docs', url: 'https://mcp.example.com/x', tools: ['search'] })
  return [
    [WEBHOOK, hook.id],
    [INTEGRATION, integration.id],
    [TEMPLATE, template.slug],
    [FAMILY, family.name],
    [SERVER, server.name],
  ]
}

/** A schedule whose only run failed, as a worker would have left it. */
async function failedRun({ t }: TestApi, workspace: WorkspaceRef): Promise<{ slug: string; commandId: number }> {
  const inside = t.inside(workspace)
  const fields = { name: 'old', schedule: 'OFF', environment: 'production', commands: ['true'] }
  const { slug } = await createSchedule(inside, fields)
  const { runId } = await triggerRun(inside, { slug })
  const owner = t.database.owner.kysely
  await sql`update run set state = 'errored', ended_at = now() where id = ${runId}`.execute(owner)
  const { rows } = await sql<{ id: number }>`update command set return_code = 1,
    state = case kind when 'user' then 'failed' else 'succeeded' end where run_id = ${runId} returning id`.execute(
    owner,
  )
  return { slug, commandId: rows[0]!.id }
}

const madeBy = (keys: { data: { listApiKeys: { keys: { name: string }[] } } }) =>
  keys.data.listApiKeys.keys.filter((one) => one.name === 'k')[0]

test('null for something that is needed is 400', async () => {
  await using api = await testApi()
  const workspace = await api.t.workspace('A')
  const by = bearer((await api.t.key()).key)
  const ask = (query: string, variables: object) => api.ask(query, { by, workspace: workspace.uid, variables })
  const cases: [string, object][] = [
    ['mutation ($uid: String!) { disableUser(uid: $uid) { ok } }', { uid: null }],
    ['mutation ($e: EnvironmentInput!) { createEnvironment(environment: $e) { ok } }', { e: null }],
    ['mutation ($k: ApiKeyInput!) { createApiKey(key: $k) { ok } }', { k: { name: null, kind: 'ACCOUNT' } }],
    [
      'mutation ($e: EnvironmentInput!) { createEnvironment(environment: $e) { ok } }',
      { e: { pythonPackages: [null] } },
    ],
    ['mutation ($on: Boolean) { setAccountFeature(feature: "scheduling", enabled: $on) { ok } }', { on: null }],
  ]
  for (const [query, variables] of cases) assert.equal((await ask(query, variables)).status, 400, query)
})

test('a variable with a default that is sent as null has its default', async () => {
  await using api = await testApi()
  const by = bearer((await api.t.key()).key)
  const query = 'query ($limit: Int = 1) { getAuditLogs(limit: $limit) { auditLogs { id } } }'
  for (const variables of [undefined, {}, { limit: null }]) {
    const reply = await api.ask(query, { by, variables })
    assert.equal(reply.json.data.getAuditLogs.auditLogs.length, 1)
  }
})
