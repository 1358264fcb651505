// Fifty rolling restarts (SIGTERM) of two servers and three workers with a hundred runs in flight (R19): no run is
// orphaned, no call of a retrying client fails, nothing is taken later than 100 ms after the signal, readiness is off.
//
//   node e2e/faults/rolling-restart.ts [--servers 30] [--workers 20] [--runs 100] [--seconds 20]
import { parseArgs } from 'node:util'
import { startClock, summary } from '../support/report.ts'
import { rollingRestart } from '../support/rolling-restart.ts'

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '30' },
    workers: { type: 'string', default: '20' },
    runs: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
  },
})
const clock = startClock()
console.log('rolling restarts')
const lines = await rollingRestart({
  restarts: { servers: Number(values.servers), workers: Number(values.workers) },
  inFlight: Number(values.runs),
  runSeconds: Number(values.seconds),
  say: (line) => console.log(`  ${(clock() / 1000).toFixed(0).padStart(4)} s  ${line}`),
})
summary('rolling restarts', clock, lines)
