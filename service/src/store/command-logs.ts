// Output of commands, as chunks of bytes by offset. The command's row says how much of each stream is readable and moves
// in the statement that adds the chunks: whoever reads the row first finds every byte that it promises.
import { sql } from 'kysely'
import type { Db } from './database.ts'

export type LogStream = 'stdout' | 'stderr'

/** No chunk is larger; readers find the chunk that holds an offset by it, without looking at lengths. */
export const CHUNK_BYTES = 256 * 1024

const NUMBER: Readonly<Record<LogStream, number>> = { stdout: 1, stderr: 2 }

export interface LogOffsets {
  readonly stdout: number
  readonly stderr: number
}

export interface LogState extends LogOffsets {
  readonly commandId: number
  /** Nothing will be added: the log was closed, or the run has ended without this command. */
  readonly finished: boolean
  /** The partition that holds it; null before the first byte. */
  readonly day: string | null
}

const FINAL = sql`('succeeded', 'errored', 'failed', 'canceled', 'skipped')`

const state = sql`c.id as "commandId", c.stdout_bytes as stdout, c.stderr_bytes as stderr, c.log_day as day,
  c.log_finished or c.state = 'not_run' or r.state in ${FINAL} as finished`

export async function find(db: Db, workspaceId: number, commandId: number): Promise<LogState | null> {
  const { rows } = await sql<LogState>`/* log_find */ select ${state}
    from command c join run r on r.id = c.run_id
    where c.workspace_id = ${workspaceId} and c.id = ${commandId}`.execute(db)
  return rows[0] ?? null
}

/** Of all commands of a run, in the order of execution. */
export async function listOfRun(db: Db, workspaceId: number, runId: number): Promise<LogState[]> {
  const { rows } = await sql<LogState>`/* log_list */ select ${state}
    from command c join run r on r.id = c.run_id
    where c.workspace_id = ${workspaceId} and c.run_id = ${runId} order by c.id`.execute(db)
  return rows
}

export interface LogWindow {
  readonly commandId: number
  readonly day: string
  readonly stream: LogStream
  readonly from: number
  readonly to: number
}

/** Of one statement. */
const MOST_WINDOWS = 64

/**
 * The bytes of each window, in the order asked. A window is cut short where bytes are missing: retention took them, or a
 * database that crashed lost them for a moment.
 */
export async function readWindows(db: Db, windows: readonly LogWindow[]): Promise<Buffer[]> {
  if (windows.length > MOST_WINDOWS) {
    const first = await readWindows(db, windows.slice(0, MOST_WINDOWS))
    return [...first, ...(await readWindows(db, windows.slice(MOST_WINDOWS)))]
  }
  const wanted = windows.map((window, number) => ({ ...window, number })).filter((one) => one.to > one.from)
  if (wanted.length === 0) return windows.map(() => Buffer.alloc(0))
  // One branch per window, with its day as a constant: only that partition is looked at. Of the chunks at the edges only
  // the part that is wanted is read and sent. As base64, which is a third less than the form that bytes come in.
  const branches = wanted.map((one) => {
    const [from, to] = [sql`${one.from}::bigint`, sql`${one.to}::bigint`]
    return sql`select ${sql.lit(one.number)} as number, greatest(start, ${from}) as start,
        encode(substring(bytes from (greatest(start, ${from}) - start + 1)::integer
          for (least(start + length, ${to}) - greatest(start, ${from}))::integer), 'base64') as text from log_chunk
      where day = ${one.day}::date and command_id = ${one.commandId} and stream = ${sql.lit(NUMBER[one.stream])}
        and start > ${one.from - CHUNK_BYTES} and start < ${to} and start + length > ${from}`
  })
  const { rows } = await sql<{ number: number; start: number; text: string }>`
    /* log_read */ ${sql.join(branches, sql` union all `)} order by 1, 2`.execute(db)
  const chunks = Map.groupBy(
    rows.map(({ number, start, text }) => ({ number, start, bytes: Buffer.from(text, 'base64') })),
    (row) => row.number,
  )
  return windows.map((window, number) => joined(chunks.get(number) ?? [], window))
}

