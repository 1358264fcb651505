// One request for every mutation that is served, each of which changes something when it is made for the first time,
// in this order.
import { sql } from 'kysely'
import { stopAgent } from '../../service/src/app/agent-sessions.ts'
import { createEnvironment } from '../../service/src/app/environments.ts'
import { createIntegration } from '../../service/src/app/integrations.ts'
import { createMessageTemplate } from '../../service/src/app/message-templates.ts'
import { createSchedule } from '../../service/src/app/schedules.ts'
import { triggerRun } from '../../service/src/app/trigger-run.ts'
import { createWebhook, testWebhook } from '../../service/src/app/webhooks.ts'
import type { WorkspaceRef } from '../../service/src/domain/actor.ts'
import * as pulls from '../../service/src/store/pull-requests.ts'
import { TEST_PULL } from '../../service/test/support/git-hooks.ts'
import { testSession } from './agents.ts'
import { type Ask, bearer, type RequestHeaders, sessionOf, type TestApi } from './api.ts'

export interface GoodMutation {
  readonly name: string
  readonly ask: Ask & { readonly query: string; readonly by: RequestHeaders }
}

export async function goodMutations(api: TestApi, a: WorkspaceRef): Promise<GoodMutation[]> {
  const { t } = api
  const by = bearer((await t.key()).key)
  await t.member(a, 'ADMIN')
  const owner = await t.member(a, 'ADMIN', { email: 'owner@example.com' })
  const member = await t.member(a, 'ANALYST')
  const spare = await t.key({ kind: 'workspace', workspace: a })
  const own = await t.key({ kind: 'personal', person: owner })
  const signedIn = sessionOf(await api.session(owner))
  await api.session(owner)
  const sessions = await api.ask('{ listSessions { sessions { id current } } }', { by: signedIn })
  const other = sessions.json.data.listSessions.sessions.find((one: { current: boolean }) => !one.current).id
  const made: GoodMutation[] = []
  const add = (name: string, args: string, fields = 'ok', who: RequestHeaders = by) => {
    const query = `mutation { ${name}${args === '' ? '' : `(${args})`} { ${fields} } }`
    made.push({ name, ask: { query, by: who, workspace: a.uid } })
  }
  add('inviteUser', 'email: "new@example.com", accountType: ANALYST')
  add('updateUserAccountType', `uid: "${member.uid}", accountType: DEVELOPER`)
  add('disableUser', `uid: "${member.uid}"`)
  add('createWorkspace', 'name: "Further"', 'workspace { uid }')
  add('renameWorkspace', 'name: "Renamed"')
  add('setAccountFeature', 'feature: "scheduling", enabled: true')
  add('setWorkspaceFeature', 'feature: "agents", enabled: true')
  const repository = 'repositoryUrl: "https://user:token-of-the-host@git.example.com/x.git"'
  add('createEnvironment', `environment: { displayName: "Production", ${repository} }`, 'slug')
  add('updateEnvironment', `slug: "production", environment: { defaultBranch: "trunk", ${repository} }`, 'slug')
  add('setVariable', 'environment: "production", name: "V", value: "1"')
  add('deleteVariable', 'environment: "production", name: "V"')
  add('setSecret', 'environment: "production", kind: VARIABLE, name: "S", value: "long enough"')
  add('deleteSecret', 'environment: "production", kind: VARIABLE, name: "S"')
  const runs = await makeRuns(api, a)
  const slug = `slug: "${runs.schedule}"`
  add('createBoltSchedule', 'schedule: { name: "s", schedule: "OFF", environment: "base", commands: ["true"] }', 'slug')
  add('updateBoltSchedule', `${slug}, schedule: { description: "other" }`, 'slug')
  add('createScheduleSlugs', 'displayNames: ["one"]', 'slugs')
  add('suspendBoltSchedule', slug)
  add('triggerBoltRun', slug, 'runId')
  add('cancelBoltRun', `scheduleRunId: ${runs.going[0]}`)
  add('cancelBoltRuns', `scheduleRunIds: [${runs.going[1]}]`, 'ok results { id ok }')
  add('retryBoltRun', `scheduleRunId: ${runs.failed}`, 'runId')
  add('retryAllBoltRun', `scheduleRunId: ${runs.failed}`, 'runId')
  add('retryBoltRuns', `scheduleRunIds: [${runs.failed}]`, 'ok results { id runId }')
  add('retryBoltRunFromFailure', `slug: "${runs.other}"`, 'runId')
  add('deleteBoltSchedule', `slug: "${runs.spare}"`)
  const hooks = await makeHooks(api, a)
  add('createWebhook', 'webhook: { url: "https://hooks.example.com/x", events: ["bolt.run.completed"] }', 'id secret')
  add('updateWebhook', `id: ${hooks.webhook}, webhook: { description: "other" }`)
  add('rotateWebhookSecret', `id: ${hooks.webhook}`, 'secret')
  add('testWebhook', `id: ${hooks.webhook}`, 'deliveryId')
  add('sendDeliveryAgain', `id: "${hooks.delivery}"`)
  add('allowPullRequest', `id: ${hooks.pull.id}, commit: "${hooks.pull.headCommit}"`, 'runIds')
  add('deleteWebhook', `id: ${hooks.webhook}`)
  const token = (value: string) => `secrets: [{ name: "token", value: "${value}" }]`
  add('createIntegration', `kind: PAGERDUTY, ${token('token-of-the-pager')}`, 'id')
  add('updateIntegration', `id: ${hooks.integration}, ${token('another-token')}`)
  add('testIntegration', `id: ${hooks.integration}, address: "#data"`, 'deliveryId')
  add('testMail', 'address: "ana@example.com"', 'deliveryId')
  add('removeIntegration', `id: ${hooks.integration}`)
  add('createMessageTemplate', 'channel: SLACK, name: "Short", text: "{{run.state}}"', 'slug')
  add('updateMessageTemplate', `slug: "${hooks.template}", name: "Other"`)
  add('deleteMessageTemplate', `slug: "${hooks.template}"`)
  add('syncBoltScheduleFiles', '')
  const agents = await makeSessions(api, a)
  add('triggerDinoaiAgentRun', 'message: "Why?"', 'agentSessionId status warning')
  add('sendDinoaiAgentMessage', `agentSessionId: "${agents.over}", message: "And then?"`, 'agentSessionId status')
  add('stopDinoaiAgentRun', `agentSessionId: "${agents.waiting}"`, 'status')
  const families =
    'provider: OPENAI_COMPATIBLE, model: "m", settings: [{ name: "address", value: "http://127.0.0.1:9" }]'
  add('setModelFamily', `name: "local", ${families}, secrets: [{ name: "apiKey", value: "key-of-the-model" }]`)
  add('testModelFamily', 'name: "local"', 'ok text')
  add('removeModelFamily', 'name: "local"')
  add('setAgentPolicy', 'policy: { maxSteps: 5 }')
  const headers = 'headers: [{ name: "Authorization", value: "header-of-the-server" }]'
  add('setMcpServer', `name: "docs", url: "https://mcp.example.com/x", ${headers}`)
  add('removeMcpServer', 'name: "docs"')
  add('archiveEnvironment', 'slug: "production"')
  add('createApiKey', 'key: { name: "k", kind: ACCOUNT }', 'id key')
  add('revokeApiKey', `id: ${spare.id}`)
  add('createPersonalKey', 'key: { name: "mine" }', 'id key', signedIn)
  add('revokePersonalKey', `id: ${own.id}`, 'ok', signedIn)
  add('endSession', `id: ${other}`, 'ok', signedIn)
  add('archiveWorkspace', '')
  return made
}

