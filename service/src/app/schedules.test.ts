import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError } from '../domain/errors.ts'
import * as variables from '../store/schedule-variables.ts'
import type { Context } from './context.ts'
import { createEnvironment } from './environments.ts'
import type { ScheduleInput } from './schedules.ts'
import {
  createSchedule,
  createScheduleSlugs,
  deleteSchedule,
  getSchedule,
  getScheduleSummary,
  listAllScheduleNames,
  listSchedules,
  nextFireTimes,
  suspendSchedule,
  updateSchedule,
} from './schedules.ts'
import { triggerRun } from './trigger-run.ts'

const GOOD = { name: 'Daily', schedule: '0 6 * * *', environment: 'production', commands: ['dbt build'] }
const ALL = { offset: 0, limit: 100, inactive: 'exclude', suspended: null } as const

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof AppError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, words)
    return true
  })
}

async function ready(t: TestApp, name?: string): Promise<{ workspace: WorkspaceRef; ctx: Context }> {
  const workspace = await t.workspace(name)
  const ctx = t.inside(workspace)
  await createEnvironment(ctx, { displayName: 'Production', defaultBranch: 'trunk' })
  return { workspace, ctx }
}

const create = (ctx: Context, input: Partial<ScheduleInput> = {}) => createSchedule(ctx, { ...GOOD, ...input })

/** As if the scheduler had not come round for a while. */
const makeDue = async (t: TestApp, slug: string, at: string): Promise<void> => {
  await sql`update schedule set next_due_at = ${at} where slug = ${slug}`.execute(t.app.db)
}

test('a new schedule is what was said, with everything else at its default', async () => {
  await using t = await testApp()
  const { workspace, ctx } = await ready(t)
  const { slug, name, warnings } = await create(ctx)
  assert.match(slug, /^daily-[0-9a-f]{6}$/)
  assert.deepEqual([name, warnings], ['Daily', []])
  const schedule = await getSchedule(ctx, { slug })
  assert.deepEqual(
    {
      ...schedule,
      id: 0,
      uuid: '',
      nextDueAt: schedule.nextDueAt?.slice(11),
      createdAt: '',
      updatedAt: '',
      environmentId: 0,
    },
    {
      id: 0,
      uuid: '',
      workspaceId: workspace.id,
      slug,
      environmentId: 0,
      environment: 'production',
      name: 'Daily',
      cron: '0 6 * * *',
      timezone: 'UTC',
      description: '',
      ownerEmail: '',
      ownerIsKnown: true,
      suspended: false,
      commands: [{ command: 'dbt build', continueOnError: null }],
      ownBranch: null,
      gitBranch: 'trunk',
      continueOnError: false,
      slaSeconds: null,
      timeLimitSeconds: null,
      triggerOnMerge: false,
      notifications: { slack: [], email: [], teams: [] },
      selfHealing: null,
      integrations: null,
      turboCi: null,
      deferredSchedule: null,
      scheduleTrigger: null,
      labels: [],
      overlap: 'queue_one',
      catchUp: 'latest',
      catchUpWindowSeconds: 3600,
      source: 'ui',
      sourceFile: null,
      templateNames: new Map(),
      active: true,
      envVarNames: [],
      nextDueAt: '06:00:00.000000',
      createdAt: '',
      updatedAt: '',
      latestRunId: null,
      lastRunState: null,
      lastRunAt: null,
      warnings: [],
    },
  )
  assert.match(schedule.uuid, /^[0-9a-f-]{36}$/)
  const [record] = await t.records('schedule_created')
  assert.deepEqual([record?.data.slug, record?.eventId, record?.eventSourceId], [slug, 70, 8])
})

