// Runs go on while their database does not (R6): PostgreSQL is killed again and again under load, then stopped for forty
// seconds, and no live command is killed; each of their lines is kept, once. Stopped for longer than the lease, every
// live command is fenced before its lease ends and its run ends once, with a reason that says so.
//
//   node e2e/faults/database-stopped.ts [--kills 10] [--seconds 40] [--seed N]
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fencedByOutage, runsThroughOutages } from '../support/database-outage.ts'
import { seeded } from '../support/random.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '40' },
    seed: { type: 'string' },
  },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const random = seeded(seed)
const clock = startClock()
const say = (line: string): void => console.log(`  ${(clock() / 1000).toFixed(0).padStart(4)} s  ${line}`)
console.log(`the database stops under runs, seed ${seed}`)

const kills = Array.from({ length: Number(values.kills) }, () => async () => await pause(random.between(500, 4000)))
const through = await runsThroughOutages({ kills, stopSeconds: Number(values.seconds), say })
const fenced = await fencedByOutage({ leaseSeconds: 4, stopSeconds: 12, say })
summary('the database stops under runs', clock, [...through, ...fenced])
