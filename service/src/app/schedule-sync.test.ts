import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { type TestRepository, testRepository } from '../../test/support/repository.ts'
import { gitSource } from '../adapters/source/git.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError } from '../domain/errors.ts'
import { findingLine } from '../domain/schedule-file.ts'
import { writeScheduleFile } from '../domain/schedule-file-write.ts'
import { syncAll } from '../engine/schedule-sync.ts'
import type { FileSource } from '../ports/source.ts'
import { inTransaction } from '../store/database.ts'
import * as references from '../store/schedule-references.ts'
import * as variables from '../store/schedule-variables.ts'
import { createEnvironment, updateEnvironment } from './environments.ts'
import { exportSchedules } from './schedule-export.ts'
import type { SyncOptions } from './schedule-sync.ts'
import { getScheduleFiles, planScheduleFiles, requestScheduleSync, syncScheduleFiles } from './schedule-sync.ts'
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  suspendSchedule,
  updateSchedule,
} from './schedules.ts'
import { triggerRun } from './trigger-run.ts'

const entry = (name: string, more = '', schedule = 'OFF'): string =>
  `  - name: ${name}\n    schedule: "${schedule}"\n    environment: production\n    commands: [dbt build]\n${more.replace(/^(?=.)/gm, '    ')}`
const file = (...entries: string[]): string => `schedules:\n${entries.join('\n')}`

interface Fixture extends AsyncDisposable {
  readonly t: TestApp
  readonly workspace: WorkspaceRef
  readonly repository: TestRepository
  readonly options: SyncOptions
  /** What a sync did, in short. */
  sync(more?: Partial<SyncOptions>): Promise<Record<string, unknown>>
  active(): Promise<string[]>
  lines(): Promise<string[]>
}

async function fixture(files: Readonly<Record<string, string>>): Promise<Fixture> {
  const t = await testApp()
  const repository = await testRepository(files)
  const workspace = await t.workspace('Here')
  const context = t.inside(workspace)
  await createEnvironment(context, { displayName: 'production', repositoryUrl: repository.folder })
  const options: SyncOptions = {
    source: gitSource({
      folder: join(repository.folder, '.git', 'mirrors'),
      path: process.env.PATH ?? '',
      now: Date.now,
    }),
    names: { folders: ['.bolt'], files: ['paradime_schedules.yml'] },
    mayBeMs: 0,
    patienceMs: 20_000,
    signal: new AbortController().signal,
  }
  return {
    t,
    workspace,
    repository,
    options,
    sync: async (more = {}) => {
      const outcome = await syncScheduleFiles(context, { ...options, ...more })
      if (outcome.kind !== 'synced') return outcome
      const { created, restored, changed, removed, unchanged } = outcome.changes
      return {
        created: created.map((one) => one.wanted.slug),
        restored: restored.map((one) => one.wanted.slug),
        changed: changed.map((one) => `${one.wanted.slug}: ${one.fields.join(' ')}`),
        removed: removed.map((one) => one.slug),
        unchanged,
      }
    },
    active: async () => {
      const filter = { inactive: 'exclude', suspended: null, offset: 0, limit: 10_000 } as const
      return (await listSchedules(context, filter)).schedules.map((one) => one.slug)
    },
    lines: async () => ((await getScheduleFiles(context))?.findings ?? []).map(findingLine),
    [Symbol.asyncDispose]: async () => {
      await repository[Symbol.asyncDispose]()
      await t.close()
    },
  }
}

const nothing = { created: [], restored: [], changed: [], removed: [] }