test('what it names must be there: environment, deferred schedule, parent and its workspace', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const other = await ready(t, 'Other')
  const { slug } = await create(ctx)
  await refused(create(ctx, { environment: 'nowhere' }), 'INVALID_INPUT', /^environment: .*"nowhere".*production/)
  for (const field of ['turboCi', 'deferredSchedule'] as const) {
    const words = new RegExp(`^${field}\\.deferredScheduleSlug: .*"nowhere".*${slug}`)
    await refused(create(ctx, { [field]: { enabled: true, deferredScheduleSlug: 'nowhere' } }), 'INVALID_INPUT', words)
  }
  const after = (scheduleName: string, workspaceName?: string) => ({
    scheduleTrigger: { enabled: true, scheduleName, workspaceName, triggerOn: ['passed'] },
  })
  await refused(create(ctx, after('nowhere')), 'INVALID_INPUT', /^scheduleTrigger\.scheduleName: .*such as daily-/)
  await refused(create(ctx, after('Daily', 'Nowhere')), 'INVALID_INPUT', /^scheduleTrigger\.workspaceName: .*"Other"/)
  await refused(create(ctx, after(slug, 'Other')), 'INVALID_INPUT', /^scheduleTrigger\.scheduleName:/)
  await refused(create(ctx, { name: 'Me', ...after('Me') }), 'INVALID_INPUT', /cannot wait for itself/)
  const parent = await create(other.ctx, { name: 'Parent' })
  const child = await create(ctx, { name: 'Child', ...after('Parent', 'other') })
  const { scheduleTrigger } = await getSchedule(ctx, child)
  assert.equal(scheduleTrigger?.parentId, (await getSchedule(other.ctx, parent)).id)
  const deferring = await create(ctx, { deferredSchedule: { enabled: true, deferredScheduleName: slug } })
  assert.deepEqual((await getSchedule(ctx, deferring)).deferredSchedule, {
    enabled: true,
    slug,
    successfulRunOnly: true,
  })
  await refused(create(ctx, after('Daily')), 'INVALID_INPUT', /2 schedules are called "Daily"\. Give the slug/)
  await create(ctx, { turboCi: { enabled: false, deferredScheduleSlug: 'long gone' } })
})

test('schedules that would wait for each other are refused, also over three and over workspaces', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const other = await ready(t, 'Other')
  const on = (scheduleName: string, workspaceName?: string) => ({
    scheduleTrigger: { enabled: true, scheduleName, workspaceName },
  })
  const first = await create(ctx, { name: 'First' })
  const second = await create(other.ctx, { name: 'Second', ...on('First', (ctx.workspace as WorkspaceRef).name) })
  const third = await create(ctx, { name: 'Third', ...on(second.slug, 'Other') })
  await refused(
    updateSchedule(ctx, { slug: first.slug, schedule: on('Third') }),
    'INVALID_INPUT',
    /^scheduleTrigger\.scheduleName: "Third" itself waits for this schedule/,
  )
  await refused(updateSchedule(ctx, { slug: first.slug, schedule: on('First') }), 'INVALID_INPUT', /wait for itself/)
  await updateSchedule(ctx, {
    slug: third.slug,
    schedule: { scheduleTrigger: { enabled: false, scheduleName: second.slug, workspaceName: 'Other' } },
  })
  await updateSchedule(ctx, { slug: first.slug, schedule: on('Third') })
})

test('two schedules that become each other’s parent at once: one of them is refused', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const [a, b] = [await create(ctx, { name: 'A' }), await create(ctx, { name: 'B' })]
  const ends = await Promise.allSettled([
    updateSchedule(ctx, { slug: a.slug, schedule: { scheduleTrigger: { enabled: true, scheduleName: 'B' } } }),
    updateSchedule(ctx, { slug: b.slug, schedule: { scheduleTrigger: { enabled: true, scheduleName: 'A' } } }),
  ])
  assert.deepEqual(ends.map((end) => end.status).toSorted(), ['fulfilled', 'rejected'])
})

test('the owner is who was given, else the person, else the maker of the key; a stranger is a warning', async () => {
  await using t = await testApp()
  const { workspace, ctx } = await ready(t)
  const ana = await t.member(workspace, 'ADMIN', { email: 'ana@example.com' })
  const asAna = await t.contextOf(ana, workspace)
  const owner = async (slug: string) => {
    const { ownerEmail, warnings } = await getSchedule(ctx, { slug })
    return [ownerEmail, warnings.length]
  }
  assert.deepEqual(await owner((await create(asAna)).slug), ['ana@example.com', 0])
  const key = {
    id: 1,
    kind: 'account' as const,
    name: 'k',
    client: null,
    capabilities: ['bolt:schedules:admin'] as const,
    workspaceId: null,
    makerId: ana.id,
    makerEmail: 'ana@example.com',
  }
  const asKey: Context = { ...ctx, actor: { kind: 'key', key } }
  assert.deepEqual(await owner((await create(asKey)).slug), ['ana@example.com', 0])
  assert.deepEqual(await owner((await create(ctx)).slug), ['', 0])
  const stranger = await create(asAna, { ownerEmail: 'Nobody@example.com' })
  assert.match(stranger.warnings[0]!, /^ownerEmail: Nobody@example\.com is no user of this workspace/)
  assert.deepEqual(await owner(stranger.slug), ['Nobody@example.com', 1])
  assert.deepEqual(await owner((await create(asKey, { ownerEmail: 'ANA@example.com' })).slug), ['ANA@example.com', 0])
})

