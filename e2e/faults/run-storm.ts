// kill -9 of the service while runs are triggered, due, going, canceled and retried, and start again, a hundred times.
// Three accounts are compared: what the clients were told, what the database holds, and what the commands wrote into a
// file of their own (R1, R2, R3; I1 to I7).
//
//   node e2e/faults/run-storm.ts [--external] [--kills 100] [--seed N]
//
// --external: on a PostgreSQL that is not the service's: DATABASE_URL where it is set, otherwise one that is started
// here. Only the service is killed then.
import { parseArgs } from 'node:util'
import { externalPostgres } from '../support/external-postgres.ts'
import { median, startClock, summary } from '../support/report.ts'
import { SLOTS } from '../support/run-scene.ts'
import { runStorm } from '../support/run-storm.ts'

const { values } = parseArgs({
  options: {
    external: { type: 'boolean', default: false },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string' },
  },
})
const kills = Number(values.kills)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
const title = `kill storm over runs${values.external ? ', external database' : ''}`
console.log(`${title}, seed ${seed}`)

const external = values.external ? await externalPostgres(process.env.DATABASE_URL) : undefined
const report = await runStorm({
  ...{ kills, seed, life: [200, 3000], perSecond: 10, ticking: 10 },
  ...(external && { external }),
  say: (line) => console.log(`  ${line}`),
})
await external?.stop()

const { history, found, figures, orphans, left, ends } = report
const none = (n: number): boolean => n === 0
const most = (numbers: readonly number[]): number => Math.max(0, ...numbers)
summary(title, clock, [
  ['kills under load', report.kills],
  ['  at the beginning of a minute, when schedules are due', report.killsAtTick],
  ['further kills during start-up', report.killsAtStart],
  ['runs in the hands of the worker at the kills', report.runsHeldAtKills, (n) => n >= kills],
  ['  of one worker at one kill, max', report.mostHeld, (n) => n <= SLOTS],
  ['acknowledged triggers', history.count('trigger', 'ok'), (n) => n >= kills * 5],
  ['  of unknown outcome at the end', history.count('trigger', 'unknown')],
  ['  sent again with their Idempotency-Key', history.resent()],
  ['  repeated after their answer', history.repeated],
  ['    answered differently', history.repeatedDifferently.length, none],
  ['acknowledged retries', history.count('retry', 'ok')],
  ['acknowledged cancels', history.count('cancel', 'ok')],
  ['runs', figures.runs],
  ...Object.entries(figures.byState).map(([state, count]) => [`  ${state}`, count] as const),
  ['acknowledged and lost', found.lost.length, none],
  ['doubled', found.doubled.length, none],
  ['there although refused', found.ghosts.length, none],
  ['canceled, and ended otherwise', found.notCanceled.length, none],
  ['due times', figures.ticks],
  ['  lost', found.ticksLost.length, none],
  ['  doubled', found.ticksDoubled.length, none],
  ['runs taken twice', found.takenTwice.length, none],
  ['commands that the witness saw', figures.commandsStarted],
  ['  started twice', found.doubleStarts.length, none],
  ['  started before it was recorded', found.unrecorded.length, none],
  ['  recorded otherwise than seen', found.untrue.length, none],
  ['  alive after their end was recorded', found.late.length, none],
  ['runs side by side that must not be', found.overlapped.length, none],
  ['ended runs seen', ends.size],
  ['  looks at them, in the database and by the interface', ends.looks + report.endsByInterface.looks],
  ['  ends that changed', ends.changed.length + report.endsByInterface.changed.length, none],
  ['ends without their one audit record', found.torn.length, none],
  ['not ended after the drain', found.unfinished.length, none],
  ['  the drain took, s', report.drainSeconds],
  ['runs that outlived their worker', orphans.length],
  ['  open while a service answered, s, p50', median(orphans.map((one) => one.answered))],
  ['  open while a service answered, s, max', most(orphans.map((one) => one.answered)), (s) => s <= 5],
  ['  open since a service was launched, s, max', most(orphans.map((one) => one.launched))],
  ['  open since the kill, s, max', most(orphans.map((one) => one.age))],
  ['processes seen beneath the services', report.processesSeen],
  ['  of commands, at the kills', report.commandsAtKills, (n) => n > 0],
  ['  alive at the end', left.processes.length, none],
  ['  zombies', left.zombies.length, none],
  ['work folders left', left.workFolders.length, none],
  ['control groups left', left.controlGroups.length, none],
  ['temporary folders left', left.temporaryFolders.length, none],
  ['mounts left', left.mounts.length, none],
  ['of the database left', left.database.length, none],
  ['kill to first answer, ms, p50', median(report.restartMs)],
  ['kill to first answer, ms, max', most(report.restartMs)],
  ['all faults', report.faults.length, none],
])
for (const fault of report.faults.slice(0, 40)) console.log(`  ${fault}`)
