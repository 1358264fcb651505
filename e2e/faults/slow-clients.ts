// A thousand connections whose requests come byte by byte, ten thousand that only stay, header bombs, answers that nobody
// reads: a client that behaves does not notice.
//
//   node e2e/faults/slow-clients.ts [--slow 1000] [--idle 10000] [--seconds 40]
import { parseArgs } from 'node:util'
import { startClock, summary } from '../support/report.ts'
import { startProcess } from '../support/service.ts'
import { besiege, descriptorLimitOf, percentile } from '../support/slow-clients.ts'

const { values } = parseArgs({
  options: {
    slow: { type: 'string', default: '1000' },
    idle: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '40' },
  },
})
const clock = startClock()
const service = await startProcess({ env: { YARDMASTER_LOG_LEVEL: 'error' } })
const slow = Number(values.slow)
const unread = 100
// Both ends of every connection need a descriptor, one here and one there.
const limit = Math.min(descriptorLimitOf(service.pid), descriptorLimitOf(process.pid))
const idle = Math.max(0, Math.min(Number(values.idle), limit - slow - unread - 500))
if (idle < Number(values.idle)) console.log(`  only ${idle} idle connections: the limit of open files is ${limit}`)

const report = await besiege(service, { slow, idle, unread, seconds: Number(values.seconds) })
for (const line of report.wrongBombs.slice(0, 5)) console.log(`  ${line}`)
const errors = service
  .stderr()
  .split('\n')
  .filter((line) => line.includes('"level"'))
// Five hundred large questions in one moment, of clients that do not read the answers, may find the database busy.
const busy = errors.filter((line) => line.includes('"status":503')).length
for (const line of errors.filter((one) => !one.includes('"status":503')).slice(0, 5))
  console.log(`  ${line.slice(0, 1_000)}`)
const { ms, failed } = report.steady
summary('slow clients', clock, [
  ['slow connections at once', report.open.slow, (n) => n >= slow * 0.9],
  ['idle connections at once', report.open.idle, (n) => n >= idle * 0.99],
  ['connections that do not read', report.open.unread],
  ['slow ones that the service ended', report.ended, (n) => n >= slow],
  ['  with 408', report.timedOut],
  ['header bombs', report.bombs],
  ['  answered with something else than 431', report.wrongBombs.length, (n) => n === 0],
  ['client that behaves, before, ms, p95', percentile(report.calm.ms, 0.95)],
  ['requests of it meanwhile', ms.length],
  ['  failed', failed, (n) => n === 0],
  ['  ms, p50', percentile(ms, 0.5)],
  ['  ms, p95', percentile(ms, 0.95), (n) => n <= 500],
  ['  ms, max', percentile(ms, 1)],
  ['descriptors of the service before', report.descriptors[0]],
  ['descriptors after all have gone', report.descriptors[1], (n) => n <= report.descriptors[0] + 20],
  ['answered 503, of those that do not read', busy],
  ['other errors in the log', errors.length - busy, (n) => n === 0],
  ['answers as before', report.well ? 1 : 0, (n) => n === 1],
])
await service.stop()