test('schedules of files come, change, go and come back as the same ones, with their history', async () => {
  await using f = await fixture({
    '.bolt/team/daily.yml': file(entry('one', 'env_overrides: {TARGET: prod-secret}\n', '0 3 * * *')),
    'paradime_schedules.yml': file(entry('two')),
  })
  assert.deepEqual(await f.sync(), { ...nothing, created: ['one', 'two'], unchanged: 0 })
  const context = f.t.inside(f.workspace)
  const one = await getSchedule(context, { slug: 'one' })
  assert.deepEqual([one.source, one.sourceFile, one.envVarNames], ['yaml', '.bolt/team/daily.yml', ['TARGET']])
  assert.ok(one.nextDueAt !== null)
  const { runId } = await triggerRun(context, { slug: 'one' })
  const opened = await variables.openAll(f.t.app.db, f.t.app.vault, { workspaceId: f.workspace.id, scheduleId: one.id })
  assert.deepEqual(opened, [{ key: 'TARGET', value: 'prod-secret' }])

  await f.repository.commit({ '.bolt/team/daily.yml': file(entry('one', 'sla_minutes: 5\n', '0 4 * * *')) })
  assert.deepEqual(await f.sync(), { ...nothing, changed: ['one: cron slaSeconds envVars'], unchanged: 1 })
  assert.deepEqual((await getSchedule(context, { slug: 'one' })).envVarNames, [])

  await f.repository.commit({ '.bolt/team/daily.yml': null })
  assert.deepEqual(await f.sync(), { ...nothing, removed: ['one'], unchanged: 1 })
  const gone = await getSchedule(context, { slug: 'one' })
  assert.deepEqual([gone.active, gone.nextDueAt, gone.latestRunId], [false, null, runId])
  assert.deepEqual(await f.active(), ['two'])

  await f.repository.commit({ '.bolt/elsewhere.yaml': file(entry('one', '', '0 5 * * *')) })
  assert.deepEqual(await f.sync(), { ...nothing, restored: ['one'], unchanged: 1 })
  const back = await getSchedule(context, { slug: 'one' })
  assert.deepEqual(
    [back.uuid, back.active, back.sourceFile, back.latestRunId],
    [one.uuid, true, '.bolt/elsewhere.yaml', runId],
  )
  assert.ok(back.nextDueAt !== null)
  const events = (await f.t.records('schedule_files_synced')).map(({ data }) => [
    data.created,
    data.changed,
    data.removed,
  ])
  assert.deepEqual(events, [
    [['one', 'two'], [], []],
    [[], ['one'], []],
    [[], [], ['one']],
    [[], [], []],
  ])
})

test('the same commit is no work, until something was wrong with it', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  await f.sync()
  const before = await getScheduleFiles(f.t.inside(f.workspace))
  let asked = 0
  const counting: FileSource = {
    files: async (...args) => {
      asked++
      return await f.options.source.files(...args)
    },
  }
  assert.equal((await f.sync({ source: counting })).kind, 'unchanged')
  const after = await getScheduleFiles(f.t.inside(f.workspace))
  assert.deepEqual([asked, after?.syncedAt], [1, before?.syncedAt])
  assert.ok(after!.checkedAt > before!.checkedAt)

  await f.repository.commit({ '.bolt/a.yml': file(entry('one').replace('production', 'staging')) })
  await f.sync()
  assert.equal((await f.lines()).length, 1)
  await createEnvironment(f.t.inside(f.workspace), { displayName: 'staging', repositoryUrl: f.repository.folder })
  assert.deepEqual(await f.sync(), { ...nothing, changed: ['one: environmentId'], unchanged: 0 })
  assert.deepEqual(await f.lines(), [])
})

test('a broken file changes nothing of its schedules and names the line; the other files go on', async () => {
  await using f = await fixture({
    '.bolt/a.yml': file(entry('one'), entry('two')),
    '.bolt/b.yml': file(entry('three')),
  })
  await f.sync()
  await f.repository.commit({
    '.bolt/a.yml': file(entry('one', 'description: other\n'), entry('fresh', 'shedule: x\n')),
    '.bolt/b.yml': file(entry('three', 'description: other\n')),
  })
  assert.deepEqual(await f.sync(), { ...nothing, changed: ['three: description'], unchanged: 0 })
  assert.deepEqual(await f.active(), ['one', 'three', 'two'])
  assert.equal((await getSchedule(f.t.inside(f.workspace), { slug: 'one' })).description, '')
  assert.deepEqual(await f.lines(), [
    '.bolt/a.yml:12:5: schedules[1]: "shedule" is not a key here. Did you mean schedule?',
  ])
  const state = await getScheduleFiles(f.t.inside(f.workspace))
  assert.deepEqual(state?.files, [
    { path: '.bolt/a.yml', schedules: 2, ok: false },
    { path: '.bolt/b.yml', schedules: 1, ok: true },
  ])
  assert.equal(state?.commitHash, await f.repository.git('rev-parse', 'HEAD'))
})

