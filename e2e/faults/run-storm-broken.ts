// Two proofs with one scene, a server and two workers of which one or the other is killed every two seconds, while jobs
// are delivered again and again: the build as it is has no fault, and the checker is seen to fail on a build in which the compare-and-set of taking a run and of
// starting a command is taken out. Without the second, the zeros of the first would prove little.
//
//   node e2e/faults/run-storm-broken.ts [--seconds 20] [--seed N]
import { parseArgs } from 'node:util'
import { buildWithout, COMPARE_AND_SET } from '../support/broken-build.ts'
import { type CrowdReport, crowd } from '../support/crowd.ts'
import { externalPostgres } from '../support/external-postgres.ts'
import { type Line, startClock, summary } from '../support/report.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } } })
const seconds = Number(values.seconds)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
console.log(`kill storm over workers, seed ${seed}`)

async function scene(entry?: string): Promise<CrowdReport> {
  const postgres = await externalPostgres()
  const drainMs = entry === undefined ? 300_000 : 30_000
  const options = { postgres, workers: 2, seconds, perSecond: 10, seed, drainMs, kill: true }
  const report = await crowd({ ...options, ...(entry !== undefined && { entry }) })
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

const whole = await scene()
summary('the build as it is', clock, [
  ...lines(whole),
  ['faults of the build as it is', whole.faults.length, (n) => n === 0],
])
for (const fault of whole.faults.slice(0, 20)) console.log(`  ${fault}`)

const broken = await scene(await buildWithout(COMPARE_AND_SET))
summary('without the compare-and-set', clock, [
  ...lines(broken),
  ['commands started twice, as they must be here', broken.found.doubleStarts.length, (n) => n > 0],
])
for (const fault of broken.faults.slice(0, 10)) console.log(`  ${fault}`)
