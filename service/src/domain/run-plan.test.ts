import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenRun, Overlap } from './run-plan.ts'
import { decideTurn } from './run-plan.ts'

const going: OpenRun = { id: 1, isTick: true, released: true }
const waiting: OpenRun = { id: 2, isTick: true, released: false }
const asked: OpenRun = { id: 3, isTick: false, released: false }
const tick = { cause: 'cron', dueAt: '2026-01-01 00:00Z', prNumber: null } as const
const person = { cause: 'person', dueAt: null, prNumber: null } as const

test('whose turn it is follows from the policy and the open runs of the group', () => {
  const table: [typeof tick | typeof person, Overlap, OpenRun[], string, number[]][] = [
    [tick, 'queue_one', [], 'go', []],
    [tick, 'queue_one', [going], 'wait', []],
    [tick, 'queue_one', [going, asked], 'wait', []],
    [tick, 'queue_one', [going, waiting], 'skip', []],
    [tick, 'skip', [], 'go', []],
    [tick, 'skip', [going], 'skip', []],
    [tick, 'allow', [going, waiting], 'go', []],
    [tick, 'cancel_previous', [going, waiting, asked], 'wait', [1, 2]],
    [person, 'queue_one', [going, waiting], 'wait', []],
    [person, 'skip', [going], 'wait', []],
    [person, 'cancel_previous', [going], 'wait', []],
    [person, 'allow', [going], 'go', []],
  ]
  for (const [plan, overlap, others, kind, cancel] of table) {
    const turn = decideTurn(plan, overlap, others)
    assert.equal(turn.kind, kind, `${plan.cause} ${overlap} ${others.length}`)
    assert.deepEqual('cancel' in turn ? turn.cancel : [], cancel)
  }
})

test('a newer run of a pull request cancels the older ones, and a retry never does', () => {
  const pr = { cause: 'key', dueAt: null, prNumber: 7 } as const
  assert.deepEqual(decideTurn(pr, 'queue_one', [asked]), { kind: 'wait', cancel: [3] })
  assert.deepEqual(decideTurn(pr, 'queue_one', []), { kind: 'go', cancel: [] })
  assert.deepEqual(decideTurn({ ...pr, cause: 'retry' }, 'queue_one', [asked]), { kind: 'wait', cancel: [] })
})
