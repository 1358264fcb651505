// What incident services were told about a schedule, read from the deliveries: one line for each entry, of which the last
// delivery says whether an incident is open.
import { sql } from 'kysely'
import type { IncidentKind } from '../domain/incident-entry.ts'
import type { Db } from './database.ts'

/** Whoever tells about a schedule does it alone, to the end of the transaction: the order of its lines is decided here. */
export async function lockSchedule(tx: Db, scheduleId: number): Promise<void> {
  await sql`/* incident_lock */ select pg_advisory_xact_lock(hashtext('incident'), ${scheduleId})`.execute(tx)
}

/**
 * Whether a run of the schedule that ended later has passed and was told already. Events may be handled out of order, and an
 * incident that nobody would close must not be opened.
 */
export async function hasPassedSince(
  tx: Db,
  of: { readonly runId: number; readonly handler: string },
): Promise<boolean> {
  const { rows } = await sql`/* incident_passed_since */ select 1 from run this
    join run later on later.schedule_id = this.schedule_id and later.state = 'succeeded' and later.pr_number is null
      and (later.ended_at, later.id) > (this.ended_at, this.id)
    join run_event e on e.run_id = later.id and e.kind = 'ended' and ${of.handler} = any(e.done)
    where this.id = ${of.runId} limit 1`.execute(tx)
  return rows.length > 0
}

export interface OpenLine {
  readonly line: string
  readonly channel: IncidentKind
  readonly integrationId: number | null
  /** As the delivery holds it. */
  readonly body: unknown
}

/** The lines whose last delivery told of a failure that ended before this run did; its row may be gone by now. */
export async function listOpenLines(tx: Db, scheduleId: number, runId: number): Promise<OpenLine[]> {
  const { rows } = await sql<OpenLine>`/* incident_open_lines */
    select l.line, l.channel, l.integration_id as "integrationId", l.body from (
      select distinct on (d.line) d.line, d.channel, d.integration_id, d.body, d.event, d.run_id from delivery d
      where d.schedule_id = ${scheduleId} and d.line is not null
        and d.channel in ('pagerduty', 'incident_io', 'datadog', 'new_relic')
      order by d.line, d.created_at desc, d.id desc) l
    join run this on this.id = ${runId} left join run told on told.id = l.run_id
    where l.event = 'failed' and (told.id is null or (told.ended_at, told.id) < (this.ended_at, this.id))
    order by l.line`.execute(tx)
  return rows
}