test('lists are by name then id, cut into pages, with all that match counted', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  for (const name of ['b', 'a', 'c', 'a']) await create(ctx, { name })
  const { schedules, totalCount } = await listSchedules(ctx, { ...ALL, offset: 1, limit: 2 })
  assert.deepEqual(
    schedules.map((one) => one.name),
    ['a', 'b'],
  )
  assert.equal(totalCount, 4)
  const [first, second] = (await listSchedules(ctx, ALL)).schedules
  assert.ok(first!.id < second!.id)
  await suspendSchedule(ctx, { slug: first!.slug, suspend: true })
  await deleteSchedule(ctx, { slug: second!.slug })
  const names = async (filter: object) => {
    const listed = await listSchedules(ctx, { ...ALL, ...filter })
    assert.equal(listed.totalCount, listed.schedules.length)
    return listed.schedules.map((one) => `${one.name}${one.active ? '' : ' gone'}${one.suspended ? ' suspended' : ''}`)
  }
  assert.deepEqual(await names({}), ['a suspended', 'b', 'c'])
  assert.deepEqual(await names({ suspended: true }), ['a suspended'])
  assert.deepEqual(await names({ suspended: false }), ['b', 'c'])
  assert.deepEqual(await names({ inactive: 'include' }), ['a suspended', 'a gone', 'b', 'c'])
  assert.deepEqual(await names({ inactive: 'only' }), ['a gone'])
  for (const limit of [0, -1, 10_001]) {
    await refused(listSchedules(ctx, { ...ALL, limit }), 'INVALID_INPUT', /^limit: from 1 to 10000/)
  }
  await refused(listSchedules(ctx, { ...ALL, offset: -1 }), 'INVALID_INPUT', /^offset: 0 or more/)
})

test('names of all workspaces are those that the caller sees, suspended ones among them', async () => {
  await using t = await testApp()
  const here = await ready(t, 'Here')
  const there = await ready(t, 'There')
  await create(here.ctx, { name: 'One', suspended: true })
  await create(there.ctx, { name: 'Two' })
  const { slug } = await create(there.ctx, { name: 'Gone' })
  await deleteSchedule(there.ctx, { slug })
  const seen = async (visible: Context['visible']) =>
    (await listAllScheduleNames({ ...here.ctx, workspace: null, visible })).map((one) => [one.name, one.workspaceName])
  assert.deepEqual(await seen('all'), [
    ['One', 'Here'],
    ['Two', 'There'],
  ])
  assert.deepEqual(await seen([there.workspace.id]), [['Two', 'There']])
  assert.deepEqual(await seen([]), [])
})

test('exactly one of slug and scheduleName says which schedule', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx)
  assert.equal((await getScheduleSummary(ctx, { scheduleName: slug, slug: null })).slug, slug)
  const one = /exactly one of slug and scheduleName/
  await refused(getScheduleSummary(ctx, {}), 'INVALID_INPUT', one)
  await refused(getScheduleSummary(ctx, { slug, scheduleName: slug }), 'INVALID_INPUT', one)
  await refused(deleteSchedule(ctx, { slug: null, scheduleName: null }), 'INVALID_INPUT', one)
  const other = await ready(t, 'Other')
  for (const work of [
    () => getScheduleSummary(other.ctx, { slug }),
    () => getScheduleSummary(other.ctx, { slug: 'unknown' }),
    () => deleteSchedule(other.ctx, { slug }),
    () => suspendSchedule(other.ctx, { slug, suspend: true }),
    () => updateSchedule(other.ctx, { slug, schedule: {} }),
  ]) {
    await refused(work(), 'NOT_FOUND', /^No schedule ".*" in this workspace/)
  }
})

test('the latest run is never a skipped one', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx)
  const { runId } = await triggerRun(ctx, { slug })
  await sql`insert into run (workspace_id, schedule_id, environment_id, cause, due_at, state, actor, branch, ended_at)
    select workspace_id, id, environment_id, 'cron', '2026-01-01', 'skipped', 'schedule', 'b', '2026-01-01' from schedule
    where slug = ${slug}`.execute(t.app.db)
  const summary = await getScheduleSummary(ctx, { slug })
  assert.deepEqual([summary.latestRunId, summary.lastRunState], [runId, 'waiting'])
  assert.match(summary.lastRunAt!, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
})

