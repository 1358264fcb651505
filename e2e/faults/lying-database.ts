/**
 * A database that lies (R5): of every statement that the service sends, 1 % each is refused or lost before it happens,
 * happens and loses its answer, takes two seconds longer, or loses its connection on the way; of commits, 15 % lose their
 * answer. Twenty seeds, 50,000 statements in all, with real processes below: what was asked for is there once, every due
 * time has its row, no command starts twice, no end changes, nothing is stuck, and the audit log is whole.
 *
 *   node e2e/faults/lying-database.ts [seeds] [statements of each] [first seed]
 */
import { startTestCluster } from '../../service/test/support/database.ts'
import { type EngineFindings, WORDS } from '../support/engine/check.ts'
import { faultsOf, runSeed } from '../support/lying-database/index.ts'
import type { SeedReport } from '../support/lying-database/seed.ts'
import { type Line, startClock, summary } from '../support/report.ts'

const SEEDS = Number(process.argv[2] ?? 20)
const OPERATIONS = Number(process.argv[3] ?? 2_600)
const FIRST = Number(process.argv[4] ?? Math.floor(Math.random() * 1_000_000))
const DELAY_MS = 2_000

const clock = startClock()
const cluster = await startTestCluster()
const reports: SeedReport[] = []
try {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    const report = await runSeed({ seed, operations: OPERATIONS, delayMs: DELAY_MS }, cluster.environment)
    reports.push(report)
    const { operations, before, after, delay, drop } = report.counted
    const faults = faultsOf(report)
    console.log(
      `seed ${seed}: ${operations} statements, ${before} before, ${after} after, ${delay} delayed, ${drop} dropped; ` +
        `runs ${JSON.stringify(report.runs)}; ${faults.length} faults; ${(clock() / 1000).toFixed(0)} s`,
    )
    for (const fault of faults) console.log(`  FAULT ${fault}`)
    for (const text of report.broken) console.log(`  ${text}`)
  }
} finally {
  await cluster.stop()
}

const sum = (of: (report: SeedReport) => number): number => reports.reduce((total, one) => total + of(one), 0)
const isNone = (count: number): boolean => count === 0
const isSome = (count: number): boolean => count > 0
const found = (Object.keys(WORDS) as (keyof EngineFindings)[]).map(
  (key): Line => [`  ${WORDS[key]}`, sum((one) => one.findings[key].length), isNone],
)
summary(`a database that lies, seeds ${FIRST} to ${FIRST + SEEDS - 1}`, clock, [
  ['statements', sum((one) => one.counted.operations), (count) => count >= Math.min(50_000, SEEDS * OPERATIONS)],
  ['  of them by the threads that renew leases', sum((one) => one.counted.threads), isSome],
  ['refused or lost before they happened', sum((one) => one.counted.before), isSome],
  ['happened, and lost their answer', sum((one) => one.counted.after), isSome],
  ['  of them commits', sum((one) => one.counted.commits), isSome],
  ['delayed', sum((one) => one.counted.delay), isSome],
  ['connections lost on the way', sum((one) => one.counted.drop), isSome],
  ['runs asked for and acknowledged', sum((one) => one.asked.ok), isSome],
  ['  asked for again with their key', sum((one) => one.asked.repeated), isSome],
  ['  of unknown outcome', sum((one) => one.asked.unknown)],
  ['  lost or doubled', sum((one) => one.triggers.length), isNone],
  ['due times', sum((one) => one.dueTimes), isSome],
  ['  schedules with one lost or doubled', sum((one) => one.ticks.length), isNone],
  ['commands executed', sum((one) => one.commandsRun), isSome],
  ...found,
  ['errors that a client would see as a 500', sum((one) => one.surprises.length), isNone],
  ['unhandled rejections and exceptions', sum((one) => one.unhandled.length), isNone],
  ['runs that failed because of the database', sum((one) => one.broken.length)],
])
