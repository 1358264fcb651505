// A worker that is stopped for three leases, or cut off from its database, again and again (R4): nothing that it writes
// afterwards is accepted, its processes are gone within two seconds of going on, and before its leases end where it was
// only cut off.
//
//   node e2e/faults/fencing.ts [--rounds 60] [--lease 3] [--seed N]
import { parseArgs } from 'node:util'
import { fencingRounds } from '../support/fencing.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    lease: { type: 'string', default: '3' },
    seed: { type: 'string' },
  },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
console.log(`workers stopped and cut off, seed ${seed}`)
const lines = await fencingRounds({
  seed,
  rounds: Number(values.rounds),
  leaseSeconds: Number(values.lease),
  say: (line) => console.log(`  ${(clock() / 1000).toFixed(0).padStart(4)} s  ${line}`),
})
summary('workers stopped and cut off', clock, lines)
