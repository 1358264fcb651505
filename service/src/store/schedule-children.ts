// The schedules that wait for another one, in whatever workspace they are.
import { sql } from 'kysely'
import type { NotificationEvent, ScheduleTrigger } from '../domain/schedule.ts'
import type { Db } from './database.ts'
import * as runs from './runs.ts'

export interface Child {
  readonly id: number
  readonly workspace: { readonly id: number; readonly name: string }
}

/**
 * Those that fire after such an outcome: active, not suspended, of a workspace that is not archived, while scheduling is
 * on for the account. By id.
 */
export async function listFor(db: Db, parentId: number, outcome: NotificationEvent): Promise<Child[]> {
  const { rows } = await sql<{ id: number; workspaceId: number; workspaceName: string }>`/* schedule_children */
    select s.id, w.id as "workspaceId", w.name as "workspaceName"
    from schedule s join workspace w on w.id = s.workspace_id and w.archived_at is null
    where (s.schedule_trigger ->> 'parentId')::integer = ${parentId} and s.schedule_trigger is not null
      and s.deleted_at is null and not s.suspended and (s.schedule_trigger ->> 'enabled')::boolean
      and s.schedule_trigger -> 'triggerOn' ? ${outcome}
      and (select scheduling from account limit 1)
    order by s.id`.execute(db)
  return rows.map((row) => ({ id: row.id, workspace: { id: row.workspaceId, name: row.workspaceName } }))
}

export interface LockedChild extends runs.RunSchedule {
  waitsFor(parentId: number, outcome: NotificationEvent): boolean
}

/** Under the lock that everything takes which decides between runs of the schedule. */
export async function lock(tx: Db, id: number): Promise<LockedChild> {
  const schedule = await runs.lockSchedule(tx, id)
  const { rows } = await sql<{ suspended: boolean; trigger: ScheduleTrigger | null }>`/* schedule_child */
    select suspended, schedule_trigger as trigger from schedule where id = ${id}`.execute(tx)
  const { suspended, trigger } = rows[0]!
  const isReady = schedule.active && !suspended && trigger?.enabled === true
  return {
    ...schedule,
    waitsFor: (parentId, outcome) => isReady && trigger.parentId === parentId && trigger.triggerOn.includes(outcome),
  }
}
