// Rows of a run's commands. A write of a worker locks the run's row first and names worker and attempt: when the run is
// not held that way any more, nothing changes and LostRun says so.
import { sql } from 'kysely'
import type { PastCommand } from '../domain/retry.ts'
import type { CommandState } from '../domain/run.ts'
import type { Db } from './database.ts'
import { HELD } from './runs.ts'

export interface NewCommand {
  readonly kind: 'infrastructure' | 'user'
  readonly text: string
  readonly originalText: string
  readonly continueOnError: boolean
  readonly stateFrom: number | null
}

/** Ids rise with the position, because clients sort by them. */
export async function insert(
  tx: Db,
  run: { readonly workspaceId: number; readonly runId: number },
  commands: readonly NewCommand[],
): Promise<void> {
  await sql`/* command_insert */ insert into command
      (workspace_id, run_id, position, kind, text, original_text, continue_on_error, state_from)
    select ${run.workspaceId}, ${run.runId}, one.position - 1, one.kind, one.text, one.original_text,
      one.continue_on_error, one.state_from
    from unnest(${commands.map((one) => one.kind)}::text[], ${commands.map((one) => one.text)}::text[],
        ${commands.map((one) => one.originalText)}::text[], ${commands.map((one) => one.continueOnError)}::boolean[],
        ${commands.map((one) => one.stateFrom)}::int[])
      with ordinality as one (kind, text, original_text, continue_on_error, state_from, position)
    order by one.position`.execute(tx)
}

export interface CommandRow {
  readonly id: number
  readonly runId: number
  readonly position: number
  readonly kind: 'infrastructure' | 'user'
  readonly text: string
  readonly originalText: string
  readonly continueOnError: boolean
  readonly stateFrom: number | null
  readonly state: CommandState
  /** As on the wire; null until then. */
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly returnCode: number | null
  readonly stdoutBytes: number
  readonly stderrBytes: number
  readonly logFinished: boolean
}

const columns = sql`c.id, c.run_id as "runId", c.position, c.kind, c.text, c.original_text as "originalText",
  c.continue_on_error as "continueOnError", c.state_from as "stateFrom", c.state,
  wire_time(c.started_at) as "startedAt", wire_time(c.ended_at) as "endedAt", c.return_code as "returnCode",
  c.stdout_bytes as "stdoutBytes", c.stderr_bytes as "stderrBytes", c.log_finished as "logFinished"`

/** In the order of execution. */
export async function listOfRun(db: Db, workspaceId: number, runId: number): Promise<CommandRow[]> {
  const { rows } = await sql<CommandRow>`/* command_list */ select ${columns} from command c
    where c.workspace_id = ${workspaceId} and c.run_id = ${runId} order by c.position`.execute(db)
  return rows
}

export async function find(db: Db, workspaceId: number, id: number): Promise<CommandRow | null> {
  const { rows } = await sql<CommandRow>`/* command_find */ select ${columns} from command c
    where c.workspace_id = ${workspaceId} and c.id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** The commands of a run that ended, with what deciding about a retry needs. */
export async function listPast(db: Db, workspaceId: number, runId: number): Promise<PastCommand[]> {
  const { rows } = await sql<PastCommand>`/* command_list_past */ select c.id, c.kind, c.text,
      c.original_text as "originalText", c.continue_on_error as "continueOnError", c.state,
      exists (select 1 from artifact a where a.command_id = c.id and a.removed_at is null
        and (a.path = 'run_results.json' or a.path like '%/run_results.json')) as "leftResults"
    from command c where c.workspace_id = ${workspaceId} and c.run_id = ${runId} order by c.position`.execute(db)
  return rows
}

/** Which hold of which worker writes. */
export interface Hold {
  readonly runId: number
  readonly workerId: string
  readonly attempt: number
}

/** The run is not held by this worker in this attempt any more: its commands must stop. */
export class LostRun extends Error {
  override readonly name = 'LostRun'
  constructor(hold: Hold) {
    super(`run ${hold.runId} is no longer held in attempt ${hold.attempt}`)
  }
}

/**
 * Before a command is handed to an executor: waiting → running, once. 'canceled' when a cancel is recorded: the run's
 * row is locked, so no start is ever recorded after one. A repetition after a lost answer finds its own write and is
 * told 'started' again, which is sound as long as each hold starts each command in one place. The first command of a
 * run leaves the event that the run started, without a job of the queue: whoever handles events looks every second.
 */
export async function start(
  db: Db,
  hold: Hold,
  command: { readonly id: number; readonly text: string },
  tries: 'first' | 'again' = 'first',
): Promise<'started' | 'canceled'> {
  const { rows } = await sql<{ canceled: boolean; started: boolean; running: boolean }>`/* command_start */
    with held as (
      select id, cancel_requested_at is not null as canceled from run
      where id = ${hold.runId} and attempt = ${hold.attempt} and worker_id = ${hold.workerId} and state in ${HELD}
      for no key update
    ), started as (
      update command c set state = 'running', started_at = clock_timestamp(), text = ${command.text}
      from held where c.run_id = held.id and c.id = ${command.id} and c.state = 'waiting' and not held.canceled
      returning c.id, c.workspace_id, c.run_id, c.position
    ), announced as (
      insert into run_event (workspace_id, run_id, kind) select workspace_id, run_id, 'started'
      from started where position = 0 on conflict (run_id, kind) do nothing
    )
    select held.canceled, exists (select 1 from started) as started,
      exists (select 1 from command c where c.id = ${command.id} and c.state = 'running') as running
    from held`.execute(db)
  const found = rows[0]
  if (found === undefined) throw new LostRun(hold)
  if (found.started || (tries === 'again' && found.running)) return 'started'
  if (found.canceled) return 'canceled'
  throw new LostRun(hold)
}

/** A repetition after a lost answer changes nothing more. */
export async function end(
  db: Db,
  hold: Hold,
  command: { readonly id: number; readonly state: 'succeeded' | 'failed' | 'stopped'; readonly returnCode: number },
): Promise<void> {
  const { rows } = await sql`/* command_end */
    with held as (
      select id from run
      where id = ${hold.runId} and attempt = ${hold.attempt} and worker_id = ${hold.workerId} and state in ${HELD}
      for no key update
    ), ended as (
      update command c set state = ${command.state}, ended_at = clock_timestamp(), return_code = ${command.returnCode},
        log_finished = true
      from held where c.run_id = held.id and c.id = ${command.id} and c.state = 'running'
    )
    select 1 from held`.execute(db)
  if (rows.length === 0) throw new LostRun(hold)
}