test('an update changes what is given and nothing else', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx, {
    gitBranch: 'dev',
    envVars: [{ key: 'A', value: 'alpha-value' }],
    slaSeconds: 60,
  })
  const old = await getSchedule(ctx, { slug })
  await updateSchedule(ctx, { slug, schedule: { description: 'New', commands: ['dbt run', 'dbt test'] } })
  const changed = await getSchedule(ctx, { slug })
  assert.deepEqual(changed, {
    ...old,
    description: 'New',
    commands: ['dbt run', 'dbt test'].map((command) => ({ command, continueOnError: null })),
    updatedAt: changed.updatedAt,
  })
  const place = { workspaceId: old.workspaceId, scheduleId: old.id }
  assert.deepEqual(await variables.openAll(ctx.db, ctx.vault, place), [{ key: 'A', value: 'alpha-value' }])
  await updateSchedule(ctx, { slug, schedule: { gitBranch: '', slaSeconds: 0, envVars: [], name: 'Renamed' } })
  const cleared = await getSchedule(ctx, { slug })
  assert.deepEqual(
    [cleared.gitBranch, cleared.slaSeconds, cleared.envVarNames, cleared.name, cleared.slug, cleared.uuid],
    ['trunk', null, [], 'Renamed', slug, old.uuid],
  )
  await refused(updateSchedule(ctx, { slug, schedule: { commands: [] } }), 'INVALID_INPUT', /^commands:/)
  const records = await t.records('schedule_updated')
  assert.deepEqual(records[0]?.data.fields, ['commands', 'description'])
  assert.ok(!JSON.stringify(records).includes('alpha-value'))
})

test('values of variables are sealed, and bound to their schedule', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx, { envVars: [{ key: 'TOKEN', value: 'a-canary-value' }] })
  const other = await create(ctx)
  assert.deepEqual((await getSchedule(ctx, { slug })).envVarNames, ['TOKEN'])
  const { rows } = await sql<{ sealed: Buffer }>`select sealed from schedule_variable`.execute(t.app.db)
  assert.ok(!rows[0]!.sealed.includes('a-canary-value'))
  const { id, workspaceId } = await getSchedule(ctx, other)
  await sql`update schedule_variable set schedule_id = ${id}`.execute(t.app.db)
  await assert.rejects(variables.openAll(ctx.db, ctx.vault, { workspaceId, scheduleId: id }))
})

test('a new cron, zone or policy and a resumption begin with now: what lay before is recorded, not fired', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx, { schedule: '* * * * *' })
  const skips = async () => {
    const { rows } = await sql<{ detail: string; future: boolean }>`select r.detail, s.next_due_at > now() as future
      from schedule s left join run r on r.schedule_id = s.id and r.state = 'skipped'
      where s.slug = ${slug} order by r.id`.execute(t.app.db)
    return rows
  }
  for (const change of [
    { schedule: '*/2 * * * *' },
    { timezone: 'Asia/Tokyo' },
    { overlap: 'skip' },
    { catchUp: 'all' },
    { catchUpWindowSeconds: 60 },
  ]) {
    await sql`delete from run`.execute(t.database.owner.kysely)
    await makeDue(t, slug, '2026-01-01T00:00Z')
    await updateSchedule(ctx, { slug, schedule: change })
    const [row, ...more] = await skips()
    assert.match(row!.detail, /^\d+ times from 2026-01-01 00:00 to .* The schedule was changed/, JSON.stringify(change))
    assert.ok(row!.future && more.length === 0)
  }
  await makeDue(t, slug, '2026-01-01T00:00Z')
  await updateSchedule(ctx, { slug, schedule: { description: 'Nothing of its times' } })
  assert.equal((await getSchedule(ctx, { slug })).nextDueAt, '2026-01-01 00:00:00.000000')

  await sql`delete from run`.execute(t.database.owner.kysely)
  await suspendSchedule(ctx, { slug, suspend: true })
  assert.match((await skips())[0]!.detail, /The schedule was suspended/)
  assert.equal((await getSchedule(ctx, { slug })).nextDueAt, null)
  await suspendSchedule(ctx, { slug, suspend: true })
  await suspendSchedule(ctx, { slug, suspend: false })
  const after = await skips()
  assert.ok(after.length === 1 && after[0]!.future)
  assert.equal((await t.records('schedule_suspended')).length, 1)
  assert.equal((await t.records('schedule_resumed')).length, 1)
  await updateSchedule(ctx, { slug, schedule: { schedule: 'off' } })
  const off = await getSchedule(ctx, { slug })
  assert.deepEqual([off.cron, off.nextDueAt], ['OFF', null])
})

