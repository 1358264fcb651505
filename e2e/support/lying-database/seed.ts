/**
 * One seed: clients trigger, cancel, retry and read, times come due, two workers execute with real processes, and every
 * statement of all of them may be lied about. Prints what it did and found as one line of JSON.
 *
 *   node --import ./lies.ts seed.ts <seed> <operations> <delay in ms>
 */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { commandLogs } from '../../../service/src/app/command-logs.ts'
import type { Context } from '../../../service/src/app/context.ts'
import { retryAllRun } from '../../../service/src/app/retry.ts'
import { getRunStatus, listRuns } from '../../../service/src/app/run-queries.ts'
import { cancelRun } from '../../../service/src/app/runs.ts'
import { triggerRun } from '../../../service/src/app/trigger-run.ts'
import { AppError } from '../../../service/src/domain/errors.ts'
import { newUid } from '../../../service/src/domain/ids.ts'
import { parseTimetable } from '../../../service/src/domain/occurrence.ts'
import { isFinal } from '../../../service/src/domain/run.ts'
import { startPeriodic } from '../../../service/src/engine/periodic.ts'
import { reaper } from '../../../service/src/engine/reaper.ts'
import { scheduler, startScheduler } from '../../../service/src/engine/scheduler.ts'
import { leaseTimes } from '../../../service/src/engine/worker/lease-keeper.ts'
import { isUnavailable } from '../../../service/src/store/database.ts'
import * as due from '../../../service/src/store/due-schedules.ts'
import { otherHost } from '../../../service/test/support/runs.ts'
import { checkEngine, type EngineFindings } from '../engine/check.ts'
import { engineRig } from '../engine/rig.ts'
import { seeded } from '../random.ts'
import { arm, counted, disarm, exempt } from './lies.ts'

export interface SeedReport {
  readonly seed: number
  readonly counted: ReturnType<typeof counted>
  readonly runs: Readonly<Record<string, number>>
  readonly commandsRun: number
  readonly dueTimes: number
  readonly asked: { readonly ok: number; readonly refused: number; readonly unknown: number; readonly repeated: number }
  readonly findings: EngineFindings
  /** I1: acknowledged and not there, or there twice. */
  readonly triggers: readonly string[]
  /** I2: due times without a row, or with two. */
  readonly ticks: readonly string[]
  /** Errors that a client would have seen as a 500. */
  readonly surprises: readonly string[]
  readonly unhandled: readonly string[]
  /** Runs that ended because the service could not go on with them. */
  readonly broken: readonly string[]
}

const CLIENTS = 8
const PER_MILLE = 10
/** A minute of the timetable goes by in a second. */
const SPEED = 60
const START = new Date('2031-05-01T12:00:00Z')
const LEASE_MS = 24_000
const DRAIN_MS = 120_000
const LOAD_MS = 300_000

const [seed = 1, operations = 2500, delayMs = 2000] = process.argv.slice(2).map(Number)
const random = seeded(seed)
const unhandled: string[] = []
const surprises: string[] = []
for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error: unknown) => unhandled.push(`${event}: ${error instanceof Error ? error.stack : error}`))

interface Asked {
  readonly what: 'trigger' | 'retry'
  /** Written into the run: its reason, or the run that is done again. */
  readonly mark: string
  outcome: 'ok' | 'refused' | 'unknown'
  runId: number | null
  sent: number
}

await using rig = await engineRig()
const { t, ctx, schedule } = rig.runs
exempt(t.database.ownerConnection.user)
const owner = t.database.owner.kysely
const asked: Asked[] = []
const cancels = new Map<number, string>()

/** Repeats with the same key until somebody knows; without one the first answer is all there is. */
async function ask(one: Asked, keyed: boolean, send: (ctx: Context) => Promise<{ runId: number }>): Promise<void> {
  asked.push(one)
  const bodyHash = createHash('sha256').update(one.mark).digest('hex')
  const as: Context = keyed ? { ...ctx, idempotency: { key: newUid(), bodyHash, position: 0 } } : ctx
  for (let tries = 1; tries <= (keyed ? 20 : 1); tries++) {
    one.sent++
    try {
      one.runId = (await send(as)).runId
      one.outcome = 'ok'
      return
    } catch (error) {
      one.outcome = judge(error, one.what)
      if (one.outcome === 'refused') return
    }
  }
}

