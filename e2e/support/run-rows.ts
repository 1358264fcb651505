/** Runs, commands and schedules as the database holds them, in one picture. */
import type pg from 'pg'
import type { Connection } from '../../service/src/store/connection.ts'
import { lookInto } from './postgres.ts'
import type { Ends } from './run-history.ts'

/** Times are seconds since 1970. */
export interface SeenRun {
  readonly id: number
  readonly slug: string
  readonly overlap: string
  readonly state: string
  readonly detail: string
  readonly reason: string
  readonly retryOf: number | null
  readonly prNumber: number | null
  readonly attempt: number
  readonly workerId: string | null
  readonly dueAt: number | null
  readonly skippedCount: number | null
  readonly skippedUntil: number | null
  readonly endedAt: number | null
  /** Records of its end in the audit log. */
  readonly endRecords: number
}

export interface SeenCommand {
  readonly id: number
  readonly runId: number
  readonly kind: string
  readonly state: string
  readonly returnCode: number | null
  readonly startedAt: number | null
  readonly endedAt: number | null
}

export interface Picture {
  readonly runs: readonly SeenRun[]
  readonly commands: readonly SeenCommand[]
  /** Of every schedule with a cron expression: the first time that nobody has considered yet. */
  readonly nextDue: ReadonlyMap<string, number>
}

export const FINAL = ['succeeded', 'errored', 'failed', 'canceled', 'skipped']

const seconds = (column: string): string => `extract(epoch from ${column})::float8`

/** Of all schedules, or of these alone: the first start leaves one of its own. */
export async function takePicture(connection: Connection, slugs: readonly string[] | null = null): Promise<Picture> {
  const client = await lookInto(connection)
  try {
    await client.query('begin isolation level repeatable read read only')
    const runs: pg.QueryResult<SeenRun> = await client.query(
      `with ended as (
         select (metadata::jsonb ->> 'run')::int as id, count(*)::int as records from audit_log
         where event_type = 'run_ended' group by 1)
       select r.id, s.slug, s.overlap, r.state, r.detail, r.reason, r.retry_of as "retryOf", r.pr_number as "prNumber",
         r.attempt, r.worker_id as "workerId", ${seconds('r.due_at')} as "dueAt", r.skipped_count as "skippedCount",
         ${seconds('r.skipped_until')} as "skippedUntil", ${seconds('r.ended_at')} as "endedAt",
         coalesce(ended.records, 0) as "endRecords"
       from run r join schedule s on s.id = r.schedule_id left join ended on ended.id = r.id
       where $1::text[] is null or s.slug = any($1) order by r.id`,
      [slugs],
    )
    const commands: pg.QueryResult<SeenCommand> = await client.query(
      `select id, run_id as "runId", kind, state, return_code as "returnCode", ${seconds('started_at')} as "startedAt",
         ${seconds('ended_at')} as "endedAt" from command
       where run_id in (select r.id from run r join schedule s on s.id = r.schedule_id
         where $1::text[] is null or s.slug = any($1)) order by id`,
      [slugs],
    )
    const schedules: pg.QueryResult<{ slug: string; next: number }> = await client.query(
      `select slug, ${seconds('next_due_at')} as next from schedule where next_due_at is not null and ($1::text[] is null or slug = any($1))`,
      [slugs],
    )
    const nextDue = new Map(schedules.rows.map(({ slug, next }) => [slug, next]))
    return { runs: runs.rows, commands: commands.rows, nextDue }
  } finally {
    await client.end()
  }
}

/** Remembers the ends of runs, and of their commands with them; gives the names of all that have ended. */
export async function noteEnds(client: pg.Client, ends: Ends): Promise<ReadonlySet<string>> {
  const { rows }: pg.QueryResult<{ id: string; end: string }> = await client.query(
    `select 'run ' || r.id as id, concat_ws(' ', r.state, r.ended_at, r.detail, r.attempt, (
       select string_agg(concat_ws(' ', c.state, c.return_code, c.started_at, c.ended_at), ', ' order by c.position)
       from command c where c.run_id = r.id)) as end
     from run r where r.ended_at is not null`,
  )
  ends.note(rows)
  return new Set(rows.map(({ id }) => id))
}

/** Runs that have not ended. */
export async function countOpen(client: pg.Client): Promise<number> {
  const { rows }: pg.QueryResult<{ open: number }> = await client.query(
    'select count(*)::int as open from run where ended_at is null',
  )
  return rows[0]!.open
}