test('schedules wait for and defer to each other over files, also when all of them are new', async () => {
  await using f = await fixture({
    '.bolt/a.yml': file(entry('child', 'run_after: {schedule: The parent}\n')),
    '.bolt/z.yml': file(
      entry('The parent', 'slug: parent\n'),
      entry('ci', 'turbo_ci: {enabled: true, deferred_schedule_name: child}\n'),
    ),
  })
  await f.sync()
  const context = f.t.inside(f.workspace)
  const parent = await getSchedule(context, { slug: 'parent' })
  const child = await getSchedule(context, { slug: 'child' })
  assert.equal(child.scheduleTrigger?.parentId, parent.id)
  assert.equal((await getSchedule(context, { slug: 'ci' })).turboCi?.slug, 'child')
  await f.repository.commit({ 'readme.md': 'x' })
  assert.deepEqual(await f.sync(), { ...nothing, unchanged: 3 })
  // A parent that is made for a child that is there already.
  await f.repository.commit({ '.bolt/a.yml': file(entry('child', 'run_after: {schedule: newer}\n'), entry('newer')) })
  assert.deepEqual(await f.sync(), {
    ...nothing,
    created: ['newer'],
    changed: ['child: scheduleTrigger'],
    unchanged: 2,
  })
  const newer = await getSchedule(context, { slug: 'newer' })
  assert.equal((await getSchedule(context, { slug: 'child' })).scheduleTrigger?.parentId, newer.id)
})

test('a child waits for a parent of another workspace, and a circle through it is refused', async () => {
  await using f = await fixture({
    '.bolt/a.yml': file(entry('child', 'run_after: {schedule: far, workspace: there}\n')),
  })
  const there = f.t.inside(await f.t.workspace('There'))
  await createEnvironment(there, { displayName: 'production', repositoryUrl: f.repository.folder })
  const far = await createSchedule(there, {
    name: 'far',
    schedule: 'OFF',
    environment: 'production',
    commands: ['true'],
  })
  await f.sync()
  const child = await getSchedule(f.t.inside(f.workspace), { slug: 'child' })
  assert.equal(child.scheduleTrigger?.parentId, (await getSchedule(there, { slug: far.slug })).id)
  await assert.rejects(deleteSchedule(there, { slug: far.slug }), /still needed by "child"/)
  await f.repository.commit({ '.bolt/a.yml': file(entry('child')) })
  await f.sync()
  await updateSchedule(there, {
    slug: far.slug,
    schedule: { scheduleTrigger: { enabled: true, scheduleName: 'child', workspaceName: 'Here' } },
  })
  await f.repository.commit({ '.bolt/a.yml': file(entry('child', 'run_after: {schedule: far, workspace: there}\n')) })
  await f.sync()
  assert.match((await f.lines())[0]!, /waits for "far", which waits for "child"/)
})

test('what comes from a file cannot be changed, suspended or deleted but there', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  await f.sync()
  const context = f.t.inside(f.workspace)
  const refused = { code: 'CONFLICT', message: /comes from the file \.bolt\/a\.yml/ }
  await assert.rejects(updateSchedule(context, { slug: 'one', schedule: { description: 'x' } }), refused)
  await assert.rejects(suspendSchedule(context, { slug: 'one', suspend: true }), refused)
  await assert.rejects(suspendSchedule(context, { slug: 'one', suspend: false }), refused)
  await assert.rejects(deleteSchedule(context, { slug: 'one' }), refused)
  assert.ok((await triggerRun(context, { slug: 'one' })).runId > 0)
  await f.repository.commit({ '.bolt/a.yml': file(entry('one', 'suspended: true\n', '0 3 * * *')) })
  await f.sync()
  assert.deepEqual((await getSchedule(context, { slug: 'one' })).nextDueAt, null)
})

