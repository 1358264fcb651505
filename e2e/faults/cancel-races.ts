/**
 * Cancels that race with the start and the end of runs (R14): 5,000 runs with real processes, each canceled at a random
 * moment. Every run has one end; a cancel that was answered decides; no command starts after it.
 *
 *   node e2e/faults/cancel-races.ts [runs] [seed]
 */
import { cancelRaces } from '../support/engine/cancel-races.ts'
import { startClock, summary } from '../support/report.ts'

const RUNS = Number(process.argv[2] ?? 5_000)
const SEED = Number(process.argv[3] ?? Math.floor(Math.random() * 1_000_000))

const clock = startClock()
const report = await cancelRaces({
  runs: RUNS,
  atOnce: 12,
  seed: SEED,
  say: (line) => console.log(`${line}, ${(clock() / 1000).toFixed(0)} s`),
})
for (const fault of report.faults) console.log(`FAULT ${fault}`)
const isSome = (count: number): boolean => count > 0
summary(`cancels that race, seed ${SEED}`, clock, [
  ['runs', report.runs, (count) => count === RUNS],
  ['cancels that were answered with ok', report.ok, isSome],
  ['  while the run was waiting', report.canceledWaiting, isSome],
  ['  before, between or after its commands', report.canceledBeforeACommand, isSome],
  ['  while a command was running', report.canceledInACommand, isSome],
  ['cancels that came after the end', report.conflict, isSome],
  ['runs that succeeded', report.ended.succeeded ?? 0, isSome],
  [
    'faults: ends that differ from the answer or changed, starts after the cancel, …',
    report.faults.length,
    (n) => n === 0,
  ],
])
