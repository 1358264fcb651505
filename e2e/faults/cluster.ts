// Two servers and three workers on one PostgreSQL, each with its own data folder: 10,000 due times, none doubled, none
// lost, while one worker is killed, one stopped for three leases and one cut off from the database. Then every log, file
// and search result is read through each server.
//
//   node e2e/faults/cluster.ts [--lease 4] [--seed N]
import { parseArgs } from 'node:util'
import { clusterStorm } from '../support/cluster-storm.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({ options: { lease: { type: 'string', default: '4' }, seed: { type: 'string' } } })
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
console.log(`many nodes on one database, seed ${seed}`)

const lines = await clusterStorm({
  seed,
  leaseSeconds: Number(values.lease),
  kinds: [
    // A row for each time, the latest of which runs.
    { schedules: 90, times: 101, more: { catchUp: 'LATEST' } },
    // One row for more than a hundred times.
    { schedules: 10, times: 119, more: { catchUp: 'LATEST' } },
    // All of them run, side by side or one after the other.
    { schedules: 20, times: 10, more: { catchUp: 'ALL', overlap: 'ALLOW' } },
    { schedules: 10, times: 6, more: { catchUp: 'ALL', overlap: 'QUEUE_ONE' } },
  ],
  overMs: 45_000,
  say: (line) => console.log(`  ${(clock() / 1000).toFixed(0).padStart(4)} s  ${line}`),
})
summary('many nodes on one database', clock, lines)
