import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { AppError } from '../domain/errors.ts'
import * as audit from './audit.ts'
import { type Db, inTransaction } from './database.ts'
import { MAX_ID } from './expected-errors.ts'
import { Vault } from './vault.ts'

const vault = new Vault([randomBytes(32)])

const entry = (name: string): AuditEntry => ({
  workspaceId: 0,
  workspaceName: '',
  actorType: 'system',
  actorUserId: 0,
  actorEmail: '',
  eventType: 'workspace_created',
  metadata: { name },
})

const append = (db: Db, ...names: string[]): Promise<number[]> =>
  inTransaction(db, (tx) => audit.append(tx, vault, names.map(entry)))

describe('the table of the audit log', () => {
  let t: TestDatabase
  before(async () => {
    t = await testDatabase()
    await append(t.db, 'first', 'second')
  })
  after(() => t.close())

  const CHANGES = {
    update: "update audit_log set actor_email = 'x' where id = 1",
    'update of every row to what it is': 'update audit_log set metadata = metadata',
    delete: 'delete from audit_log where id = 2',
    truncate: 'truncate audit_log',
    'truncate with what depends on it': 'truncate audit_log, audit_refusal cascade',
    'insert that turns into an update': `insert into audit_log select * from audit_log where id = 1
      on conflict (id) do update set actor_email = 'x'`,
    merge:
      "merge into audit_log a using (select 1 as id) b on a.id = b.id when matched then update set actor_email = 'x'",
  }

  for (const [name, statement] of Object.entries(CHANGES)) {
    test(`refuses to the service and to its owner: ${name}`, async () => {
      for (const db of [t.db, t.owner.kysely]) {
        await assert.rejects(sql.raw(statement).execute(db), { code: '42501' })
      }
      const rows = await audit.readChain(t.db, 0, 10)
      assert.deepEqual(
        rows.map((row) => [row.id, row.actorEmail]),
        [
          [1, ''],
          [2, ''],
        ],
      )
    })
  }

  test('refuses its owner also where triggers are said not to fire', async () => {
    await assert.rejects(
      t.owner.kysely.transaction().execute(async (tx) => {
        await sql`set local session_replication_role = replica`.execute(tx)
        await sql`delete from audit_log`.execute(tx)
      }),
      /append-only: DELETE is refused/,
    )
  })

  const GUARDS = [
    'alter table audit_log disable trigger all',
    'alter table audit_log disable trigger audit_log_is_append_only',
    'drop trigger audit_log_is_append_only on audit_log',
    'drop table audit_log',
    'drop table audit_log cascade',
    'alter table audit_log rename to audit_log_old',
    'alter table audit_log owner to current_user',
    'alter table audit_log drop column mac',
    'drop function refuse_change() cascade',
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
    'set session_replication_role = replica',
    'create rule silent as on update to audit_log do instead nothing',
    'drop schema yardmaster cascade',
    'create table yardmaster.audit_log_copy (id integer)',
  ]

  for (const statement of GUARDS) {
    test(`cannot be laid open by the service's role: ${statement}`, async () => {
      await assert.rejects(sql.raw(statement).execute(t.db), { code: '42501' })
    })
  }

  test("cannot be laid open by the service's role: becoming its owner, or giving itself the right", async () => {
    await assert.rejects(sql`set role ${sql.ref(t.ownerConnection.user)}`.execute(t.db), { code: '42501' })
    await t.db.connection().execute(async (db) => {
      // Without the right to give it, this is only warned of: what counts is that nothing came of it.
      await sql`grant update, delete, truncate on audit_log to current_user`.execute(db)
      await assert.rejects(sql`update audit_log set actor_email = 'x'`.execute(db), /permission denied/)
    })
  })

  test('takes an insert of the service, and nothing may be inserted twice', async () => {
    await append(t.db, 'third')
    await assert.rejects(sql`insert into audit_log select * from audit_log where id = 3`.execute(t.db), {
      code: '23505',
    })
  })
})

describe('appending to the audit log', () => {
  test('gives ids without gaps under twenty transactions at once, whatever part of them is undone', async () => {
    await using t = await testDatabase({ poolSize: 20 })
    class Undone extends Error {}
    let kept = 0
    const transactions = Array.from({ length: 20 }, async (_, writer) => {
      for (let round = 0; round < 10; round++) {
        const entries = Array.from({ length: 1 + ((writer + round) % 3) }, () => entry(`${writer} ${round}`))
        const undo = Math.random() < 0.4
        try {
          await inTransaction(t.db, async (tx) => {
            await audit.append(tx, vault, entries)
            if (undo) throw new Undone()
          })
          kept += entries.length
        } catch (error) {
          if (!(error instanceof Undone)) throw error
        }
      }
    })
    await Promise.all(transactions)
    const rows = await audit.readChain(t.db, 0, 10_000)
    assert.ok(kept > 100, `${kept} records were kept`)
    assert.deepEqual(
      rows.map((row) => row.id),
      Array.from({ length: kept }, (_, index) => index + 1),
    )
    for (const [index, row] of rows.entries()) {
      if (index > 0) assert.ok(row.createdAt >= rows[index - 1]!.createdAt, 'times go with ids')
    }
    const head = await audit.readHead(t.db)
    assert.deepEqual([head.id, head.mac], [kept, rows.at(-1)!.mac])
  })

  for (const end of ['commits', 'is undone'] as const) {
    test(`waits for the transaction that appended before it, which ${end}: ids are in the order of commits`, async () => {
      await using t = await testDatabase()
      const [appended, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const first = inTransaction(t.db, async (tx) => {
        await audit.append(tx, vault, [entry('first')])
        appended.resolve()
        await mayEnd.promise
        if (end === 'is undone') throw new Error('undone')
      })
      await appended.promise
      const second = append(t.db, 'second')
      await untilSomebodyWaits(t)
      assert.equal((await audit.readHead(t.db)).id, 0)
      mayEnd.resolve()
      if (end === 'commits') await first
      else await assert.rejects(first, /undone/)
      assert.deepEqual(await second, [end === 'commits' ? 2 : 1])
    })
  }

  test('with nothing to append takes no lock', async () => {
    await using t = await testDatabase()
    await inTransaction(t.db, async (tx) => {
      await audit.lockHead(tx)
      assert.deepEqual(await audit.append(t.db, vault, []), [])
    })
  })

  test('says so when the ids are used up, and leaves the log as it is', async () => {
    await using t = await testDatabase()
    await append(t.db, 'first')
    await sql`update audit_head set last_id = ${MAX_ID - 1}`.execute(t.owner.kysely)
    await assert.rejects(append(t.db, 'last', 'one more'), (error) => {
      return (
        error instanceof AppError && error.code === 'CONFLICT' && /id space of audit_log is used up/.test(error.message)
      )
    })
    assert.deepEqual(await append(t.db, 'last'), [MAX_ID])
  })
})

/** Until a session of this database stands in line for a row. */
async function untilSomebodyWaits(t: TestDatabase): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`.execute(t.owner.kysely)
    if (rows.length > 0) return
    await pause(5)
  }
}
