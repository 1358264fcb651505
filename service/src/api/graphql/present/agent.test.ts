import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor, KeyClient } from '../../../domain/actor.ts'
import { AGENT_STATUSES } from '../../../domain/agent-session.ts'
import { parseAgentStatus, presentAgentStatus, presentMessages, presentTs } from './agent.ts'

const key = (client: KeyClient): Actor => ({
  kind: 'key',
  key: {
    ...{
      id: 1,
      kind: 'account',
      name: 'k',
      client,
      capabilities: [],
      workspaceId: null,
      makerId: null,
      makerEmail: '',
    },
  },
})
const [OURS, THEIRS] = [key(null), key('paradime')]

test('a time keeps its six digits through JSON, and two that follow each other stay two', () => {
  for (let microseconds = 1_794_735_274_626_700; microseconds < 1_794_735_274_627_700; microseconds++) {
    const read = JSON.parse(JSON.stringify(presentTs(microseconds))) as number
    assert.equal(Math.round(read * 1e6), microseconds)
    assert.notEqual(read, presentTs(microseconds + 1))
    assert.match(String(read), /^\d{10}(\.\d{1,6})?$/)
  }
})

test('what an agent says has the role of the client, what people say is always user', () => {
  const messages = [
    { ts: 1, role: 'user', content: 'Why?' },
    { ts: 2, role: 'assistant', content: 'Because.' },
  ] as const
  const roles = (actor: Actor): string[] => presentMessages(actor, messages).map((one) => one.role)
  assert.deepEqual(
    [roles(OURS), roles(THEIRS)],
    [
      ['user', 'assistant'],
      ['user', 'agent'],
    ],
  )
})

test('a stopped session is STOPPED to existing clients and FAILED to everyone else, in filters too', () => {
  assert.deepEqual([presentAgentStatus(OURS, 'stopped'), presentAgentStatus(THEIRS, 'stopped')], ['FAILED', 'STOPPED'])
  assert.deepEqual(parseAgentStatus(OURS, 'FAILED'), ['failed', 'stopped'])
  assert.deepEqual(parseAgentStatus(THEIRS, 'FAILED'), ['failed'])
  // Whoever asks for it by its own name means it.
  assert.deepEqual(parseAgentStatus(OURS, 'STOPPED'), ['stopped'])
  for (const status of AGENT_STATUSES) {
    for (const actor of [OURS, THEIRS]) {
      assert.ok(parseAgentStatus(actor, presentAgentStatus(actor, status)).includes(status), status)
    }
  }
})
