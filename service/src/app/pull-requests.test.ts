import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import {
  githubHook,
  githubPull,
  gitlabHook,
  HOOK_SECRET,
  signHook,
  type TestPull,
} from '../../test/support/git-hooks.ts'
import { type TestSchedule, testRuns } from '../../test/support/runs.ts'
import { pullRequestPoll } from '../engine/pull-request-poll.ts'
import { runEvents } from '../engine/run-events.ts'
import type { OutgoingHttp } from '../ports/outgoing-http.ts'
import * as healing from '../store/healing.ts'
import { type PushedBranch, takeHook } from './git-hooks.ts'
import { healingProposed } from './healing.ts'
import { createIntegration, listIntegrations, updateIntegration } from './integrations.ts'
import { pullRequestHandler } from './pull-request-results.ts'
import { allowPullRequest, listPullRequests } from './pull-requests.ts'

const r = await testRuns()
after(() => r[Symbol.asyncDispose]())
const { app } = r.t
const [ONE, TWO] = ['1'.repeat(40), '2'.repeat(40)]
let pushed: PushedBranch[] = []
let number = 0

for (const kind of ['github', 'gitlab'])
  await createIntegration(r.ctx, { kind, name: '', settings: {}, secrets: { webhookSecret: HOOK_SECRET } })

beforeEach(async () => {
  pushed = []
  number++
  await sql`update schedule set deleted_at = clock_timestamp(), next_due_at = null`.execute(app.db)
})

