// A server and two workers on one database, while jobs are delivered again and again. The build as it is, one worker or
// the other being killed about every two seconds, has no fault; and the checker is seen to fail on a build in which the
// compare-and-set of taking a run and of starting a command is taken out. Without that, the zeros would prove little.

//
//   node e2e/faults/run-storm-broken.ts [--seconds 20] [--seed N]
import { parseArgs } from 'node:util'
import { buildWithout, COMPARE_AND_SET } from '../support/broken-build.ts'
import { type CrowdOptions, type CrowdReport, crowd } from '../support/crowd.ts'
import { externalPostgres } from '../support/external-postgres.ts'
import { type Line, startClock, summary } from '../support/report.ts'
import { sawTwice } from '../support/witness.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } } })
const seconds = Number(values.seconds)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
console.log(`kill storm over workers, seed ${seed}`)

async function scene(options: Omit<CrowdOptions, 'postgres' | 'workers' | 'seed'>): Promise<CrowdReport> {
  const postgres = await externalPostgres()
  const report = await crowd({ postgres, workers: 2, seed, ...options })
  await postgres.stop()
  return report
}

const lines = ({ history, figures, found, workersKilled, jobsAgain, endsChanged, faults }: CrowdReport): Line[] => [
  ['workers killed', workersKilled],
  ['jobs delivered once more', jobsAgain],
  ['acknowledged triggers', history.count('trigger', 'ok')],
  ['runs', figures.runs],
  ['  taken twice', found.takenTwice.length],
  ['commands that the witness saw', figures.commandsStarted],
  ['  started twice', found.doubleStarts.length],
  ['  alive after their end was recorded', found.late.length],
  ['  recorded otherwise than seen', found.untrue.length],
  ['ends that changed', endsChanged],
  ['not ended after the drain', found.unfinished.length],
  ['all faults', faults.length],
]

const whole = await scene({ seconds, perSecond: 10, slots: 4, kill: true, drainMs: 600_000 })
summary('the build as it is', clock, [
  ...lines(whole),
  ['faults of the build as it is', whole.faults.length, (n) => n === 0],
])
for (const fault of whole.faults.slice(0, 20)) console.log(`  ${fault}`)

const entry = await buildWithout(COMPARE_AND_SET)
// A worker with a free slot takes what it is told to.
const broken = await scene({
  ...{ entry, seconds: 180, until: sawTwice },
  perSecond: 2,
  slots: 16,
  kill: false,
  drainMs: 0,
})
summary('without the compare-and-set', clock, [
  ...lines(broken),
  ['commands started twice, as they must be here', broken.found.doubleStarts.length, (n) => n > 0],
])
for (const fault of broken.faults.slice(0, 10)) console.log(`  ${fault}`)
