// Ten thousand malformed requests over real sockets: no 5xx, no crash, no unhandled rejection, memory flat.
//
//   node e2e/faults/fuzz.ts [--count 10000] [--seed N] [--clients 8]
import { parseArgs } from 'node:util'
import { fuzz } from '../support/fuzz.ts'
import { FAMILIES } from '../support/malformed/index.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    clients: { type: 'string', default: '8' },
  },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const clock = startClock()
console.log(`malformed requests, seed ${seed}`)

const report = await fuzz({ count: Number(values.count), seed, warmUp: 3_000, clients: Number(values.clients) })
for (const line of report.wrong.slice(0, 20)) console.log(`  ${line}`)
for (const line of report.complaints.slice(0, 20)) console.log(`  ${line.slice(0, 1_000)}`)
const sorted = report.ms.toSorted((one, other) => one - other)
const [before, after] = report.memory
summary('malformed requests', clock, [
  ['sent', report.sent],
  ['families', report.families.size, (n) => n === FAMILIES.length],
  ...[...report.statuses].sort().map(([status, count]) => [`  answered ${status}`, count] as const),
  ['wrong answers (5xx, none, not JSON)', report.wrong.length, (n) => n === 0],
  ['errors and unhandled rejections in the log', report.complaints.length, (n) => n === 0],
  ['answers as before', report.well ? 1 : 0, (n) => n === 1],
  ['memory before, MB', before.resident],
  ['memory after, MB', after.resident, (n) => n <= before.resident + 50],
  ['  before the collection of garbage, MB', before.residentBefore],
  ['    at the end, MB', after.residentBefore],
  ['answer, ms, p50', sorted[Math.floor(sorted.length * 0.5)] ?? 0],
  ['answer, ms, p99', sorted[Math.floor(sorted.length * 0.99)] ?? 0],
  ['answer, ms, max', sorted.at(-1) ?? 0],
])