function judge(error: unknown, what: string): 'refused' | 'unknown' {
  if (error instanceof AppError) return error.code === 'UNAVAILABLE' ? 'unknown' : 'refused'
  if (!isUnavailable(error)) surprises.push(`${what}: ${error instanceof Error ? error.stack : error}`)
  return 'unknown'
}

async function cancel(runId: number): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    try {
      await cancelRun(ctx, { runId })
      cancels.set(runId, 'ok')
      return
    } catch (error) {
      if (judge(error, 'cancel') === 'refused') return
    }
  }
}

/** Looks at the run as a client does, until it has ended. */
async function follow(runId: number): Promise<boolean> {
  for (const until = performance.now() + DRAIN_MS; performance.now() < until; await pause(200)) {
    try {
      const { run, commands } = await getRunStatus(ctx, { runId })
      const last = commands.findLast((one) => one.startedAt !== null)
      if (last !== undefined) await commandLogs(ctx, last.id, null)
      if (isFinal(run.state)) return true
    } catch (error) {
      judge(error, 'read')
    }
  }
  return false
}

const texts = [rig.command(0.05), rig.command(0.15)]
const own = await Promise.all(
  Array.from({ length: CLIENTS }, () => schedule({ commands: texts.slice(0, random.between(1, 2)) })),
)
const timed = []
for (const overlap of ['queue_one', 'skip', 'cancel_previous'] as const) {
  const one = await schedule({ commands: [rig.command(0.1)], overlap })
  await sql`update schedule set cron = '* * * * *', next_due_at = ${START.toISOString()} where id = ${one.id}`.execute(
    owner,
  )
  timed.push(one)
}

const began = performance.now()
const clock = { stoppedAt: null as Date | null }
const virtualNow = (): Date =>
  clock.stoppedAt ?? new Date(START.getTime() + Math.round((performance.now() - began) * SPEED))
const now: typeof due.now = async (db) => {
  await due.now(db)
  return virtualNow()
}
const lease = leaseTimes(LEASE_MS)
await rig.worker({ lease, slots: 4 })
await rig.worker({ lease, slots: 4 })
const place = { work: `${rig.runs.folder}/runs`, cache: `${rig.runs.folder}/cache` }
const services = [
  startScheduler(t.app, { now }),
  startScheduler(t.app, { now }),
  startPeriodic(
    t.app.log,
    reaper(t.app, { host: otherHost(), leaseMs: LEASE_MS, waitLimitSeconds: 3600, place, everyMs: 500 }),
  ),
]
arm({ seed, delayMs, perMille: PER_MILLE })

let made = 0
async function client(number: number): Promise<void> {
  while (counted().operations < operations && performance.now() - began < LOAD_MS) {
    const mark = `${seed}-${++made}`
    const one: Asked = { what: 'trigger', mark, outcome: 'unknown', runId: null, sent: 0 }
    const slug = own[number]!.slug
    await ask(one, random.chance(0.7), (as) => triggerRun(as, { slug, reason: mark }))
    const { runId } = one
    if (runId === null) continue
    const doomed = random.chance(0.4)
    if (doomed) await pause(random.between(0, 700))
    const both = [follow(runId), doomed ? cancel(runId) : undefined, listRuns(ctx, { offset: 0, limit: 5 })]
    await Promise.all(both.map((work) => Promise.resolve(work).catch((error: unknown) => judge(error, 'client'))))
    if (!random.chance(0.2)) continue
    const again: Asked = { what: 'retry', mark: String(runId), outcome: 'unknown', runId: null, sent: 0 }
    await ask(again, true, (as) => retryAllRun(as, { runId }))
    if (again.runId !== null) await follow(again.runId)
  }
}
await Promise.all(own.map((_, number) => client(number)))