/** A schedule of the shop's repository. */
async function schedule(more: { turboCi?: boolean; onMerge?: boolean; host?: string; branch?: string } = {}) {
  const made = await r.schedule()
  const turboCi = JSON.stringify({ enabled: more.turboCi ?? true, slug: null, successfulRunOnly: true })
  await sql`update schedule set turbo_ci = ${turboCi}::jsonb, trigger_on_merge = ${more.onMerge ?? false},
    git_branch = ${more.branch ?? null} where id = ${made.id}`.execute(app.db)
  await sql`update environment set repository_url = ${`https://${more.host ?? 'github.com'}/acme/shop.git`}
    where id = ${made.environmentId}`.execute(app.db)
  return made
}

const hook = (
  message: object,
  signing: Parameters<typeof signHook>[2] = {},
  provider: 'github' | 'gitlab' = 'github',
) =>
  takeHook(app, { provider, workspaceUid: r.workspace.uid, ...signHook(provider, message, signing) }, (one) =>
    pushed.push(one),
  )
const opened = (pull: TestPull = {}) => hook(githubHook('opened', { number, ...pull }))

const runsOf = async ({ id }: TestSchedule) =>
  (
    await sql<{ id: number; state: string; cause: string; branch: string; commit: string | null; pr: number | null }>`
      select id, state, cause, branch, wanted_commit as commit, pr_number as pr from run where schedule_id = ${id}
      order by id`.execute(app.db)
  ).rows

test('what is pushed to a pull request runs the Turbo CI schedules of its repository on that commit', async () => {
  const [ci, elsewhere, plain] = [
    await schedule(),
    await schedule({ host: 'gitlab.com' }),
    await schedule({ turboCi: false }),
  ]
  const answer = await opened({ commit: ONE })
  assert.equal(answer.status, 200)
  const [run] = await runsOf(ci)
  assert.deepEqual(answer.runIds, [run?.id])
  assert.partialDeepStrictEqual(run, { cause: 'pull_request', branch: 'feature', commit: ONE, pr: number })
  assert.deepEqual([...(await runsOf(elsewhere)), ...(await runsOf(plain))], [])
  const merge = await hook(gitlabHook('open', { number, commit: ONE }), {}, 'gitlab')
  assert.equal(merge.runIds.length, 1)
  assert.equal((await runsOf(elsewhere)).length, 1)
})

test('a newer commit cancels the run of the older one', async () => {
  const ci = await schedule()
  await opened({ commit: ONE })
  await hook(githubHook('synchronize', { number, commit: TWO }))
  assert.deepEqual(
    (await runsOf(ci)).map((one) => [one.state, one.commit]),
    [
      ['canceled', ONE],
      ['waiting', TWO],
    ],
  )
})

test('a run that was canceled before its checkout is told on its own commit, not on the newer one', async () => {
  const ci = await schedule()
  const [github] = (await listIntegrations(r.ctx)).filter((one) => one.kind === 'github')
  await updateIntegration(r.ctx, github!.id, { settings: {}, secrets: { token: 'a-token-of-ours' } })
  await opened({ commit: ONE })
  await hook(githubHook('synchronize', { number, commit: TWO }))
  await runEvents(app, [pullRequestHandler(app)]).runOnce()
  const [older] = await runsOf(ci)
  const { rows } = await sql<{ body: object }>`select body from delivery where run_id = ${older!.id}`.execute(app.db)
  assert.partialDeepStrictEqual(
    rows.map((row) => row.body),
    [{ commit: ONE, state: 'canceled' }],
  )
})

test('the same hook, the same commit, and a hook without the secret start nothing', async () => {
  const ci = await schedule()
  const id = `delivery-${number}`
  const message = githubHook('opened', { number, commit: ONE })
  assert.equal((await hook(message, { id })).status, 200)
  assert.deepEqual(await hook(message, { id }), { status: 409, message: 'This hook was taken before.', runIds: [] })
  assert.deepEqual((await hook(message)).runIds, [])
  const wrong = await hook(githubHook('synchronize', { number, commit: TWO }), { secret: 'another secret' })
  assert.equal(wrong.status, 401)
  const unknown = { provider: 'github' as const, workspaceUid: 'x'.repeat(16), ...signHook('github', message) }
  assert.deepEqual(await takeHook(app, unknown, () => {}), wrong)
  assert.equal((await runsOf(ci)).length, 1)
})

test('of many who tell of the same commit at once, hooks and looks, one starts the runs', async () => {
  const ci = await schedule()
  await Promise.all(Array.from({ length: 8 }, () => opened({ commit: ONE })))
  assert.equal((await runsOf(ci)).length, 1)
})

test('a fork runs once a member has allowed the commit, and only that commit', async () => {
  const ci = await schedule()
  await opened({ commit: ONE, isFork: true })
  assert.deepEqual(await runsOf(ci), [])
  const pull = (await listPullRequests(r.ctx)).find((one) => one.number === number)!
  await assert.rejects(allowPullRequest(r.ctx, { id: pull.id, commit: TWO }), /is at 1{40} by now/)
  const { runIds } = await allowPullRequest(r.ctx, { id: pull.id, commit: ONE })
  const [run] = await runsOf(ci)
  assert.deepEqual(runIds, [run?.id])
  assert.partialDeepStrictEqual(run, { branch: ONE, commit: ONE })
  await assert.rejects(allowPullRequest(r.ctx, { id: pull.id, commit: ONE }), /was allowed at this commit already/)
  await hook(githubHook('synchronize', { number, commit: TWO, isFork: true }))
  assert.equal((await runsOf(ci)).length, 1)
  const other = r.t.inside(await r.t.workspace())
  await assert.rejects(allowPullRequest(other, { id: pull.id, commit: TWO }), /No pull request/)
})

test('what an agent pushed runs once a member has allowed the commit: a run has secrets, and a model wrote it', async () => {
  const ci = await schedule()
  const branch = `agent/${'a1b2c3d4'.repeat(2)}/work`
  await opened({ commit: ONE, branch })
  assert.deepEqual(await runsOf(ci), [])
  const pull = (await listPullRequests(r.ctx)).find((one) => one.number === number)!
  await allowPullRequest(r.ctx, { id: pull.id, commit: ONE })
  assert.partialDeepStrictEqual((await runsOf(ci))[0], { branch, commit: ONE })
  await hook(githubHook('synchronize', { number, commit: TWO, branch }))
  assert.equal((await runsOf(ci)).length, 1)
})

test('a merge runs the schedules of its branch that wait for one, once', async () => {
  const waiting = await schedule({ turboCi: false, onMerge: true, branch: 'main' })
  const other = await schedule({ turboCi: false, onMerge: true, branch: 'release' })
  const suspended = await schedule({ turboCi: false, onMerge: true, branch: 'main' })
  await sql`update schedule set suspended = true where id = ${suspended.id}`.execute(app.db)
  await opened({ commit: ONE })
  await hook(githubHook('closed', { number, commit: ONE }, true))
  await hook(githubHook('closed', { number, commit: ONE }, true))
  assert.partialDeepStrictEqual(await runsOf(waiting), [{ cause: 'merge', branch: 'main', pr: null, commit: null }])
  assert.equal((await runsOf(waiting)).length, 1)
  assert.deepEqual([...(await runsOf(other)), ...(await runsOf(suspended))], [])
  assert.deepEqual(pushed[0], { workspaceId: r.workspace.id, repository: 'github.com/acme/shop', branch: 'main' })
})

test('a look at the host sees what hooks would have told, and nothing that was over before', async () => {
  const [integration] = (await listIntegrations(r.ctx)).filter((one) => one.kind === 'github')
  const secrets = { token: 'a-token-for-the-host' }
  await updateIntegration(r.ctx, integration!.id, { settings: { poll: 'yes' }, secrets })
  const [ci, waiting] = [await schedule(), await schedule({ turboCi: false, onMerge: true, branch: 'main' })]
  let list: unknown[] = []
  const asked: string[] = []
  const http: OutgoingHttp = {
    call: async ({ url, headers }) => {
      asked.push(`${url} ${headers.authorization}`)
      return { status: 200, headers: {}, body: JSON.stringify(list) }
    },
  }
  const poll = pullRequestPoll(app, { http })
  const merged = (at: string) => ({ state: 'closed', merged_at: at })
  list = [
    githubPull({ number: 102, commit: TWO }),
    { ...githubPull({ number: 101 }), ...merged('2020-01-01T00:00:00Z') },
  ]
  await poll.runOnce()
  await poll.runOnce()
  assert.match(asked[0]!, /^https:\/\/api\.github\.com\/repos\/acme\/shop\/pulls\?\S+ Bearer a-token-for-the-host$/)
  assert.partialDeepStrictEqual(await runsOf(ci), [{ commit: TWO, pr: 102 }])
  assert.deepEqual(await runsOf(waiting), [])
  list = [{ ...githubPull({ number: 102, commit: TWO }), ...merged('2999-01-01T00:00:00Z') }]
  await poll.runOnce()
  await poll.runOnce()
  assert.equal((await runsOf(waiting)).length, 1)
  // Opened and merged between two looks.
  list = [{ ...githubPull({ number: 103, commit: ONE }), ...merged('2999-01-01T00:00:00Z') }]
  await poll.runOnce()
  assert.equal((await runsOf(waiting)).length, 2)
  assert.equal((await runsOf(ci)).length, 1)
})

test('a proposal of self-healing ends with its pull request, told by a hook or seen by a look at the host', async () => {
  const [integration] = (await listIntegrations(r.ctx)).filter((one) => one.kind === 'github')
  const secrets = { token: 'a-token-for-the-host' }
  await updateIntegration(r.ctx, integration!.id, { settings: { poll: 'yes' }, secrets })
  const proposed = async (session: string) => {
    // No run of its own follows from a pull request: the repository is looked at for the proposal alone.
    const made = await schedule({ turboCi: false })
    const runId = await r.trigger(made)
    const fields = {
      workspaceId: r.workspace.id,
      scheduleId: made.id,
      runId,
      cause: session,
      agent: '',
      slackChannel: '',
    }
    const id = (await healing.insert(app.db, { ...fields, refused: null }))!
    const proposal = { session, branch: `agent/${session}/mend`, pullRequest: 'https://github.com/acme/shop/pull/1' }
    await r.unit((unit) => healingProposed(unit, id, proposal))
    return id
  }
  const stateOf = async (id: number) =>
    (await healing.list(app.db, r.workspace.id, 10)).find((one) => one.id === id)!.state
  const [one, two] = ['aaaabbbbcccc1111', 'aaaabbbbcccc2222']
  const told = await proposed(one)
  await opened({ branch: `agent/${one}/mend` })
  assert.equal(await stateOf(told), 'proposed')
  await hook(githubHook('closed', { number, branch: `agent/${one}/mend` }, true))
  assert.equal(await stateOf(told), 'ended')
  const seen = await proposed(two)
  const pull = {
    ...githubPull({ number: 900, branch: `agent/${two}/mend` }),
    state: 'closed',
    merged_at: '2999-01-01T00:00:00Z',
  }
  const http: OutgoingHttp = { call: async () => ({ status: 200, headers: {}, body: JSON.stringify([pull]) }) }
  await pullRequestPoll(app, { http }).runOnce()
  assert.equal(await stateOf(seen), 'ended')
})
