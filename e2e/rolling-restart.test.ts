// A server and a worker of several are restarted while runs are going: the short form of e2e/faults/rolling-restart.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rollingRestart } from './support/rolling-restart.ts'

const TIMED = / ms(,|$)|later than 100 ms/

test('a restart of a server and of a worker orphans no run and fails no call of a client that tries again', async (t) => {
  const lines = await rollingRestart({
    restarts: { servers: 1, workers: 1 },
    inFlight: 4,
    runSeconds: 2,
    say: (line) => t.diagnostic(line),
  })
  const wrong = lines.filter(([name, figure, holds]) => !TIMED.test(name) && holds?.(figure) === false)
  assert.deepEqual(
    wrong.map(([name, figure]) => `${name.trim()}: ${figure}`),
    [],
  )
})
