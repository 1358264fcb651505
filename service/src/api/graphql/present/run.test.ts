import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunRow } from '../../../app/run-queries.ts'
import { presentRun } from './run.ts'

const NOW = new Date('2026-03-02T09:01:00Z')
const run = (fields: Partial<RunRow>): RunRow =>
  ({
    state: 'waiting',
    detail: '',
    acceptedAt: '2026-03-02 09:00:00.000000',
    startedAt: null,
    endedAt: null,
    prNumber: null,
    missingLabels: null,
    ...fields,
  }) as RunRow

test('a run says why it waits when no worker that may take it is alive, and is RUNNING to clients all the same', () => {
  const detail = (missingLabels: readonly string[] | null): string => presentRun(run({ missingLabels }), NOW).detail
  assert.equal(detail(['gpu', 'eu-west']), 'It waits: no worker with the labels gpu, eu-west is running.')
  assert.equal(detail(['gpu']), 'It waits: no worker with the label gpu is running.')
  assert.equal(detail([]), 'It waits: no worker is running.')
  assert.equal(detail(null), '')
  const { state, phase, waitedSeconds } = presentRun(run({ missingLabels: ['gpu'] }), NOW)
  assert.deepEqual([state, phase, waitedSeconds], ['RUNNING', 'WAITING', 60])
  assert.equal(presentRun(run({ state: 'failed', detail: 'worker stopped' }), NOW).detail, 'worker stopped')
})