test('the slug of a schedule that was made by hand is refused until that one is deleted, and then taken over', async () => {
  await using f = await fixture({ 'readme.md': '' })
  const context = f.t.inside(f.workspace)
  const made = await createSchedule(context, {
    name: 'By hand',
    schedule: 'OFF',
    environment: 'production',
    commands: ['true'],
  })
  const { uuid } = await getSchedule(context, { slug: made.slug })
  await f.repository.commit({ '.bolt/a.yml': file(entry('By hand', `slug: ${made.slug}\n`)) })
  assert.deepEqual(await f.sync(), { ...nothing, unchanged: 0 })
  assert.match((await f.lines())[0]!, /^\.bolt\/a\.yml:2:11: .*not made by a file\. Delete that one/)
  await deleteSchedule(context, { slug: made.slug })
  assert.deepEqual(await f.sync(), { ...nothing, restored: [made.slug], unchanged: 0 })
  const taken = await getSchedule(context, { slug: made.slug })
  assert.deepEqual([taken.uuid, taken.source, taken.active], [uuid, 'yaml', true])
})

test('a waiting run of a schedule that goes is canceled, and times that came are recorded', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one', '', '* * * * *')) })
  await f.sync()
  const context = f.t.inside(f.workspace)
  const { runId } = await triggerRun(context, { slug: 'one' })
  await sql`update schedule set next_due_at = date_trunc('minute', now()) - interval '3 minutes'`.execute(f.t.app.db)
  await f.repository.commit({ '.bolt/a.yml': 'schedules: []\n' })
  await f.sync()
  const { rows } = await sql<{ state: string; id: number }>`select id, state from run order by id`.execute(f.t.app.db)
  assert.deepEqual(rows.find((one) => one.id === runId)?.state, 'canceled')
  assert.ok(rows.filter((one) => one.state === 'skipped').length >= 4)
})

test('files are read from the deployment branch where there is one', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  await updateEnvironment(f.t.inside(f.workspace), 'production', { deploymentBranch: 'live' })
  assert.match(String((await f.sync()).warning), /could not be read: there is no branch, tag or commit "live"/)
  assert.match((await getScheduleFiles(f.t.inside(f.workspace)))!.warning, /no branch/)
  await f.repository.git('checkout', '--quiet', '-b', 'live')
  await f.repository.commit({ '.bolt/a.yml': file(entry('of-live')) })
  await f.repository.git('checkout', '--quiet', 'main')
  assert.deepEqual(await f.sync(), { ...nothing, created: ['of-live'], unchanged: 0 })
  assert.equal((await getScheduleFiles(f.t.inside(f.workspace)))!.warning, '')
})

test('two servers that sync at once come to one result', async () => {
  await using f = await fixture({
    '.bolt/a.yml': file(
      ...Array.from({ length: 20 }, (_, i) => entry(`s${i}`, i > 0 ? `run_after: {schedule: s${i - 1}}\n` : '')),
    ),
  })
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => f.sync()))
  assert.equal(outcomes.filter((one) => one.kind === 'unchanged').length, 3)
  assert.equal((await f.active()).length, 20)
  assert.equal((await f.t.records('schedule_files_synced')).length, 1)
})