// The clock of the timetable stops; everything that was begun comes to its end while the lies go on.
clock.stoppedAt = virtualNow()
await Promise.all(services.slice(0, 2).map((one) => one.stop()))
const openRuns = async (): Promise<number> => {
  const { rows } = await sql<{ open: number }>`select count(*)::int as open from run where ended_at is null`.execute(
    owner,
  )
  return rows[0]!.open
}
for (const until = performance.now() + DRAIN_MS; (await openRuns()) > 0 && performance.now() < until; ) await pause(100)
disarm()
const told = counted()
await scheduler(t.app, { now }).runOnce()
for (const until = performance.now() + DRAIN_MS; (await openRuns()) > 0 && performance.now() < until; ) await pause(100)
await services[2]!.stop()
// The last ends are written; what a worker still does after that is clearing away.
const findings = await checkEngine(rig)

const { rows: states } = await sql<{ state: string; count: number }>`select state, count(*)::int as count from run
  group by state order by state`.execute(owner)
const { rows: broken } = await sql<{ text: string }>`select 'run ' || id || ': ' || detail as text from run
  where state = 'failed' order by id`.execute(owner)
const { rows: commandsRun } = await sql<{ count: number }>`select count(*)::int as count from command
  where kind = 'user' and started_at is not null`.execute(owner)

const triggers: string[] = []
for (const one of asked) {
  const { rows } = await sql<{ id: number }>`select id from run where ${
    one.what === 'trigger' ? sql`reason = ${one.mark} and retry_of is null` : sql`retry_of = ${Number(one.mark)}`
  }`.execute(owner)
  const ids = rows.map((row) => row.id)
  const right =
    one.outcome === 'ok' ? ids.length === 1 && ids[0] === one.runId : ids.length <= Number(one.outcome === 'unknown')
  if (!right) triggers.push(`${one.what} ${one.mark} ${one.outcome} ${one.runId}: runs ${ids.join(', ')}`)
}
for (const [id] of cancels) {
  const { rows } = await sql<{ state: string }>`select state from run where id = ${id}`.execute(owner)
  if (rows[0]?.state !== 'canceled') triggers.push(`cancel of run ${id} was answered ok, and it is ${rows[0]?.state}`)
}

const expected = parseTimetable('* * * * *', 'UTC').count(new Date(START.getTime() - 1), clock.stoppedAt)
const ticks: string[] = []
for (const { id } of timed) {
  const { rows } = await sql<{ times: number; doubled: number }>`select
      coalesce(sum(coalesce(skipped_count, 1)), 0)::int as times, (count(*) - count(distinct due_at))::int as doubled
    from run where schedule_id = ${id} and due_at is not null`.execute(owner)
  const { times, doubled } = rows[0]!
  if (times !== expected || doubled > 0) ticks.push(`schedule ${id}: ${times} of ${expected} times, ${doubled} doubled`)
}
const threadFaults = t.lines.filter((line) => String(line.fields.reason ?? '').includes('the thread failed'))
unhandled.push(...threadFaults.map((line) => String(line.fields.reason)))

const brokenWhy = t.lines
  .filter((line) => line.message === 'a run broke')
  .map((line) => `run ${line.fields.run}: ${(line.fields.err as Error).stack}`)

const outcomes = (outcome: Asked['outcome']): number => asked.filter((one) => one.outcome === outcome).length
const report: SeedReport = {
  seed,
  counted: told,
  runs: Object.fromEntries(states.map(({ state, count }) => [state, count])),
  commandsRun: commandsRun[0]!.count,
  dueTimes: expected * timed.length,
  asked: {
    ok: outcomes('ok'),
    refused: outcomes('refused'),
    unknown: outcomes('unknown'),
    repeated: asked.filter((one) => one.sent > 1).length,
  },
  findings,
  triggers,
  ticks,
  surprises,
  unhandled,
  broken: [...broken.map((row) => row.text), ...brokenWhy],
}
console.log(JSON.stringify(report))
