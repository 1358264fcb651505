import assert from 'node:assert/strict'
import { test } from 'node:test'
import { charsOf, fittingMessages, planCompaction, roomFor } from './agent-compaction.ts'
import { hasNewMessages, messagesOf, openCalls, shortened } from './agent-conversation.ts'
import type { AgentEvent, AgentEventBody } from './agent-session.ts'

const journal = (...bodies: readonly AgentEventBody[]): AgentEvent[] =>
  bodies.map((body, at) => ({ ...body, seq: at + 1, ts: 1000 + at, turn: 1 }))

const said = (text: string, author: 'user' | 'slack' | 'parent' | 'service' = 'user'): AgentEventBody => ({
  kind: 'user_message',
  text,
  author,
  name: 'ana',
})
const answered = (text: string, calls: readonly string[] = [], seen?: number): AgentEventBody => ({
  kind: 'assistant',
  text,
  calls: calls.map((id) => ({ id, tool: 'read_file', input: { path: id } })),
  usage: null,
  model: 'fake',
  ...(seen !== undefined && { seen }),
})
const started = (call: string): AgentEventBody => ({ kind: 'tool_start', call, tool: 'read_file' })
const ended = (call: string, text = `result of ${call}`): AgentEventBody => ({
  kind: 'tool_end',
  call,
  tool: 'read_file',
  text,
  chars: text.length,
  isError: false,
})

test('a journal becomes messages in their order, results of one answer together', () => {
  const events = journal(said('go'), answered('look', ['a', 'b']), started('a'), ended('a'), started('b'), ended('b'))
  assert.deepEqual(messagesOf(events), [
    { role: 'user', text: 'go' },
    {
      role: 'assistant',
      text: 'look',
      calls: [
        { id: 'a', tool: 'read_file', input: { path: 'a' } },
        { id: 'b', tool: 'read_file', input: { path: 'b' } },
      ],
    },
    {
      role: 'tool',
      results: [
        { call: 'a', tool: 'read_file', text: 'result of a', isError: false },
        { call: 'b', tool: 'read_file', text: 'result of b', isError: false },
      ],
    },
  ])
})

test('what is said while calls are under way follows their results', () => {
  const events = journal(said('go'), answered('', ['a']), started('a'), said('also this'), ended('a'))
  assert.deepEqual(
    messagesOf(events).map((one) => one.role),
    ['user', 'assistant', 'tool', 'user'],
  )
  assert.equal(hasNewMessages(events), true)
})

test('what is said while the model writes follows its answer, and is new', () => {
  const events = journal(said('go'), said('wait'), answered('done', [], 1))
  assert.deepEqual(
    messagesOf(events).map((one) => (one.role === 'tool' ? '' : one.text)),
    ['go', 'done', 'wait'],
  )
  assert.equal(hasNewMessages(events), true)
  assert.equal(hasNewMessages(journal(said('go'), answered('done', [], 1))), false)
})

test('who said something is told, save for the user', () => {
  const [one, two, three] = messagesOf(
    journal(said('a', 'slack'), answered('x'), said('b', 'parent'), answered('y'), said('c', 'user')),
  ).filter((message) => message.role === 'user') as { text: string }[]
  assert.equal(one!.text, '[ana, in Slack]\na')
  assert.equal(two!.text, '[ana, the agent that called you]\nb')
  assert.equal(three!.text, 'c')
})

test('messages of one side in a row are one, and an answer without words is none', () => {
  const events = journal(said('a'), said('b'), answered(''), answered('c'), answered('d'))
  assert.deepEqual(messagesOf(events), [
    { role: 'user', text: 'a\n\nb' },
    { role: 'assistant', text: 'c\n\nd', calls: [] },
  ])
})

test('open calls say whether they began, and what became of their children', () => {
  const child = { child: 'childchildchild1', agent: 'helper' }
  const events = journal(
    said('go'),
    answered('', ['a', 'b', 'c', 'd']),
    started('a'),
    ended('a'),
    started('b'),
    { kind: 'child_result', call: 'c', status: 'completed', child: child.child },
    { kind: 'child_started', call: 'c', ...child },
  )
  assert.deepEqual(
    openCalls(events).map((one) => [one.call.id, one.started, one.child?.id, one.child?.ended?.status]),
    [
      ['b', true, undefined, undefined],
      ['c', false, child.child, 'completed'],
      ['d', false, undefined, undefined],
    ],
  )
})

test('an answer is not shown before all its calls have results', () => {
  const events = journal(said('go'), answered('', ['a', 'b']), started('a'), ended('a'))
  assert.deepEqual(
    messagesOf(events).map((one) => one.role),
    ['user'],
  )
})

