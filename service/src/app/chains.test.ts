import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { inUnit } from '../../test/support/deliveries.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import type { RunOutcome } from '../domain/run.ts'
import type { NotificationEvent } from '../domain/schedule.ts'
import { deadlines, runEvents } from '../engine/run-events.ts'
import type { RunRow } from '../store/runs.ts'
import * as runs from '../store/runs.ts'
import { chainHandler } from './chains.ts'
import { createEnvironment } from './environments.ts'
import { cancelRun, finishRun } from './runs.ts'
import { createSchedule, deleteSchedule, suspendSchedule, updateSchedule } from './schedules.ts'
import { triggerRun } from './trigger-run.ts'
import { setAccountFeature } from './workspaces.ts'

let t: TestApp
let [here, there]: [WorkspaceRef, WorkspaceRef] = [null!, null!]
before(async () => {
  t = await testApp({ poolSize: 10 })
  here = await t.workspace('Here')
  there = await t.workspace('There')
  for (const workspace of [here, there]) {
    await createEnvironment(t.inside(workspace), { displayName: 'production', defaultBranch: 'trunk' })
  }
})
after(() => t.close())

let made = 0

const parentIn = async (workspace: WorkspaceRef, slaSeconds?: number): Promise<string> => {
  const fields = { name: `Parent ${++made}`, schedule: 'OFF', environment: 'production', commands: ['true'] }
  return (await createSchedule(t.inside(workspace), { ...fields, ...(slaSeconds !== undefined && { slaSeconds }) }))
    .slug
}

interface ChildOptions {
  readonly on?: readonly NotificationEvent[]
  readonly parentIn?: WorkspaceRef
  readonly gitBranch?: string
}

const childOf = async (parent: string, workspace: WorkspaceRef, options: ChildOptions = {}): Promise<string> => {
  const { slug } = await createSchedule(t.inside(workspace), {
    name: `Child ${++made}`,
    schedule: 'OFF',
    environment: 'production',
    commands: ['dbt build', 'echo done'],
    ...(options.gitBranch !== undefined && { gitBranch: options.gitBranch }),
    scheduleTrigger: {
      enabled: true,
      scheduleName: parent,
      ...(options.parentIn !== undefined && { workspaceName: options.parentIn.name }),
      ...(options.on !== undefined && { triggerOn: options.on }),
    },
  })
  return slug
}

const events = () => runEvents(t.app, [chainHandler(t.app)])

async function runsOf(workspace: WorkspaceRef, slug: string): Promise<RunRow[]> {
  const scheduleId = await runs.findScheduleId(t.app.db, workspace.id, slug)
  return await runs.list(t.app.db, { workspaceId: workspace.id, scheduleId }, { offset: 0, limit: 100 })
}

/** A run of the parent that ends so; its children's runs are not made yet. */
async function ended(workspace: WorkspaceRef, slug: string, outcome: RunOutcome, prNumber?: number): Promise<number> {
  const { runId } = await triggerRun(t.inside(workspace), { slug, branch: 'feature', prNumber: prNumber ?? null })
  await inUnit(t, (unit) => finishRun(unit, runId, 0, outcome))
  return runId
}

test('a child runs after its parent passed, in its own workspace and with its own words', async () => {
  const parent = await parentIn(here)
  const child = await childOf(parent, there, { parentIn: here })
  const near = await childOf(parent, here, { gitBranch: 'release' })
  const parentRun = await ended(here, parent, { kind: 'succeeded' })
  await events().runOnce()
  await events().runOnce()
  for (const [workspace, slug, branch] of [
    [there, child, 'trunk'],
    [here, near, 'release'],
  ] as const) {
    const found = await runsOf(workspace, slug)
    assert.deepEqual(
      found.map((run) => [run.parentRunId, run.actor, run.cause, run.branch, run.state, run.prNumber]),
      [[parentRun, 'parent schedule', 'parent', branch, 'waiting', null]],
    )
  }
  const records = (await t.records('run_triggered')).filter((one) => one.data.parent_run === parentRun)
  assert.deepEqual(records.map((one) => one.workspaceName).sort(), ['Here', 'There'])
})

const OUTCOMES: readonly [RunOutcome, NotificationEvent | null][] = [
  [{ kind: 'succeeded' }, 'passed'],
  [{ kind: 'errored' }, 'failed'],
  [{ kind: 'failed', detail: 'its worker was lost' }, 'failed'],
  [{ kind: 'canceled' }, null],
]

