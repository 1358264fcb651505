// Commands of a run that a worker holds, made by bare rows: for what reads and writes their output and files.
import { sql } from 'kysely'
import type { Context } from '../../src/app/context.ts'
import type { WorkspaceRef } from '../../src/domain/actor.ts'
import type { ArtifactOwner } from '../../src/store/artifacts.ts'
import type { TestApp } from './app.ts'

export interface HeldRun {
  readonly workspace: WorkspaceRef
  readonly ctx: Context
  readonly runId: number
  readonly attempt: number
  /** A further command of the run. */
  command(text?: string): Promise<number>
  owner(commandId: number): ArtifactOwner
  /** As the row: a final state ends it. */
  end(state?: 'succeeded' | 'failed'): Promise<void>
}

let made = 0

export async function heldRun(t: TestApp, at?: WorkspaceRef): Promise<HeldRun> {
  const workspace = at ?? (await t.workspace())
  const { db } = t.app
  const name = `made-${++made}`
  const first = async (rows: Promise<{ rows: { id: number }[] }>): Promise<number> => (await rows).rows[0]!.id
  const environment = await first(
    sql<{ id: number }>`insert into environment (workspace_id, slug, display_name, type)
      values (${workspace.id}, ${name}, ${name}, 'scheduler') returning id`.execute(db),
  )
  const schedule = await first(
    sql<{ id: number }>`insert into schedule (workspace_id, environment_id, slug, name, cron, commands)
      values (${workspace.id}, ${environment}, ${name}, ${name}, 'OFF', '[]') returning id`.execute(db),
  )
  const runId = await first(
    sql<{
      id: number
    }>`insert into run (workspace_id, schedule_id, environment_id, cause, state, actor, branch, attempt,
        worker_id, lease_until)
      values (${workspace.id}, ${schedule}, ${environment}, 'person', 'running', 'test', 'main', 1, 'worker',
        clock_timestamp() + interval '1 hour') returning id`.execute(db),
  )
  let position = 0
  return {
    workspace,
    ctx: t.inside(workspace),
    runId,
    attempt: 1,
    command: (text = 'true') =>
      first(
        sql<{ id: number }>`insert into command (workspace_id, run_id, position, kind, text, original_text,
            continue_on_error, state)
          values (${workspace.id}, ${runId}, ${position++}, 'user', ${text}, ${text}, false, 'running')
          returning id`.execute(db),
      ),
    owner: (commandId) => ({
      workspaceId: workspace.id,
      workspaceUid: workspace.uid,
      runId,
      attempt: 1,
      commandId,
    }),
    end: async (state = 'succeeded') => {
      await sql`update run set state = ${state}, ended_at = clock_timestamp() where id = ${runId}`.execute(db)
    },
  }
}