test('a sync waits for whoever else adds references or syncs', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = inTransaction(f.t.app.db, async (tx) => {
    await references.lockReferences(tx)
    held.resolve()
    await release.promise
  })
  await held.promise
  let ended = false
  const running = f.sync().then((outcome) => {
    ended = true
    return outcome
  })
  const isWaited = async (): Promise<boolean> => {
    const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`.execute(f.t.app.db)
    return rows.length > 0
  }
  try {
    while (!(await isWaited())) assert.equal(ended, false, 'it did not wait')
    assert.deepEqual(await f.active(), [])
  } finally {
    release.resolve()
    await holder
  }
  assert.deepEqual(await running, { ...nothing, created: ['one'], unchanged: 0 })
})

test('a server that has seen the host earlier than another does not turn the schedules back', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('old')) })
  const before = await f.options.source.files(
    { workspaceUid: f.workspace.uid, url: f.repository.folder, credentials: {} },
    { reference: 'main', paths: ['.bolt'], accepts: () => true, mayBeMs: 0, patienceMs: 20_000 },
    f.options.signal,
  )
  await f.repository.commit({ '.bolt/a.yml': file(entry('new')) })
  await f.sync()
  assert.equal((await f.sync({ source: { files: async () => before } })).kind, 'unchanged')
  assert.deepEqual(await f.active(), ['new'])
})

test('a plan writes nothing', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  await f.sync()
  const changes = await planScheduleFiles(f.t.inside(f.workspace), [
    { path: '.bolt/a.yml', content: { text: file(entry('two')) } },
    { path: '.bolt/link.yml', content: { refused: 'is a symbolic link, which is not followed' } },
  ])
  assert.deepEqual(
    [changes.created.map((one) => one.wanted.slug), changes.removed.map((one) => one.slug)],
    [['two'], ['one']],
  )
  assert.match(findingLine(changes.plan.findings[0]!), /^\.bolt\/link\.yml: is a symbolic link/)
  assert.deepEqual(await f.active(), ['one'])
})

test('what was made by hand is exported to a file that, once it is deleted, brings back the same', async () => {
  await using f = await fixture({ 'readme.md': '' })
  const context = f.t.inside(f.workspace)
  const base = { schedule: 'OFF', environment: 'production', commands: ['true'] }
  const parent = await createSchedule(context, { ...base, name: 'The parent', gitBranch: 'live', labels: ['gpu'] })
  const child = await createSchedule(context, {
    ...base,
    name: 'The child: "quoted"',
    schedule: '30 2 * * *',
    timezone: 'Europe/Berlin',
    slaSeconds: 90,
    notifications: { slackNotifications: [{ channel: '#data', events: ['failed'] }] },
    scheduleTrigger: { enabled: true, scheduleName: 'The parent', triggerOn: ['failed'] },
    deferredSchedule: { enabled: true, deferredScheduleSlug: parent.slug },
    selfHealing: { enabled: true, slackChannel: '#mend' },
  })
  const yaml = writeScheduleFile(await exportSchedules(context))
  const before = await Promise.all([parent, child].map(({ slug }) => getSchedule(context, { slug })))
  await deleteSchedule(context, { slug: child.slug })
  await deleteSchedule(context, { slug: parent.slug })
  await f.repository.commit({ '.bolt/exported.yml': yaml })
  assert.deepEqual(await f.sync(), { ...nothing, restored: [child.slug, parent.slug], unchanged: 0 })
  const after = await Promise.all([parent, child].map(({ slug }) => getSchedule(context, { slug })))
  const same = (one: (typeof before)[number]) => {
    const { source: _, sourceFile: __, updatedAt: ___, scheduleTrigger, ...rest } = one
    return { ...rest, scheduleTrigger: scheduleTrigger && { ...scheduleTrigger, scheduleName: '' } }
  }
  assert.deepEqual(after.map(same), before.map(same))
})

test('a request is a job, and a workspace without a repository is told so', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  const { requestedAt } = await requestScheduleSync(f.t.inside(f.workspace))
  assert.deepEqual(f.t.jobs, [{ queue: 'schedule-files', data: { workspaceId: f.workspace.id } }])
  await f.sync()
  assert.ok((await getScheduleFiles(f.t.inside(f.workspace)))!.checkedAt > requestedAt.replace('T', ' '))
  const empty = f.t.inside(await f.t.workspace())
  await assert.rejects(
    requestScheduleSync(empty),
    (error: unknown) => error instanceof AppError && error.code === 'NOT_FOUND',
  )
  assert.equal(await getScheduleFiles(empty), null)
})

test('every workspace is looked at, whatever becomes of another one', async () => {
  await using f = await fixture({ '.bolt/a.yml': file(entry('one')) })
  const other = f.t.inside(await f.t.workspace('Other'))
  await createEnvironment(other, { displayName: 'x', repositoryUrl: join(f.repository.folder, 'nowhere') })
  await f.t.workspace('Without any')
  await syncAll(f.t.app, f.options)
  assert.deepEqual(await f.active(), ['one'])
  assert.match((await getScheduleFiles(other))!.warning, /could not be read/)
  const failing: FileSource = { files: () => Promise.reject(new Error('a bug')) }
  await syncAll(f.t.app, { ...f.options, source: failing })
  assert.equal(f.t.lines.filter((line) => line.message.includes('could not be synced')).length, 2)
})
