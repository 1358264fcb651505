import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestAgents, testAgents, testDefinition } from '../../test/support/agent-sessions.ts'
import { rememberingBlobs } from '../../test/support/blobs.ts'
import * as events from '../store/agent-events.ts'
import * as holds from '../store/agent-hold.ts'
import { retentionTask } from './retention.ts'

const DAY = 86_400_000
const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A session with a result that was kept, and a checkout of that content. */
async function session(a: TestAgents, content: string, parent?: string): Promise<string> {
  const called = parent && { session: await a.session(parent), call: content }
  const definition = testDefinition(`agent of ${content}`)
  const id = await a.start({ agent: definition.name, definition, parent: called || null })
  const hold = await a.take(id)
  await holds.setFiles(a.t.app.db, hold, { treeKey: hash(content) })
  await events.saveOutput(a.t.app.db, { workspaceId: a.workspace.id, sessionId: id, call: 'c' }, 'whole')
  return id
}

const finish = async (a: TestAgents, id: string, days: number): Promise<void> => {
  await a.end(id, 'failed')
  await a.age(id, days * DAY)
}

test('old sessions go with all that is of them, by whole trees, and none that is going or young', async () => {
  await using a = await testAgents()
  const { db } = a.t.app
  const old = await session(a, 'old')
  const young = await session(a, 'young')
  const going = await session(a, 'going')
  const same = await session(a, 'shared')
  const alsoSame = await session(a, 'shared')
  const tree = await session(a, 'tree')
  const leaf = await session(a, 'leaf', tree)
  const mixed = await session(a, 'mixed')
  const late = await session(a, 'late', mixed)
  await finish(a, old, 100)
  await finish(a, young, 80)
  await finish(a, same, 100)
  await finish(a, alsoSame, 80)
  await finish(a, leaf, 100)
  await finish(a, tree, 100)
  await finish(a, late, 80)
  await finish(a, mixed, 100)
  await a.age(going, 100 * DAY)
  const deleted: string[] = []
  const task = retentionTask(a.t.app, rememberingBlobs(deleted), { runs: 90, logs: 0, files: 0, deliveries: 0 })
  await task.runOnce()
  const ids = async (table: 'agent_session' | 'agent_event' | 'agent_output') => {
    const column = table === 'agent_session' ? sql`id` : sql`session_id`
    const { rows } = await sql<{ id: string }>`select distinct ${column} as id from ${sql.table(table)}`.execute(db)
    return rows.map((row) => row.id).sort()
  }
  const kept = [young, going, alsoSame, mixed, late].sort()
  for (const table of ['agent_session', 'agent_event', 'agent_output'] as const)
    assert.deepEqual(await ids(table), kept, table)
  assert.deepEqual(deleted.sort(), ['old', 'tree', 'leaf'].map(hash).sort())
  const forever = retentionTask(a.t.app, rememberingBlobs(deleted), { runs: 0, logs: 0, files: 0, deliveries: 0 })
  await forever.runOnce()
  assert.deepEqual(await ids('agent_session'), kept)
})

test('the bytes of an old file stay while a session’s checkout has the same content', async () => {
  await using a = await testAgents()
  const owner = a.t.database.owner.kysely
  await session(a, 'same')
  await sql`insert into schedule (workspace_id, environment_id, slug, name, cron, commands)
    values (${a.workspace.id}, ${a.environmentId}, 's', 's', 'OFF', '[]')`.execute(owner)
  await sql`with made as (
      insert into run (workspace_id, schedule_id, environment_id, cause, state, actor, branch, ended_at)
      select workspace_id, id, environment_id, 'key', 'failed', 'x', 'main', now() from schedule returning id, workspace_id
    ), step as (
      insert into command (workspace_id, run_id, position, kind, text, original_text, continue_on_error)
      select workspace_id, id, 0, 'user', 'true', 'true', false from made returning id, run_id, workspace_id)
    insert into artifact (workspace_id, run_id, command_id, path, size, sha256, removed_at)
    select s.workspace_id, s.run_id, s.id, content, 1, sha256(content::bytea), now() - interval '2 days'
    from step s, unnest(array['same', 'other']) as content`.execute(owner)
  const deleted: string[] = []
  await retentionTask(a.t.app, rememberingBlobs(deleted), { runs: 0, logs: 0, files: 0, deliveries: 0 }).runOnce()
  assert.deepEqual(deleted, [hash('other')])
})