test('what stands in a file is neither suspended, changed nor deleted here, and the file is named', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx)
  await sql`update schedule set source = 'yaml', source_file = '.bolt/daily.yml'`.execute(t.app.db)
  const words = /\.bolt\/daily\.yml/
  await refused(suspendSchedule(ctx, { slug, suspend: true }), 'CONFLICT', words)
  await refused(suspendSchedule(ctx, { slug, suspend: false }), 'CONFLICT', words)
  await refused(deleteSchedule(ctx, { slug }), 'CONFLICT', words)
  await refused(updateSchedule(ctx, { slug, schedule: {} }), 'CONFLICT', words)
})

test('a schedule that others need is not deleted, and they are named', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const other = await ready(t, 'Other')
  const { slug } = await create(ctx, { name: 'Base' })
  const deferring = await create(ctx, { name: 'Deferring', turboCi: { enabled: true, deferredScheduleSlug: slug } })
  const own = (ctx.workspace as WorkspaceRef).name
  const child = await create(other.ctx, {
    name: 'Child',
    scheduleTrigger: { enabled: true, scheduleName: slug, workspaceName: own },
  })
  await refused(
    deleteSchedule(ctx, { slug }),
    'CONFLICT',
    /"Child" of the workspace Other \(waits for it\), "Deferring" \(defers to it\)/,
  )
  const narrow = { ...ctx, visible: [(ctx.workspace as WorkspaceRef).id] }
  await refused(deleteSchedule(narrow, { slug }), 'CONFLICT', /"Deferring".*1 of workspaces that you do not see/)
  await deleteSchedule(other.ctx, child)
  await updateSchedule(ctx, { slug: deferring.slug, schedule: { turboCi: { enabled: false } } })
  await updateSchedule(ctx, { slug, schedule: { deferredSchedule: { enabled: true, deferredScheduleSlug: slug } } })
  await deleteSchedule(ctx, { slug })
  await refused(deleteSchedule(ctx, { slug }), 'NOT_FOUND', /No schedule/)
  await refused(triggerRun(ctx, { slug }), 'NOT_FOUND', /No schedule/)
  assert.equal((await getSchedule(ctx, { slug })).active, false)
})

test('deleting cancels what waits and lets a going run end', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const { slug } = await create(ctx)
  const [going, waiting] = [await triggerRun(ctx, { slug }), await triggerRun(ctx, { slug })]
  await sql`update run set state = 'running', attempt = 1, worker_id = 'w', lease_until = now() + interval '1 minute'
    where id = ${going.runId}`.execute(t.app.db)
  await deleteSchedule(ctx, { slug })
  const { rows } = await sql<{ id: number; state: string }>`select id, state from run order by id`.execute(t.app.db)
  assert.deepEqual(rows, [
    { id: going.runId, state: 'running' },
    { id: waiting.runId, state: 'canceled' },
  ])
})

test('slugs are given in the order asked, and nothing is reserved', async () => {
  await using t = await testApp()
  const { ctx } = await ready(t)
  const slugs = await createScheduleSlugs(ctx, { displayNames: ['B', 'A', 'A', 'ночь'] })
  assert.deepEqual(
    slugs.map((slug) => slug.slice(0, -7)),
    ['b', 'a', 'a', 'schedule'],
  )
  assert.equal(new Set(slugs).size, 4)
  await refused(createScheduleSlugs(ctx, { displayNames: ['A', ''] }), 'INVALID_INPUT', /^displayNames\[1\]: must not/)
  assert.equal((await listSchedules(ctx, ALL)).totalCount, 0)
})

test('next times are told for any expression and zone', async () => {
  await using t = await testApp()
  const times = await nextFireTimes(t.system, { schedule: '30 6 * * *', timezone: 'Asia/Kolkata', count: 20 })
  assert.equal(times.length, 20)
  assert.ok(times.every((at) => at.toISOString().endsWith('T01:00:00.000Z')))
  assert.deepEqual(await nextFireTimes(t.system, { schedule: 'off' }), [])
  assert.equal((await nextFireTimes(t.system, { schedule: '@daily' })).length, 5)
  for (const count of [0, 21]) {
    await refused(nextFireTimes(t.system, { schedule: '@daily', count }), 'INVALID_INPUT', /^count: from 1 to 20/)
  }
  await refused(nextFireTimes(t.system, { schedule: 'x' }), 'INVALID_INPUT', /^schedule:/)
})