function joined(chunks: readonly { start: number; bytes: Buffer }[], { from, to }: LogWindow): Buffer {
  const parts: Buffer[] = []
  let at = from
  for (const { start, bytes } of chunks) {
    if (start + bytes.length <= at) continue
    if (start > at || at >= to) break
    const part = bytes.subarray(at - start, to - start)
    parts.push(part)
    at += part.length
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** Fixes the partition of a log and says where it goes on; null when it is closed already. */
export async function open(db: Db, commandId: number, day: string | null): Promise<LogOffsets | null> {
  const { rows } = await sql<LogOffsets>`/* log_open */ update command
    set log_day = coalesce(log_day, ${day}::date, current_date) where id = ${commandId} and not log_finished
    returning stdout_bytes as stdout, stderr_bytes as stderr`.execute(db)
  return rows[0] ?? null
}

export interface LogChunk {
  readonly stream: LogStream
  readonly start: number
  readonly bytes: Buffer
}

/**
 * Adds chunks and moves the row, or does neither: when the log was closed, or does not end at `from` (then `read` says
 * where it does). Two writers of one log cannot both succeed. Not durable unless asked: a crash of the database may
 * take the last appends back, in order, never one without those after it.
 */
export async function append(
  db: Db,
  commandId: number,
  from: LogOffsets,
  chunks: readonly LogChunk[],
  durable: boolean,
): Promise<boolean> {
  const to = { ...from }
  for (const { stream, bytes } of chunks) to[stream] += bytes.length
  const values = chunks.map(
    ({ stream, start, bytes }) => sql`(${sql.lit(NUMBER[stream])}::smallint, ${start}::bigint, ${bytes}::bytea)`,
  )
  // One statement is one transaction, and the setting is that of the transaction's end.
  const done = await sql`/* log_append */
    with mode as materialized (select set_config('synchronous_commit', ${durable ? 'on' : 'off'}, true) as setting),
    moved as (
      update command set stdout_bytes = ${to.stdout}::bigint, stderr_bytes = ${to.stderr}::bigint from mode
      where id = ${commandId} and not log_finished and mode.setting is not null
        and stdout_bytes = ${from.stdout}::bigint and stderr_bytes = ${from.stderr}::bigint
      returning id, log_day
    )
    insert into log_chunk (day, command_id, stream, start, length, bytes)
    select moved.log_day, moved.id, chunk.stream, chunk.start, length(chunk.bytes), chunk.bytes
    from moved, (values ${sql.join(values)}) as chunk (stream, start, bytes)`.execute(db)
  return (done.numAffectedRows ?? 0n) > 0n
}

/** Where the log ends, for its writer; null when it is closed. */
export async function read(db: Db, commandId: number): Promise<LogOffsets | null> {
  const { rows } = await sql<LogOffsets>`/* log_offsets */ select stdout_bytes as stdout, stderr_bytes as stderr
    from command where id = ${commandId} and not log_finished`.execute(db)
  return rows[0] ?? null
}

/**
 * Closes a log that ends here. Durable, and with it everything before it. True also when it was closed before with the
 * same end: the answer of the first try may have been lost.
 */
export async function finish(db: Db, commandId: number, end: LogOffsets): Promise<boolean> {
  const done = await sql`/* log_finish */ update command set log_finished = true where id = ${commandId}
    and stdout_bytes = ${end.stdout} and stderr_bytes = ${end.stderr}`.execute(db)
  return done.numAffectedRows === 1n
}

/** For whoever finalises a run whose worker is lost: the logs end where they are, and a late writer is refused. */
export async function finishOfRun(tx: Db, runId: number): Promise<void> {
  await sql`/* log_finish_run */ update command set log_finished = true
    where run_id = ${runId} and not log_finished`.execute(tx)
}

/** Partitions for the coming days. Any number of nodes may do it at once. */
export async function makeDays(db: Db, ahead: number): Promise<number> {
  const { rows } = await sql<{ made: number }>`
    /* log_make_days */ select log_chunk_make_days(current_date, ${ahead + 1}::integer) as made`.execute(db)
  return rows[0]?.made ?? 0
}

/**
 * Drops the partitions of days before, except for what is never dropped: the output of runs that have not ended, and of
 * the latest and the latest successful run of each schedule.
 */
export async function dropDays(db: Db, before: string): Promise<number> {
  const { rows } = await sql<{ dropped: number }>`/* log_drop_days */
    with kept as (
      select id from run where state in ('waiting', 'starting', 'running', 'ending')
      union
      select latest.id from schedule s cross join lateral (
        (select id from run where schedule_id = s.id and state <> 'skipped' order by id desc limit 1)
        union
        (select id from run where schedule_id = s.id and state = 'succeeded' order by id desc limit 1)
      ) as latest
    )
    select log_chunk_drop_days(${before}::date, coalesce(
      (select array_agg(c.id) from command c join kept on kept.id = c.run_id where c.log_day < ${before}::date), '{}'
    )) as dropped`.execute(db)
  return rows[0]?.dropped ?? 0
}
