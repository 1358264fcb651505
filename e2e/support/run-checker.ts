/**
 * Compares what clients were told, what the database holds and what the commands themselves wrote down. Every list
 * that is not empty is a broken promise.
 */
import type { RunHistory, RunOp } from './run-history.ts'
import { nameOf } from './run-load.ts'
import { FINAL, type Picture, type SeenCommand, type SeenRun } from './run-rows.ts'
import { ticksOf } from './run-ticks.ts'
import type { Witness, WitnessLine } from './witness.ts'

export interface RunFindings {
  /** Acknowledged, and without its run. */
  readonly lost: readonly string[]
  /** Two runs for one request. */
  readonly doubled: readonly string[]
  /** A run although it was refused or never sent. */
  readonly ghosts: readonly string[]
  readonly ticksLost: readonly string[]
  readonly ticksDoubled: readonly string[]
  /** A command that began twice, by the witness. */
  readonly doubleStarts: readonly string[]
  readonly takenTwice: readonly string[]
  /** A command began although the database does not know of it, or knew later. */
  readonly unrecorded: readonly string[]
  /** Something was still alive after the end was written. */
  readonly late: readonly string[]
  /** Recorded as done without the witness of it, or the other way round. */
  readonly untrue: readonly string[]
  /** A cancel was acknowledged and the run ended otherwise. */
  readonly notCanceled: readonly string[]
  /** Runs of one schedule side by side although they must not. */
  readonly overlapped: readonly string[]
  readonly unfinished: readonly string[]
  /** An end without its one record in the audit log. */
  readonly torn: readonly string[]
}

export interface RunFigures {
  readonly runs: number
  readonly byState: Readonly<Record<string, number>>
  readonly ticks: number
  readonly witnessLines: number
  readonly commandsStarted: number
  readonly unknownDone: number
}

export const faultsInRuns = (found: RunFindings): string[] =>
  Object.entries(found).flatMap(([name, list]) => (list as readonly string[]).map((text) => `${name}: ${text}`))

/** `firstDue`: of every schedule with a cron expression, the first time that it is due, in seconds. */
export function checkRuns(
  history: RunHistory,
  picture: Picture,
  witness: ReturnType<Witness['read']>,
  firstDue: ReadonlyMap<string, number>,
): { readonly found: RunFindings; readonly figures: RunFigures } {
  const asked = checkAsked(history, picture.runs)
  const ticks = ticksOf(picture, firstDue)
  const witnessed = checkWitness(picture, witness)
  const found: RunFindings = {
    lost: asked.lost,
    doubled: asked.doubled,
    ghosts: asked.ghosts,
    notCanceled: asked.notCanceled,
    ticksLost: ticks.lost,
    ticksDoubled: ticks.doubled,
    ...witnessed,
    overlapped: checkOverlap(picture.runs, witness.lines),
    unfinished: picture.runs.filter((run) => !FINAL.includes(run.state)).map((run) => `run ${run.id}: ${run.state}`),
    torn: picture.runs
      .filter((run) => run.endedAt !== null && run.endRecords !== (run.state === 'skipped' ? 0 : 1))
      .map((run) => `run ${run.id}, ${run.state}: ${run.endRecords} records of its end`),
  }
  const groups = Map.groupBy(picture.runs, (run) => run.state)
  const figures: RunFigures = {
    runs: picture.runs.length,
    byState: Object.fromEntries([...groups].map(([state, runs]) => [state, runs.length])),
    ticks: ticks.count,
    witnessLines: witness.lines.length,
    commandsStarted: new Set(witness.lines.map((line) => line.command)).size,
    unknownDone: asked.unknownDone,
  }
  return { found, figures }
}

/** Requests against rows. */
function checkAsked({ ops }: RunHistory, runs: readonly SeenRun[]) {
  const lost: string[] = []
  const doubled: string[] = []
  const ghosts: string[] = []
  const notCanceled: string[] = []
  let unknownDone = 0
  const byReason = Map.groupBy(runs, (run) => run.reason)
  const byRetried = Map.groupBy(runs, (run) => run.retryOf)
  const byId = new Map(runs.map((run) => [run.id, run]))
  const rowsOf = (op: RunOp): readonly SeenRun[] =>
    (op.kind === 'trigger'
      ? byReason.get(op.reason)?.filter((run) => run.retryOf === null)
      : byRetried.get(op.about)) ?? []
  for (const op of ops) {
    const name = nameOf(op)
    if (op.kind === 'cancel') {
      const state = byId.get(op.about)?.state ?? 'gone'
      if (op.outcome === 'ok' && state !== 'canceled') notCanceled.push(`run ${op.about} is ${state}`)
      continue
    }
    const rows = rowsOf(op)
    const ids = rows.map((run) => run.id).join(', ')
    if (rows.length > 1) doubled.push(`${name}: runs ${ids}`)
    if (op.outcome === 'ok' && !rows.some((run) => run.id === op.runId)) lost.push(`${name}: run ${op.runId}`)
    if ((op.outcome === 'refused' || op.outcome === 'waiting') && rows.length > 0) ghosts.push(`${name}: runs ${ids}`)
    if (op.outcome === 'unknown' && rows.length > 0) unknownDone++
  }
  return { lost, doubled, ghosts, notCanceled, unknownDone }
}