test('each child follows the outcomes that it named, and no other', async () => {
  const parent = await parentIn(here, 60)
  const children = {
    passed: await childOf(parent, here, { on: ['passed'] }),
    failed: await childOf(parent, here, { on: ['failed'] }),
    sla: await childOf(parent, there, { on: ['sla'], parentIn: here }),
    both: await childOf(parent, there, { on: ['passed', 'failed'], parentIn: here }),
  }
  const counts = async () => ({
    passed: (await runsOf(here, children.passed)).length,
    failed: (await runsOf(here, children.failed)).length,
    sla: (await runsOf(there, children.sla)).length,
    both: (await runsOf(there, children.both)).length,
  })
  const expected = { passed: 0, failed: 0, sla: 0, both: 0 }
  for (const [outcome, event] of OUTCOMES) {
    await ended(here, parent, outcome)
    await events().runOnce()
    if (event === 'passed' || event === 'failed') {
      expected[event]++
      expected.both++
    }
    assert.deepEqual(await counts(), expected, outcome.kind)
  }
  const { runId } = await triggerRun(t.inside(here), { slug: parent })
  await deadlines(t.app, () => new Date(Date.now() + 61_000)).runOnce()
  await events().runOnce()
  expected.sla++
  assert.deepEqual(await counts(), expected, 'late')
  assert.equal((await runsOf(there, children.sla))[0]!.parentRunId, runId)
  await cancelRun(t.inside(here), { runId })
  await events().runOnce()
  assert.deepEqual(await counts(), expected, 'late, then canceled')
})

test('without being told when, a child follows what passed', async () => {
  const parent = await parentIn(here)
  const child = await childOf(parent, here)
  await ended(here, parent, { kind: 'errored' })
  await ended(here, parent, { kind: 'succeeded' })
  await events().runOnce()
  assert.equal((await runsOf(here, child)).length, 1)
})

test('a suspended, deleted or freed child does not follow, nor one whose parent ran for a pull request', async () => {
  const parent = await parentIn(here)
  const [suspended, deleted, freed, good] = [
    await childOf(parent, here),
    await childOf(parent, here),
    await childOf(parent, here),
    await childOf(parent, here),
  ]
  await suspendSchedule(t.inside(here), { slug: suspended, suspend: true })
  await deleteSchedule(t.inside(here), { slug: deleted })
  await updateSchedule(t.inside(here), { slug: freed, schedule: { scheduleTrigger: { enabled: false } } })
  await ended(here, parent, { kind: 'succeeded' })
  await ended(here, parent, { kind: 'succeeded' }, 7)
  await events().runOnce()
  const counts = await Promise.all(
    [suspended, deleted, freed, good].map(async (one) => (await runsOf(here, one)).length),
  )
  assert.deepEqual(counts, [0, 0, 0, 1])
})

test('while scheduling is switched off for the account nothing follows', async () => {
  const parent = await parentIn(here)
  const child = await childOf(parent, here)
  await ended(here, parent, { kind: 'succeeded' })
  await setAccountFeature(t.system, { feature: 'scheduling', enabled: false })
  await events().runOnce()
  await setAccountFeature(t.system, { feature: 'scheduling', enabled: true })
  await events().runOnce()
  assert.equal((await runsOf(here, child)).length, 0)
})

test('a service that dies between the end of the parent and the start of the child: the child runs once', async () => {
  const parent = await parentIn(here)
  const child = await childOf(parent, there, { parentIn: here })
  const parentRun = await ended(here, parent, { kind: 'succeeded' })
  // The event is written and nobody has handled it. One handler dies after its work and before the commit.
  const dying = runEvents(t.app, [
    chainHandler(t.app),
    {
      name: 'dying',
      handle: async (unit) => {
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(unit.db)
      },
    },
  ])
  await assert.rejects(dying.runOnce())
  assert.equal((await runsOf(there, child)).length, 0)
  // Then two come up at the same moment.
  await Promise.all([events().runOnce(), events().runOnce(), events().runOnce()])
  assert.deepEqual(
    (await runsOf(there, child)).map((run) => run.parentRunId),
    [parentRun],
  )
})

test('a child that is still going gets its further run in line', async () => {
  const parent = await parentIn(here)
  const child = await childOf(parent, here)
  for (let count = 0; count < 3; count++) await ended(here, parent, { kind: 'succeeded' })
  await events().runOnce()
  const found = await runsOf(here, child)
  assert.deepEqual([found.length, found.filter((run) => run.releasedAt !== null).length], [3, 1])
})
