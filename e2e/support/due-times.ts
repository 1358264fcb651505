/**
 * Thousands of due times within seconds: schedules that were due in every minute of the last full hours, and not again
 * before tomorrow. Their next due time is put back, as if no scheduler had been at work since; from there on the
 * schedulers of the servers do what they do after an outage.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseTimetable } from '../../service/src/domain/occurrence.ts'
import type { Cluster } from './cluster.ts'
import type { Random } from './random.ts'
import { takePicture } from './run-rows.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

export interface DueKind {
  readonly schedules: number
  /** Of each, 180 at most. */
  readonly times: number
  readonly more: Readonly<Record<string, unknown>>
}

/** What each tick does: says that it began, writes output and a file that can be foretold, and says that it ended. */
export const TICK_COMMAND = [
  '. ./witness.sh; witness start',
  'seq -f "run $YARDMASTER_RUN_ID line %g" 200',
  'echo "needle of run $YARDMASTER_RUN_ID" >&2',
  'seq -f "file of run $YARDMASTER_RUN_ID, %g" 50 > made.txt',
  'sleep 0.2',
  'witness end',
].join('; ')

const lines = (count: number, line: (number: number) => string): string =>
  Array.from({ length: count }, (_, at) => `${line(at + 1)}\n`).join('')

/** What a run of it must have left. */
export const foretold = (runId: number) => ({
  stdout: lines(200, (number) => `run ${runId} line ${number}`),
  stderr: `needle of run ${runId}\n`,
  file: lines(50, (number) => `file of run ${runId}, ${number}`),
})

export interface DueTimes {
  readonly count: number
  /** Puts the schedules back, a few at a time, in an order of chance; each few at once, so that schedulers meet. */
  release(random: Random, overMs: number): Promise<void>
  /** True when every schedule was considered up to now. */
  considered(): Promise<boolean>
  check(): Promise<{ readonly lost: number; readonly doubled: number; readonly strange: number; readonly rows: number }>
}

export async function makeDueTimes(cluster: Cluster, kinds: readonly DueKind[]): Promise<DueTimes> {
  const { database } = cluster
  const thisHour = Math.floor(Date.now() / HOUR) * HOUR
  const hours = [3, 2, 1].map((ago) => new Date(thisHour - ago * HOUR).getUTCHours())
  const cron = `* ${hours.join(',')} * * *`
  const last = thisHour - MINUTE
  const expected = new Map<string, readonly number[]>()
  for (const { schedules, times, more } of kinds) {
    const window = { catchUpWindowSeconds: 86_400, schedule: cron, timezone: 'UTC', ...more }
    const minutes = parseTimetable(cron, 'UTC')
      .between(new Date(last - times * MINUTE), new Date(last), times)
      .map((time) => time.getTime())
    if (minutes.length !== times) throw new Error(`the cron expression has ${minutes.length} times, not ${times}`)
    for (let made = 0; made < schedules; made++) {
      expected.set(await cluster.schedule(cluster.environment, [TICK_COMMAND], window), minutes)
    }
  }
  const slugs = [...expected.keys()]
  return {
    count: [...expected.values()].reduce((sum, minutes) => sum + minutes.length, 0),
    release: async (random, overMs) => {
      const left = slugs.map((slug) => ({ slug, order: random.next() })).sort((a, b) => a.order - b.order)
      const some = Math.max(2, Math.ceil(left.length / 25))
      while (left.length > 0) {
        const now = left.splice(0, random.between(1, some * 2))
        const firsts = now.map(({ slug }) => new Date(expected.get(slug)![0]!).toISOString())
        await database.query(
          `update schedule s set next_due_at = one.first from unnest($1::text[], $2::timestamptz[]) as one (slug, first)
           where s.slug = one.slug`,
          [now.map(({ slug }) => slug), firsts],
        )
        await pause((overMs * now.length * random.next() * 2) / slugs.length)
      }
    },
    considered: async () => {
      const { rows } = await database.query<{ left: number }>(
        'select count(*)::int as left from schedule where slug = any ($1) and next_due_at < clock_timestamp()',
        [slugs],
      )
      return rows[0]!.left === 0
    },
    check: async () => {
      const { runs } = await takePicture(cluster.postgres.superuser, slugs)
      let [lost, doubled, strange, rows] = [0, 0, 0, 0]
      const ofSchedule = Map.groupBy(runs, (run) => run.slug)
      for (const [slug, minutes] of expected) {
        const seen = new Map(minutes.map((minute) => [minute, 0]))
        for (const { dueAt, skippedUntil, skippedCount } of ofSchedule.get(slug) ?? []) {
          if (dueAt === null) continue
          rows++
          let covered = 0
          for (let at = dueAt * 1000; at <= (skippedUntil ?? dueAt) * 1000; at += MINUTE, covered++) {
            if (seen.has(at)) seen.set(at, seen.get(at)! + 1)
            else strange++
          }
          if (covered !== (skippedCount ?? 1)) strange++
        }
        for (const times of seen.values()) {
          if (times === 0) lost++
          if (times > 1) doubled++
        }
      }
      return { lost, doubled, strange, rows }
    },
  }
}