test('a long text is shown by its beginning and its end, within its limit', () => {
  const text = `BEGIN${'x'.repeat(50_000)}END`
  const shown = shortened(text, 1000)
  assert.ok(shown.length <= 1000)
  assert.match(shown, /^BEGINx.*\[… \d+ of 50008 characters are left out here …\]\nx+END$/s)
  assert.equal(shortened('short', 1000), 'short')
  assert.ok(shortened('😀'.repeat(5000), 101).isWellFormed())
})

/** `steps` answers with a result each. */
const long = (steps: number, chars = 1000): AgentEvent[] =>
  journal(
    said('the task'),
    ...Array.from({ length: steps }, (_, at) => [
      answered(`step ${at}`, [`c${at}`]),
      started(`c${at}`),
      ended(`c${at}`, `${at}:`.padEnd(chars, '.')),
    ]).flat(),
  )

const compacted = (events: readonly AgentEvent[], plan: { upTo: number; text: string }): AgentEvent[] => [
  ...events,
  { kind: 'compaction', ...plan, seq: events.length + 1, ts: 9000, turn: 1 },
]

test('a journal that fits is left alone', () => {
  assert.equal(planCompaction(long(5), 8000), null)
})

test('the older part of a long journal is replaced by a text that says what was asked and done', () => {
  const events = long(40)
  const plan = planCompaction(events, 20_000)
  assert.ok(plan !== null)
  assert.match(plan.text, /user said: the task\nyou said: step 0\nyou called read_file {"path":"c0"}, answered: 0:/)
  assert.ok(plan.text.length < 5000)
  const messages = messagesOf(compacted(events, plan))
  assert.ok(charsOf(messages) < 20_000 * 0.8, `${charsOf(messages)}`)
  assert.equal(messages[0]!.role, 'user')
  assert.equal(messages.at(-1)!.role, 'tool')
  assertPaired(messages)
})

test('a second compaction carries on the text of the first', () => {
  const first = planCompaction(long(40), 20_000)!
  const events = compacted(long(40), first)
  const more = Array.from({ length: 30 }, (_, at) => [
    answered(`more ${at}`, [`m${at}`]),
    ended(`m${at}`, 'y'.repeat(1000)),
  ])
    .flat()
    .map((body, at) => ({ ...body, seq: events.length + 1 + at, ts: 10_000 + at, turn: 1 }))
  const second = planCompaction([...events, ...more], 20_000)!
  assert.ok(second.upTo > first.upTo)
  assert.match(second.text, /user said: the task/)
  assertPaired(messagesOf(compacted([...events, ...more], second)))
})

test('wherever a message came, it is shown or told, and no call is parted from its result', () => {
  for (let steps = 6; steps < 12; steps++) {
    for (let place = 0; place <= steps * 3; place++) {
      const bodies: AgentEventBody[] = long(steps, 4000)
      bodies.splice(bodies.length - place, 0, said('IMPORTANT'))
      const events = journal(...bodies)
      const plan = planCompaction(events, 20_000)
      assert.ok(plan !== null)
      const messages = messagesOf(compacted(events, plan))
      assertPaired(messages)
      const texts = messages.map((one) => (one.role === 'tool' ? '' : one.text)).join('\n')
      assert.equal(texts.split('IMPORTANT').length, 2, `${steps} steps, message ${place} from the end`)
    }
  }
})

test('where one answer alone is too long its results are shown shorter', () => {
  const ids = Array.from({ length: 10 }, (_, at) => `c${at}`)
  const events = journal(said('go'), answered('', ids), ...ids.map((id) => ended(id, 'z'.repeat(16_000))))
  assert.equal(planCompaction(events, 30_000)?.upTo, 1)
  assert.ok(charsOf(fittingMessages(events, 30_000)) <= 30_000)
  assertPaired(fittingMessages(events, 30_000))
})

test('a small window still has room for the latest messages', () => {
  assert.equal(roomFor(4096, 100_000), 6000)
  assert.ok(roomFor(200_000, 20_000) > 400_000)
})

function assertPaired(messages: ReturnType<typeof messagesOf>): void {
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') assert.equal(messages[at - 1]?.role, 'assistant')
    if (message.role !== 'assistant' || message.calls.length === 0) continue
    const next = messages[at + 1]
    assert.equal(next?.role, 'tool')
    assert.deepEqual(
      next?.role === 'tool' && next.results.map((one) => one.call),
      message.calls.map((one) => one.id),
    )
  }
}