/** A webhook with a delivery, and an integration. */
async function makeHooks({ t }: TestApi, a: WorkspaceRef) {
  const inside = t.inside(a)
  const { id: webhook } = await createWebhook(inside, {
    url: 'https://hooks.example.com',
    events: ['bolt.run.completed'],
  })
  const { deliveryId: delivery } = await testWebhook(inside, webhook)
  const { id: integration } = await createIntegration(inside, {
    kind: 'slack',
    name: '',
    settings: {},
    secrets: { token: 'xoxb-long-enough' },
  })
  const own = { channel: 'slack', name: 'Own', text: '{{run.state}}' }
  const { slug: template } = await createMessageTemplate(inside, own)
  const pull = await pulls.save(t.app.db, a.id, TEST_PULL, 'open')
  return { webhook, delivery, integration, template, pull }
}

/** Sessions of agents: one whose turn is over, and one that waits. */
async function makeSessions({ t }: TestApi, a: WorkspaceRef) {
  const inside = t.inside(a)
  const [over, waiting] = [await testSession(inside), await testSession(inside)]
  await stopAgent(inside, { sessionId: over })
  return { over, waiting }
}

/** Schedules with runs as workers would have left them: two that are going, and one that failed. */
async function makeRuns({ t }: TestApi, a: WorkspaceRef) {
  const inside = t.inside(a)
  await createEnvironment(inside, { displayName: 'base', repositoryUrl: 'https://git.example.com/y.git' })
  const make = async (name: string): Promise<string> => {
    const fields = { name, schedule: 'OFF', environment: 'base', commands: ['true'], overlap: 'allow' }
    return (await createSchedule(inside, fields)).slug
  }
  const [schedule, other, spare] = [await make('one'), await make('other'), await make('spare')]
  const run = async (slug: string): Promise<number> => (await triggerRun(inside, { slug })).runId
  const going = [await run(schedule), await run(schedule)]
  const failed = await run(schedule)
  const latest = await run(other)
  const owner = t.database.owner.kysely
  await sql`update run set state = 'running', worker_id = 'test', lease_until = now() + interval '1 hour', attempt = 1
    where id = any(${going}::int[])`.execute(owner)
  await sql`update run set state = 'errored', ended_at = now() where id = any(${[failed, latest]}::int[])`.execute(
    owner,
  )
  await sql`update command set state = case kind when 'user' then 'failed' else 'succeeded' end, return_code = 1
    where run_id = any(${[failed, latest]}::int[])`.execute(owner)
  return { schedule, other, spare, going, failed }
}
