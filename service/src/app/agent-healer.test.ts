import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestRuns, type TestSchedule, testRuns } from '../../test/support/runs.ts'
import { BUILT_IN_AGENTS } from '../domain/agent-built-in.ts'
import { AppError, notFound } from '../domain/errors.ts'
import type { HealingTask } from '../ports/healer.ts'
import type { Models } from '../ports/model.ts'
import * as events from '../store/agent-events.ts'
import * as sessions from '../store/agent-sessions.ts'
import * as environments from '../store/environments.ts'
import * as healing from '../store/healing.ts'
import type { AgentDefinitions } from './agent-definitions.ts'
import { agentHealer } from './agent-healer.ts'
import { settleHealing } from './healing.ts'
import { finishRun } from './runs.ts'

let r: TestRuns
let schedule: TestSchedule
before(async () => {
  r = await testRuns()
  schedule = await r.schedule()
  await sql`update environment set repository_url = 'https://git.example.com/acme/shop' where id = ${schedule.environmentId}`.execute(
    r.t.app.db,
  )
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const models: Models = {
  choose: async (_workspaceId, family) => ({ family: family || 'scripted', warning: null }),
  open: () => Promise.reject(new Error('nobody asks a model here')),
}

/** Finds the built-in agents, in an environment with this repository. */
function definitions(repositoryUrl = 'git@git.example.com:acme/shop.git', environmentId?: number): AgentDefinitions {
  return {
    list: () => Promise.reject(new Error('nobody lists here')),
    find: async (_ctx, name) => {
      const definition = BUILT_IN_AGENTS.find((one) => one.name === name)
      if (definition === undefined) throw notFound(`No agent "${name}".`)
      const id = environmentId ?? schedule.environmentId
      return {
        definition,
        commit: 'c',
        warnings: [],
        environment: { id, slug: 'e', repositoryUrl, defaultBranch: 'main' },
      }
    },
  }
}

const healer = (found = definitions()) =>
  agentHealer(r.t.app, { definitions: found, models, signal: new AbortController().signal })

/** A request for a run that failed. */
async function asked(agent = '', slack: HealingTask['slack'] = null): Promise<HealingTask> {
  const runId = await r.trigger(schedule)
  await sql`update run set branch = 'live', commit_hash = ${'a'.repeat(40)} where id = ${runId}`.execute(r.t.app.db)
  await sql`update command set state = 'failed', return_code = 2, text = 'dbt build' where run_id = ${runId}
    and kind = 'user'`.execute(r.t.app.db)
  await sql`insert into dbt_result (workspace_id, run_id, command_id, unique_id, status, message)
    select ${r.workspace.id}, ${runId}, id, 'model.shop.orders', 'error', ${'No such\ncolumn'} from command
    where run_id = ${runId} and kind = 'user' limit 1`.execute(r.t.app.db)
  await r.unit((unit) => finishRun(unit, runId, 0, { kind: 'errored' }))
  const fields = { workspaceId: r.workspace.id, scheduleId: schedule.id, runId, agent }
  await sql`update healing_request set state = 'ended', ended_at = clock_timestamp() where ended_at is null`.execute(
    r.t.app.db,
  )
  const id = await healing.insert(r.t.app.db, { ...fields, cause: `cause ${runId}`, slackChannel: '', refused: null })
  return { ...fields, id: id!, slack }
}

const found = async (session: string) => (await sessions.find(r.t.app.db, r.workspace.id, session))!

test('a session is started with the run, the failing command and what dbt said, as the service, from the run’s branch', async () => {
  const task = await asked('', { channel: 'C1', threadTs: '1.5' })
  const answer = await healer().start(task)
  assert.equal(answer.kind, 'started')
  const id = answer.kind === 'started' ? answer.session : ''
  const session = await found(id)
  assert.partialDeepStrictEqual(session, {
    agent: 'healer',
    status: 'queued',
    baseBranch: 'live',
    modelFamily: 'scripted',
    environmentId: schedule.environmentId,
    actor: { kind: 'service', name: 'self-healing' },
    slackChannel: 'C1',
    slackThreadTs: '1.5',
    healingRequestId: task.id,
    parentId: null,
  })
  const journal = await events.list(r.t.app.db, r.workspace.id, id)
  const message = journal.find((one) => one.kind === 'user_message')!
  assert.equal(message.author, 'service')
  assert.match(
    message.text,
    new RegExp(`^Run ${task.runId} of the schedule .* failed on the branch live at commit a{40}\\.`),
  )
  assert.match(message.text, /^The command that failed: dbt build \(exit code 2\)$/m)
  assert.match(message.text, /^\| model\.shop\.orders \(error\): No such\n\| {3}column$/m)
  assert.partialDeepStrictEqual((await r.t.records('agent_triggered')).at(-1)!.data, {
    session: id,
    agent: 'healer',
    run: task.runId,
    by: 'self-healing',
  })
})

test('the same request gives the same session, also when it is asked twice at once or the file is gone by then', async () => {
  const task = await asked()
  const answers = await Promise.all([healer().start(task), healer().start(task), healer().start(task)])
  const gone: AgentDefinitions = { ...definitions(), find: () => Promise.reject(notFound('No agent any more.')) }
  answers.push(await healer(gone).start(task))
  assert.deepEqual(new Set(answers.map((one) => JSON.stringify(one))).size, 1)
  const { rows } = await sql`select 1 from agent_session where healing_request_id = ${task.id}`.execute(r.t.app.db)
  assert.equal(rows.length, 1)
})

test('an agent that is not there refuses with the reason; a host that does not answer is asked again', async () => {
  assert.deepEqual(await healer().start(await asked('nobody')), { kind: 'refused', reason: 'No agent "nobody".' })
  const away: AgentDefinitions = {
    ...definitions(),
    find: () => Promise.reject(new AppError('UNAVAILABLE', 'The files of agents could not be read.')),
  }
  await assert.rejects(healer(away).start(await asked()), /could not be read/)
  await sql`update workspace set agents = false where id = ${r.workspace.id}`.execute(r.t.app.db)
  const off = await healer().start(await asked())
  await sql`update workspace set agents = true where id = ${r.workspace.id}`.execute(r.t.app.db)
  assert.deepEqual(off, { kind: 'refused', reason: 'Agents are switched off for this workspace.' })
})

test('it works in the environment of agents where that has the repository that failed, else where the run was', async () => {
  const place = { slug: 'agents', displayName: 'Agents', type: 'agent' } as const
  const agents = await environments.insert(r.t.app.db, r.workspace.id, place)
  const at = async (repositoryUrl: string) => {
    const answer = await healer(definitions(repositoryUrl, agents)).start(await asked())
    return (await found(answer.kind === 'started' ? answer.session : '')).environmentId
  }
  assert.equal(await at('git@git.example.com:acme/shop.git'), agents)
  assert.equal(await at('https://git.example.com/acme/other'), schedule.environmentId)
})

test('a pull request or a pushed branch is a proposal, and nothing pushed is the end; a later turn can add the pull request', async () => {
  const end = async (task: HealingTask, session: string, fields: object = {}) => {
    await r.unit(async (unit) => settleHealing(unit, { ...(await found(session)), ...fields }, 'done'))
    const [request] = await healing.list(r.t.app.db, r.workspace.id, 1)
    assert.equal(request!.id, task.id)
    return request!
  }
  const begin = async () => {
    const task = await asked()
    const answer = await healer().start(task)
    assert.equal(answer.kind, 'started')
    return { task, session: answer.kind === 'started' ? answer.session : '' }
  }
  const pushed = (session: string, isError: boolean, call: string) =>
    r.unit((unit) =>
      events.appendLocked(unit.db, { workspaceId: r.workspace.id, sessionId: session }, [
        { kind: 'tool_end', call, tool: 'git_push', text: '', chars: 0, isError },
      ]),
    )

  const nothing = await begin()
  await pushed(nothing.session, true, 'a')
  const ended = await end(nothing.task, nothing.session, { branch: 'agent/x/mend' })
  assert.deepEqual([ended.state, ended.reason, ended.session], ['ended', 'done', nothing.session])

  const branch = await begin()
  await pushed(branch.session, false, 'a')
  const proposed = await end(branch.task, branch.session, { branch: 'agent/x/mend' })
  assert.deepEqual([proposed.state, proposed.branch, proposed.pullRequest], ['proposed', 'agent/x/mend', ''])
  const url = 'https://git.example.com/acme/shop/pull/9'
  const later = await end(branch.task, branch.session, { branch: 'agent/x/mend', pullRequest: url })
  assert.deepEqual([later.state, later.pullRequest], ['proposed', url])

  const pull = await begin()
  assert.equal((await end(pull.task, pull.session, { pullRequest: url })).state, 'proposed')
})
