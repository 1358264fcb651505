import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentStatus, Standing } from './agent-session.ts'
import {
  AGENT_STATUSES,
  decideLoss,
  decideMessage,
  decideStop,
  decideWait,
  isMessage,
  isOver,
  mayFollow,
  NEXT_STATUS,
} from './agent-session.ts'

const NOW = 1_772_442_000_000_001
const MINUTE = 60_000_000
const DAY = 24 * 60 * MINUTE

const standing = (status: AgentStatus, more: Partial<Standing> = {}): Standing => ({
  status,
  turn: 1,
  queuedUs: NOW,
  lastMessageUs: NOW,
  ...more,
})

/** Every cell of the table: what an event makes of each state. */
const TABLE: Readonly<
  Record<AgentStatus, { message: string; stop: string; first: string | null; later: string | null }>
> = {
  queued: { message: 'join', stop: 'stop', first: 'expired', later: 'failed' },
  running: { message: 'join', stop: 'stop', first: null, later: null },
  completed: { message: 'queue', stop: 'as it is', first: null, later: null },
  failed: { message: 'queue', stop: 'as it is', first: null, later: null },
  stopped: { message: 'queue', stop: 'as it is', first: null, later: null },
  expired: { message: 'refused', stop: 'as it is', first: null, later: null },
}

for (const status of AGENT_STATUSES) {
  test(`what a message, a stop and a long wait make of a session that is ${status}`, () => {
    const { message, stop, first, later } = TABLE[status]
    const long = NOW + 61 * MINUTE
    assert.equal(decideMessage(standing(status), NOW).kind, message)
    assert.equal(decideStop(status), stop)
    assert.equal(decideWait(standing(status), long)?.status ?? null, first)
    assert.equal(decideWait(standing(status, { turn: 2 }), long)?.status ?? null, later)
  })

  test(`24 hours after the last message one more microsecond refuses another, when it is ${status}`, () => {
    const at = (age: number) => decideMessage(standing(status, { lastMessageUs: NOW - age }), NOW).kind
    assert.equal(at(DAY), TABLE[status].message)
    assert.equal(at(DAY + 1), 'refused')
    assert.equal(at(-MINUTE), TABLE[status].message)
  })
}

test('a first turn may wait 15 minutes and a later one 60, to the microsecond', () => {
  const first = (waited: number) => decideWait(standing('queued', { queuedUs: NOW - waited }), NOW)
  const later = (waited: number) => decideWait(standing('queued', { queuedUs: NOW - waited, turn: 2 }), NOW)
  assert.equal(first(15 * MINUTE), null)
  assert.deepEqual(first(15 * MINUTE + 1), { status: 'expired', reason: 'No worker began it within 15 minutes.' })
  assert.equal(later(60 * MINUTE), null)
  assert.deepEqual(later(60 * MINUTE + 1), { status: 'failed', reason: 'No worker began it within 60 minutes.' })
})

test('a worker may be lost twice at the same record, the third time the turn fails', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((losses) => decideLoss(losses)?.status ?? null),
    [null, null, 'failed', 'failed'],
  )
})

test('every decision leads where the table of states lets it', () => {
  for (const status of AGENT_STATUSES) {
    const { message, stop, first, later } = TABLE[status]
    if (message === 'queue') assert.ok(mayFollow(status, 'queued'), status)
    if (stop === 'stop') assert.ok(mayFollow(status, 'stopped'), status)
    if (first !== null) assert.ok(mayFollow(status, first as AgentStatus), status)
    if (later !== null) assert.ok(mayFollow(status, later as AgentStatus), status)
    assert.equal(isOver(status), !NEXT_STATUS[status].includes('stopped'), status)
  }
  assert.deepEqual(NEXT_STATUS.expired, [])
})

test('blank texts are no messages', () => {
  const assistant = { kind: 'assistant', calls: [], usage: null, model: 'm' } as const
  assert.equal(isMessage({ ...assistant, text: ' \n' }), false)
  assert.equal(isMessage({ ...assistant, text: 'x' }), true)
  assert.equal(isMessage({ kind: 'note', text: 'x', startup: false }), false)
})
