import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testApp } from '../../test/support/app.ts'
import { rememberingBlobs } from '../../test/support/blobs.ts'
import { retentionTask } from './retention.ts'

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

test('old runs, files and output go; the latest run of a schedule and its latest good one stay with their files', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const db = t.database.owner.kysely
  await sql`insert into environment (workspace_id, slug, display_name, type) values
    (${workspace.id}, 'one', 'one', 'scheduler')`.execute(db)
  await sql`insert into schedule (workspace_id, environment_id, slug, name, cron, commands)
    select workspace_id, id, 'one', 'one', 'OFF', '[]' from environment`.execute(db)
  /** A run of so many days ago with one command and one file of that content; gives its id. */
  const run = async (state: string, days: number, content: string): Promise<number> => {
    const { rows } = await sql<{ id: number }>`
      with made as (
        insert into run (workspace_id, schedule_id, environment_id, cause, state, actor, branch, accepted_at, ended_at)
        select workspace_id, id, environment_id, 'key', ${state}, 'test', 'main',
          now() - ${days}::integer * interval '1 day', now() - ${days}::integer * interval '1 day' from schedule
        returning id, workspace_id
      ), step as (
        insert into command (workspace_id, run_id, position, kind, text, original_text, continue_on_error, log_day)
        select workspace_id, id, 0, 'user', 'true', 'true', false, current_date - ${days}::integer from made
        returning id, run_id, workspace_id, log_day
      ), output as (
        insert into log_chunk (day, command_id, stream, start, length, bytes)
        select log_day, id, 1, 0, 1, 'x' from step
      ), file as (
        insert into artifact (workspace_id, run_id, command_id, path, size, sha256, created_at)
        select workspace_id, run_id, id, 'file', 1, ${hash(content)}, now() - ${days}::integer * interval '1 day' from step
      )
      select id from made`.execute(db)
    return rows[0]!.id
  }
  const good = await run('succeeded', 200, 'good')
  const old = await run('errored', 150, 'old')
  const shared = await run('failed', 140, 'shared')
  const middle = await run('errored', 40, 'middle')
  const young = await run('errored', 5, 'shared')
  const latest = await run('canceled', 4, 'latest')

  const deleted: string[] = []
  const task = retentionTask(t.app, rememberingBlobs(deleted), { runs: 90, logs: 30, files: 30, deliveries: 30 })
  const ids = async (table: 'run' | 'log_chunk') => {
    const column = table === 'run' ? sql`id` : sql`(select run_id from command c where c.id = command_id)`
    const { rows } = await sql<{ id: number }>`select ${column} as id from ${sql.table(table)} order by 1`.execute(db)
    return rows.map((row) => row.id)
  }
  await task.runOnce()
  const marked = await sql<{
    run: number
  }>`select run_id as run from artifact where removed_at is not null order by 1`.execute(db)
  assert.deepEqual(
    marked.rows.map((row) => row.run),
    [old, shared, middle],
  )
  assert.deepEqual(deleted, [], 'their bytes wait for a day')
  assert.deepEqual(await ids('run'), [good, old, shared, middle, young, latest])

  await sql`update artifact set removed_at = removed_at - interval '2 days' where removed_at is not null`.execute(db)
  await task.runOnce()
  assert.deepEqual(deleted.sort(), [hash('middle').toString('hex'), hash('old').toString('hex')].sort())
  assert.deepEqual(await ids('run'), [good, middle, young, latest])
  const files = await sql<{ run: number }>`select run_id as run from artifact order by 1`.execute(db)
  assert.deepEqual(
    files.rows.map((row) => row.run),
    [good, young, latest],
  )
  assert.deepEqual(await ids('log_chunk'), [good, young, latest])

  const forever = retentionTask(t.app, rememberingBlobs(deleted), { runs: 0, logs: 0, files: 0, deliveries: 0 })
  await forever.runOnce()
  assert.deepEqual(await ids('run'), [good, middle, young, latest])
})
