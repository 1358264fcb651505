import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEvent, AgentEventBody } from './agent-session.ts'
import { childrenOf, lastWordsOf, messagesOf, startupStepsOf, stepsOf, usageOf } from './agent-transcript.ts'

/** Numbered and timed as the journal does it. */
const journal = (...bodies: (AgentEventBody & { turn?: number })[]): AgentEvent[] =>
  bodies.map((body, at) => ({ turn: 1, ...body, seq: at + 1, ts: 1_000_000 + at * 10 }))

const user = (text: string): AgentEventBody => ({ kind: 'user_message', text, author: 'user', name: 'Ana' })
const answer = (text: string, more: object = {}): AgentEventBody => ({
  kind: 'assistant',
  text,
  calls: [],
  usage: null,
  model: 'big',
  ...more,
})
const calls = (...ids: string[]) => ({ calls: ids.map((id) => ({ id, tool: 'read_file', input: { path: id } })) })
const start = (call: string): AgentEventBody => ({ kind: 'tool_start', call, tool: 'read_file' })
const end = (call: string, text: string, more: object = {}): AgentEventBody => ({
  kind: 'tool_end',
  call,
  tool: 'read_file',
  text,
  chars: text.length,
  isError: false,
  ...more,
})
const ALL = { after: 0, includeToolIo: true, maxChars: null }

test('messages are what either side said, none empty and none twice in a row', () => {
  const events = journal(
    user('Hello'),
    user('Hello'),
    answer('  ', calls('c1')),
    start('c1'),
    end('c1', 'text'),
    answer('Hello'),
    answer('Hello', { model: '' }),
    user('Hello'),
    { kind: 'status', status: 'completed', reason: '' },
  )
  assert.deepEqual(messagesOf(events), [
    { ts: 1_000_000, role: 'user', content: 'Hello' },
    { ts: 1_000_050, role: 'assistant', content: 'Hello' },
    { ts: 1_000_070, role: 'user', content: 'Hello' },
  ])
  assert.equal(lastWordsOf(events), 'Hello')
  assert.equal(lastWordsOf(journal(user('Hello'))), '')
})

test('a tool is one step from its start to its end, and shows what went in and out only when asked', () => {
  const events = journal(
    answer('Looking.', calls('c1')),
    start('c1'),
    end('c1', '0123456789', { chars: 5000, isError: true }),
  )
  const [said, tool] = stepsOf(events, ALL)
  assert.deepEqual([said!.kind, said!.text, said!.model], ['model', 'Looking.', 'big'])
  const { id, seq, ts, endTs, title, call, input, output, outputChars, isRunning, isError } = tool!
  assert.deepEqual(
    { id, seq, ts, endTs, title, call, input, output, outputChars, isRunning, isError },
    {
      id: 2,
      seq: 3,
      ts: 1_000_010,
      endTs: 1_000_020,
      title: 'read_file',
      call: 'c1',
      input: '{"path":"c1"}',
      output: '0123456789',
      outputChars: 5000,
      isRunning: false,
      isError: true,
    },
  )
  assert.equal(stepsOf(events, { ...ALL, maxChars: 4 })[1]!.output, '0123…')
  const hidden = stepsOf(events, { ...ALL, includeToolIo: false })[1]!
  assert.deepEqual([hidden.input, hidden.output, hidden.outputChars], ['', '', 5000])
})

test('a tool that was running comes again under the same id when it has ended', () => {
  const before = journal(answer('', calls('c1', 'c2')), start('c1'))
  const [, running] = stepsOf(before, ALL)
  assert.deepEqual([running!.id, running!.seq, running!.isRunning, running!.endTs], [2, 2, true, null])
  const later = journal(answer('', calls('c1', 'c2')), start('c1'), end('c1', 'x'), start('c2'))
  assert.deepEqual(
    stepsOf(later, { ...ALL, after: 2 }).map((one) => [one.id, one.seq, one.isRunning]),
    [
      [2, 3, false],
      [4, 4, true],
    ],
  )
  assert.deepEqual(stepsOf(later, { ...ALL, after: 4 }), [])
})

test('nothing runs in a turn that is over', () => {
  const events = journal(answer('', calls('c1')), start('c1'), { kind: 'status', status: 'stopped', reason: 'By Ana.' })
  const [, tool, status] = stepsOf(events, ALL)
  assert.deepEqual([tool!.isRunning, tool!.endTs], [false, null])
  assert.deepEqual([status!.kind, status!.title, status!.text], ['status', 'stopped', 'By Ana.'])
})

test('a child is a step of its own, with how it ended', () => {
  const started: AgentEventBody = { kind: 'child_started', call: 'c1', child: 'kid', agent: 'helper' }
  const result: AgentEventBody = { kind: 'child_result', call: 'c1', child: 'kid', status: 'failed' }
  const events = journal(answer('', calls('c1')), start('c1'), started, result, end('c1', 'x'))
  const child = stepsOf(events, ALL).find((one) => one.kind === 'child')!
  assert.deepEqual(
    [child.title, child.childSessionId, child.text, child.isError, child.isRunning],
    ['Agent helper', 'kid', 'failed', true, false],
  )
  assert.deepEqual(childrenOf(events), ['kid'])
})

test('what is done before the first question stands apart, and all that is used is summed up', () => {
  const usage = { tokensIn: 10, tokensOut: 2, tokensCached: 5, costMicrodollars: 7 }
  const events = journal(
    { kind: 'note', text: 'Checked out main.', startup: true },
    answer('One.', { usage }),
    { kind: 'note', text: 'Tried again.', startup: false },
    answer('Two.', { usage }),
    { kind: 'budget', what: 'steps', used: 60, limit: 60 },
    { kind: 'compaction', upTo: 2, text: 'So far' },
    answer(' '),
  )
  assert.deepEqual(
    startupStepsOf(events).map((one) => [one.id, one.kind, one.text]),
    [[1, 'note', 'Checked out main.']],
  )
  assert.deepEqual(
    stepsOf(events, ALL).map((one) => one.kind),
    ['model', 'note', 'model', 'budget', 'compaction'],
  )
  assert.deepEqual(usageOf(events), { tokensIn: 20, tokensOut: 4, tokensCached: 10, costMicrodollars: 14 })
})