/** What commands wrote against what is recorded of them. */
function checkWitness({ runs, commands }: Picture, { lines, garbled }: ReturnType<Witness['read']>) {
  const doubleStarts: string[] = []
  const unrecorded: string[] = garbled.map((line) => `no such line is written by any command: ${line}`)
  const late: string[] = []
  const untrue: string[] = []
  const runOf = new Map(runs.map((run) => [run.id, run]))
  const linesOf = Map.groupBy(lines, (line) => line.command)
  const takenTwice = runs.filter((run) => run.attempt > 1).map((run) => `run ${run.id}, ${run.attempt} times`)
  const known = new Map(commands.map((command) => [command.id, command]))
  for (const [id, own] of linesOf) {
    const command = known.get(id)
    const run = runOf.get(own[0]!.run)
    if (command === undefined || run === undefined || own.some((line) => line.run !== command.runId)) {
      unrecorded.push(`command ${id} of run ${own[0]!.run}`)
      continue
    }
    const starts = own.filter((line) => line.word === 'start')
    if (starts.length > 1) doubleStarts.push(`command ${id} of run ${run.id} began ${starts.length} times`)
    if (starts.some((line) => command.startedAt === null || line.at < command.startedAt)) {
      unrecorded.push(`command ${id} of run ${run.id} began before that was recorded`)
    }
    for (const [what, end] of [
      [`command ${id}`, command.endedAt],
      [`run ${run.id}`, run.endedAt],
    ] as const) {
      const after = own.filter((line) => end !== null && line.at > end)
      const by = Math.max(...after.map((line) => (line.at - end!) * 1000))
      if (after.length > 0) late.push(`${what}: ${after.length} lines up to ${by.toFixed(0)} ms after its end`)
    }
  }
  for (const command of commands) {
    const fault = untruthOf(command, linesOf.get(command.id) ?? [])
    if (fault !== null) untrue.push(`command ${command.id} of run ${command.runId}: ${fault}`)
  }
  const statesOf = Map.groupBy(commands, (command) => command.runId)
  for (const run of runs) {
    const states = (statesOf.get(run.id) ?? []).map((command) => command.state)
    if (run.state === 'succeeded' && states.some((state) => state !== 'succeeded')) {
      untrue.push(`run ${run.id} succeeded with commands that are ${states.join(', ')}`)
    }
    if (run.endedAt !== null && states.some((state) => state === 'running' || state === 'waiting')) {
      untrue.push(`run ${run.id} has ended with commands that are ${states.join(', ')}`)
    }
  }
  return { doubleStarts, takenTwice, unrecorded, late, untrue }
}

function untruthOf(command: SeenCommand, lines: readonly WitnessLine[]): string | null {
  if (command.kind !== 'user') return lines.length > 0 ? 'it is none of ours' : null
  const has = (word: WitnessLine['word']): boolean => lines.some((line) => line.word === word)
  // Every command of ours that ends by itself says so first.
  const whole = command.state === 'succeeded' || (command.state === 'failed' && command.returnCode === 3)
  if (whole && !(has('start') && has('end'))) return `${command.state}, and the witness saw less`
  if (command.state === 'failed' && command.returnCode !== 3) return `failed with ${command.returnCode}`
  if ((command.state === 'not_run' || command.state === 'waiting') && lines.length > 0) {
    return `${command.state}, and the witness saw it`
  }
  return null
}

/** From the first line of a run to its last nothing of another one of its schedule and pull request is seen. */
function checkOverlap(runs: readonly SeenRun[], lines: readonly WitnessLine[]): string[] {
  const found: string[] = []
  const linesOf = Map.groupBy(lines, (line) => line.run)
  const alone = runs.filter((run) => run.overlap !== 'allow' || run.prNumber !== null)
  for (const group of Map.groupBy(alone, (run) => `${run.slug} ${run.prNumber}`).values()) {
    const spans = group
      .flatMap((run) => {
        const times = (linesOf.get(run.id) ?? []).map((line) => line.at)
        return times.length === 0 ? [] : [{ id: run.id, first: Math.min(...times), last: Math.max(...times) }]
      })
      .sort((a, b) => a.first - b.first)
    for (const [at, span] of spans.entries()) {
      const next = spans[at + 1]
      if (next !== undefined && next.first < span.last) found.push(`runs ${span.id} and ${next.id}`)
    }
  }
  return found
}
