/**
 * Cancels at a random moment around the start and the end of a run, many runs at a time. The answer of a cancel decides:
 * ok means CANCELED, a conflict means that the run had ended before.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { cancelRun } from '../../../service/src/app/runs.ts'
import { triggerRun } from '../../../service/src/app/trigger-run.ts'
import { AppError } from '../../../service/src/domain/errors.ts'
import { isFinal } from '../../../service/src/domain/run.ts'
import { seeded } from '../random.ts'
import { checkEngine, faultsIn } from './check.ts'
import { engineRig } from './rig.ts'

export interface CancelRaces {
  readonly runs: number
  readonly atOnce: number
  readonly seed: number
  readonly say?: (line: string) => void
}

export interface CancelReport {
  readonly runs: number
  /** Answers of cancels. */
  readonly ok: number
  readonly conflict: number
  /** What the run was in when the cancel came, as far as its rows tell afterwards. */
  readonly canceledWaiting: number
  readonly canceledBeforeACommand: number
  readonly canceledInACommand: number
  readonly ended: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

const LONGEST_MS = 500
/** What the random time is counted from. */
const MOMENTS = ['trigger', 'start', 'last command', 'finish'] as const
const WAIT_MS = 60_000

export async function cancelRaces({ runs, atOnce, seed, say = () => {} }: CancelRaces): Promise<CancelReport> {
  const random = seeded(seed)
  await using rig = await engineRig()
  const { t, ctx } = rig.runs
  const faults: string[] = []
  // Two commands of up to a quarter of a second: the moment of the cancel falls before, into, between and after them.
  const schedules = await Promise.all(
    Array.from({ length: 12 }, () =>
      rig.runs.schedule({
        overlap: 'allow',
        commands: [rig.command(random.between(0, 10) / 40), rig.command(random.between(0, 10) / 40)],
      }),
    ),
  )
  // Fewer slots than runs: some wait.
  await rig.worker({ slots: Math.ceil(atOnce / 3) })
  await rig.worker({ slots: Math.ceil(atOnce / 3) })
  const answers = new Map<number, 'ok' | 'conflict'>()
  let left = runs
  let over = 0

  const cancel = async (runId: number): Promise<void> => {
    try {
      await cancelRun(ctx, { runId })
      answers.set(runId, 'ok')
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'CONFLICT') throw error
      answers.set(runId, 'conflict')
      const { state } = await rig.runs.run(runId)
      if (!isFinal(state)) faults.push(`run ${runId}: a conflict while it was ${state}`)
    }
  }
  const hasCome = async (runId: number, moment: (typeof MOMENTS)[number]): Promise<boolean> => {
    if (moment === 'trigger') return true
    const { state, startedAt } = await rig.runs.run(runId)
    if (moment === 'start' || isFinal(state)) return startedAt !== null || isFinal(state)
    const { startedAt: begun, endedAt } = (await rig.runs.commands(runId)).at(-1)!
    return (moment === 'finish' ? endedAt : begun) !== null
  }
  const one = async (): Promise<void> => {
    const { runId } = await triggerRun(ctx, { slug: random.pick(schedules).slug })
    const until = performance.now() + WAIT_MS
    const moment = random.pick(MOMENTS)
    while (!(await hasCome(runId, moment)) && performance.now() < until) await pause(10)
    await pause(random.between(0, LONGEST_MS))
    await cancel(runId)
    while (!isFinal((await rig.runs.run(runId)).state)) {
      if (performance.now() > until) return void faults.push(`run ${runId} has not ended after ${WAIT_MS} ms`)
      await pause(25)
    }
  }
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        await one()
        if (++over % 500 === 0) say(`${over} runs`)
      }
    }),
  )

  const found = await checkEngine(rig)
  const { rows } = await sql<{ id: number; state: string; when: string }>`select r.id, r.state,
      case when r.state <> 'canceled' then '' when r.attempt = 0 then 'waiting'
        when exists (select 1 from command c where c.run_id = r.id and c.state = 'stopped') then 'in' else 'before' end
      as when from run r`.execute(t.database.owner.kysely)
  for (const { id, state } of rows) {
    const answer = answers.get(id)
    if ((answer === 'ok') !== (state === 'canceled')) faults.push(`run ${id}: the cancel was ${answer}, it is ${state}`)
  }
  if (rows.length !== runs) faults.push(`${rows.length} runs for ${runs} triggers`)
  const count = (holds: (row: (typeof rows)[number]) => boolean): number => rows.filter(holds).length
  return {
    runs: rows.length,
    ok: [...answers.values()].filter((one) => one === 'ok').length,
    conflict: [...answers.values()].filter((one) => one === 'conflict').length,
    canceledWaiting: count((row) => row.when === 'waiting'),
    canceledBeforeACommand: count((row) => row.when === 'before'),
    canceledInACommand: count((row) => row.when === 'in'),
    ended: Object.fromEntries([...Map.groupBy(rows, (row) => row.state)].map(([state, all]) => [state, all.length])),
    faults: [...faults, ...faultsIn(found)],
  }
}
