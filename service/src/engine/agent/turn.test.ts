import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { answering, call, plan, type TestLoop, testLoop, testTool } from '../../../test/support/agent-loop.ts'
import { testDefinition } from '../../../test/support/agent-sessions.ts'
import { addMessage, stopAgent } from '../../app/agent-sessions.ts'
import type { AgentEvent } from '../../domain/agent-session.ts'
import { ModelFault, type ModelRequest } from '../../ports/model.ts'
import { SourceFault } from '../../ports/source.ts'
import * as events from '../../store/agent-events.ts'
import * as secrets from '../../store/secrets.ts'
import type { HeldSession } from './held-session.ts'
import { said } from './tools/tool.ts'

let loop: TestLoop
before(async () => {
  loop = await testLoop()
})
after(() => loop[Symbol.asyncDispose]())

const kinds = (journal: readonly AgentEvent[]): string[] =>
  journal.map((one) => (one.kind === 'status' ? one.status : one.kind))
const resultsOf = (journal: readonly AgentEvent[]) =>
  journal.flatMap((one) =>
    one.kind === 'tool_end' ? [{ text: one.text, isError: one.isError, chars: one.chars }] : [],
  )
const lastText = (journal: readonly AgentEvent[]): string => {
  const last = journal.findLast((one) => one.kind === 'assistant')
  return last?.kind === 'assistant' ? last.text : ''
}

test('an answer without calls is the end of the turn', async () => {
  const id = await loop.start()
  assert.equal(await loop.work(id, { model: plan({ text: 'All is well.' }) }), 'ended')
  const session = await loop.a.session(id)
  assert.deepEqual([session.status, session.steps, session.tokensIn, session.tokensOut], ['completed', 1, 10, 5])
  assert.deepEqual(kinds(await loop.journal(id)), [
    'queued',
    'user_message',
    'running',
    'note',
    'note',
    'note',
    'assistant',
    'completed',
  ])
})

test('calls of one answer run one after the other, in their order, and the model is given their results', async () => {
  const ran: string[] = []
  const asked: ModelRequest[] = []
  const tool = testTool('read_file', async (of, input) => {
    ran.push(`begin ${input.path}`)
    await Promise.resolve()
    ran.push(`end ${input.path}`)
    return said(`${of.key} ${input.path}`)
  })
  const id = await loop.start()
  const answer = plan(
    { text: 'I look.', calls: [call('read_file', { path: 'a' }), call('read_file', { path: 'b' })] },
    { text: 'Done.' },
  )
  const model = (request: ModelRequest) => {
    asked.push(request)
    return answer(request, AbortSignal.abort())
  }
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  assert.deepEqual(ran, ['begin a', 'end a', 'begin b', 'end b'])
  assert.deepEqual(kinds(await loop.journal(id)).slice(6), [
    'assistant',
    'tool_start',
    'tool_end',
    'tool_start',
    'tool_end',
    'assistant',
    'completed',
  ])
  assert.deepEqual(asked[1]!.messages.at(-1), {
    role: 'tool',
    results: [
      { call: 'call_1', tool: 'read_file', text: `${id}:call_1 a`, isError: false },
      { call: 'call_2', tool: 'read_file', text: `${id}:call_2 b`, isError: false },
    ],
  })
  assert.equal(asked[0]!.agent, 'assistant')
  assert.deepEqual(
    asked[0]!.tools.map((one) => one.name),
    ['read_file'],
  )
  await loop.checkJournal(id)
})

test('what cannot be run is answered with an error that says what to do, and the turn goes on', async () => {
  let ran = 0
  const tool = testTool('read_file', () => said(`ran ${++ran}`), {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  })
  const id = await loop.start()
  const model = plan(
    {
      calls: [
        call('no_such_tool'),
        call('git_push', { branch: 'main' }),
        call('read_file', { path: 7, more: true }),
        { ...call('read_file', null), broken: '{"path": "a' },
        call('read_file', { path: 'a' }),
      ],
    },
    { text: 'Done.' },
  )
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  const results = resultsOf(await loop.journal(id))
  assert.deepEqual(
    results.map((one) => one.isError),
    [true, true, true, true, false],
  )
  assert.match(results[0]!.text, /There is no tool no_such_tool\. The tools are: read_file\./)
  assert.match(results[1]!.text, /may not use git_push/)
  assert.match(results[2]!.text, /"more"[\s\S]*path: must be string/)
  assert.match(results[3]!.text, /no JSON: \{"path": "a/)
  assert.equal(ran, 1)
  await loop.checkJournal(id)
})

test('a tool that is taken away between the answer and the call is refused', async () => {
  const tool = testTool('read_file')
  let asked = 0
  const id = await loop.start()
  const toolsFor: ReturnType<TestLoop['ports']>['toolsFor'] = async (session, signal) => {
    const given = await loop.ports({ tools: [] }).toolsFor(session, signal)
    return { ...given, tools: asked++ === 0 ? [tool] : [] }
  }
  const model = plan({ calls: [call('read_file')] }, { text: 'Done.' })
  assert.equal(await loop.work(id, { model, ports: { toolsFor } }), 'ended')
  assert.match(resultsOf(await loop.journal(id))[0]!.text, /may not use read_file/)
})

test('a tool that fails inside is told to the model without what went wrong, and logged', async () => {
  const id = await loop.start()
  const tool = testTool('read_file', () => {
    throw new Error('the password is hunter2')
  })
  assert.equal(
    await loop.work(id, { model: plan({ calls: [call('read_file')] }, { text: 'Done.' }), tools: [tool] }),
    'ended',
  )
  const journal = await loop.journal(id)
  assert.match(resultsOf(journal)[0]!.text, /^read_file failed inside of the service/)
  assert.ok(!JSON.stringify(journal).includes('hunter2'))
  assert.ok(loop.a.t.lines.some((line) => line.level === 'error' && line.message === 'a tool of an agent failed'))
})

test('a long result is shown shortened, and kept whole', async () => {
  const id = await loop.start()
  const text = `BEGIN ${'x'.repeat(100_000)} END`
  const model = plan({ calls: [call('read_file')] }, { text: 'Done.' })
  await loop.work(id, { model, tools: [testTool('read_file', () => said(text))] })
  const [result] = resultsOf(await loop.journal(id))
  assert.ok(result!.text.length <= 16_000)
  assert.equal(result!.chars, text.length)
  const { workspaceId } = await loop.a.session(id)
  assert.equal(await events.findOutput(loop.a.t.app.db, { workspaceId, sessionId: id, call: 'call_1' }), text)
})

test('secrets are taken out of what a model says, what it calls with, and what tools give', async () => {
  const { app } = loop.a.t
  const secret = 'correct-horse-battery'
  const place = {
    workspaceId: loop.a.workspace.id,
    environmentId: loop.a.environmentId,
    kind: 'variable',
    name: 'PASSWORD',
  } as const
  await secrets.set(app.db, app.vault, place, secret)
  const given: unknown[] = []
  const tool = testTool('read_file', (of, input) => {
    given.push(input, of.secrets)
    return said(`found ${secret} there`)
  })
  const id = await loop.start()
  const model = plan(
    { text: `I know ${secret}.`, calls: [call('read_file', { path: secret, deep: [{ [secret]: 1 }] })] },
    { text: `It was ${secret}.` },
  )
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  const journal = await loop.journal(id)
  assert.ok(!JSON.stringify(journal).includes(secret))
  assert.equal(lastText(journal), 'It was ***.')
  assert.deepEqual(given[0], { path: '***', deep: [{ '***': 1 }] })
  assert.ok((given[1] as string[]).includes(secret))
  await secrets.remove(app.db, place)
})

test('a message that comes while the model writes begins the next turn', async () => {
  const id = await loop.start()
  const { workspaceId } = await loop.a.session(id)
  const message = { workspaceId, sessionId: id, text: 'And this?', author: 'user', name: 'Ana' } as const
  let asked = 0
  const model = async ({ messages }: ModelRequest) => {
    if (asked++ === 0) await loop.a.unit((unit) => addMessage(unit, message))
    return { text: `answer to ${messages.at(-1)?.role === 'user' ? (messages.at(-1) as { text: string }).text : '?'}` }
  }
  assert.equal(await loop.work(id, { model }), 'ended')
  const session = await loop.a.session(id)
  assert.deepEqual([session.status, session.turn, session.steps], ['completed', 2, 1])
  assert.equal(lastText(await loop.journal(id)), 'answer to And this?')
})

test('a message that comes during a call joins at the next step', async () => {
  const id = await loop.start()
  const { workspaceId } = await loop.a.session(id)
  const tool = testTool('read_file', async () => {
    const message = { workspaceId, sessionId: id, text: 'Hurry.', author: 'user', name: 'Ana' } as const
    await loop.a.unit((unit) => addMessage(unit, message))
    return said('read')
  })
  const model = ({ messages }: ModelRequest) =>
    messages.length === 1 ? { calls: [call('read_file')] } : { text: messages.map((one) => one.role).join(' ') }
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  assert.equal(lastText(await loop.journal(id)), 'user assistant tool user')
  assert.equal((await loop.a.session(id)).turn, 1)
})

const BUDGETS = {
  steps: { steps: 3 },
  tokens: { tokens: 40 },
  costMicrodollars: { costMicrodollars: 30 },
} as const

for (const [what, limits] of Object.entries(BUDGETS)) {
  test(`the budget of ${what} ends the turn with a message`, async () => {
    const id = await loop.start({ limits })
    const model = answering(() => ({ calls: [call('read_file')] }), {
      prices: { input: 1_000_000, cached: 0, output: 0 },
    })
    assert.equal(await loop.work(id, { model, tools: [testTool('read_file')] }), 'ended')
    const session = await loop.a.session(id)
    const journal = await loop.journal(id)
    assert.equal(session.status, 'failed')
    assert.equal(session.steps, 3)
    assert.match(session.reason, /^It reached its limit of /)
    assert.match(lastText(journal), /limit/)
    const record = journal.find((one) => one.kind === 'budget')
    assert.equal(record?.kind === 'budget' && record.what, what)
    await loop.checkJournal(id)
  })
}

test('the time of a turn ends it also in the middle of a tool', async () => {
  const id = await loop.start({ limits: { seconds: 1 } })
  const tool = testTool('run_terminal_command', ({ signal }) => hang(signal))
  const model = plan({ calls: [call('run_terminal_command')] })
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  const session = await loop.a.session(id)
  assert.equal(session.status, 'failed')
  assert.match(session.reason, /limit of 1 seconds/)
  await loop.checkJournal(id)
})

const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('a stop reaches a tool that hangs, and one that does not listen is left alone', async () => {
  for (const isDeaf of [false, true]) {
    const id = await loop.start()
    let held: HeldSession | undefined
    const running = Promise.withResolvers<AbortSignal>()
    const tool = testTool('run_terminal_command', async ({ signal }) => {
      running.resolve(signal)
      return await (isDeaf ? new Promise<never>(() => {}) : hang(signal))
    })
    const model = plan({ calls: [call('run_terminal_command'), call('run_terminal_command')] })
    const work = loop.work(id, {
      model,
      tools: [tool],
      onHeld: (one) => {
        held = one
      },
    })
    const signal = await running.promise
    await stopAgent(loop.a.ctx, { sessionId: id })
    // As the worker does at the notice, or at its next look.
    held!.halt('lost')
    assert.equal(await work, 'lost')
    assert.ok(signal.aborted)
    assert.equal(await loop.a.status(id), 'stopped')
    await loop.checkJournal(id)
  }
})

test('a model that does not answer is asked again, and what passes costs nothing but time', async () => {
  const id = await loop.start()
  let asked = 0
  const model = () => {
    if (++asked < 3) throw new ModelFault('again', 'too many requests')
    return { text: 'Here I am.' }
  }
  assert.equal(await loop.work(id, { model }), 'ended')
  assert.equal(asked, 3)
  assert.equal((await loop.a.session(id)).status, 'completed')
})

test('a model that never answers, or refuses, fails the turn with the reason and a message', async () => {
  for (const [kind, times] of [
    ['again', 3],
    ['refused', 1],
  ] as const) {
    const id = await loop.start()
    let asked = 0
    const model = () => {
      asked++
      throw new ModelFault(kind, 'no such model')
    }
    assert.equal(await loop.work(id, { model }), 'ended')
    assert.equal(asked, times)
    const session = await loop.a.session(id)
    assert.equal(session.status, 'failed')
    assert.match(session.reason, /Its model did not answer: no such model/)
    assert.match(lastText(await loop.journal(id)), /no such model/)
  }
})

test('a model that is asked to wait too long, breaks, or refuses by its answer fails the turn', async () => {
  const models = [
    () => {
      throw new ModelFault('again', 'overloaded', { afterSeconds: 3600 })
    },
    () => {
      throw new TypeError('a fault of ours with hunter2 in it')
    },
    () => ({ text: '', end: 'refused' as const }),
    () => ({ text: 'I will not.', end: 'refused' as const }),
  ]
  for (const model of models) {
    const id = await loop.start()
    assert.equal(await loop.work(id, { model }), 'ended')
    const session = await loop.a.session(id)
    assert.equal(session.status, 'failed')
    assert.notEqual(lastText(await loop.journal(id)), '')
    assert.ok(!JSON.stringify(await loop.journal(id)).includes('hunter2'))
  }
})

test('a model that says nothing is asked again, and fails the turn when it goes on so', async () => {
  const id = await loop.start()
  let asked = 0
  assert.equal(await loop.work(id, { model: () => ({ text: ++asked < 3 ? ' ' : 'Now.' }) }), 'ended')
  assert.deepEqual([(await loop.a.session(id)).status, asked], ['completed', 3])
  const mute = await loop.start()
  asked = 0
  assert.equal(
    await loop.work(mute, {
      model: () => {
        asked++
        return {}
      },
    }),
    'ended',
  )
  const session = await loop.a.session(mute)
  assert.deepEqual([session.status, session.reason, asked], ['failed', 'Its model gave no answer.', 3])
})

test('a checkout that fails, and a caller without rights, fail the turn with the reason', async () => {
  const openCheckout = async () => {
    throw new SourceFault('There is no branch "nowhere".')
  }
  const id = await loop.start()
  assert.equal(await loop.work(id, { ports: { openCheckout } }), 'ended')
  assert.match((await loop.a.session(id)).reason, /no branch "nowhere"/)
  const toolsFor: ReturnType<TestLoop['ports']>['toolsFor'] = async (session, signal) => {
    const { caller } = await loop.ports({}).toolsFor(session, signal)
    return { caller: { ...caller, refusal: 'The key that started this session was revoked.' }, tools: [] }
  }
  const other = await loop.start()
  assert.equal(await loop.work(other, { ports: { toolsFor } }), 'ended')
  assert.equal((await loop.a.session(other)).reason, 'The key that started this session was revoked.')
})

test('a long session is compacted, by a record of the journal, and goes on', async () => {
  const id = await loop.start({ message: { text: 'THE TASK', author: 'user', name: 'Ana' } })
  let largest = 0
  const model = answering(
    (request) => {
      largest = Math.max(largest, JSON.stringify(request.messages).length)
      const done = request.messages.some((one) => one.role === 'tool' && one.results[0]!.text.startsWith('n30'))
      assert.match(JSON.stringify(request.messages[0]), /THE TASK/)
      return done ? { text: 'Done.' } : { calls: [call('read_file')] }
    },
    { contextTokens: 10_000 },
  )
  let read = 0
  const tool = testTool('read_file', () => said(`n${++read} `.padEnd(2000, 'x')))
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  assert.equal((await loop.a.session(id)).status, 'completed')
  assert.ok((await loop.journal(id)).filter((one) => one.kind === 'compaction').length >= 1)
  assert.ok(largest < 30_000, `${largest}`)
  await loop.checkJournal(id)
})

test('a worker that goes down gives the session back after the record that is being made', async () => {
  const id = await loop.start()
  let leaving = false
  const tool = testTool('read_file', () => {
    leaving = true
    return said('read')
  })
  const model = plan({ calls: [call('read_file'), call('read_file')] }, { text: 'Done.' })
  assert.equal(await loop.work(id, { model, tools: [tool], isLeaving: () => leaving }), 'released')
  assert.equal(resultsOf(await loop.journal(id)).length, 1)
  assert.equal(await loop.a.status(id), 'running')
  assert.equal(await loop.work(id, { model, tools: [tool], workerId: 'other' }), 'ended')
  assert.equal(await loop.a.status(id), 'completed')
  await loop.checkJournal(id)
})

test('a worker that cannot wait for a tool leaves it in doubt to the next one', async () => {
  const id = await loop.start()
  const running = Promise.withResolvers<void>()
  let held: HeldSession | undefined
  const tool = testTool('run_terminal_command', async ({ signal }) => {
    running.resolve()
    return await hang(signal)
  })
  const model = plan({ calls: [call('run_terminal_command')] }, { text: 'Done.' })
  const onHeld = (one: HeldSession): void => {
    held = one
  }
  const work = loop.work(id, { model, tools: [tool], onHeld })
  await running.promise
  held!.halt('leaving')
  assert.equal(await work, 'released')
  assert.equal(await loop.work(id, { model, tools: [testTool('run_terminal_command')] }), 'ended')
  assert.match(resultsOf(await loop.journal(id))[0]!.text, /interrupted/)
})

test('a session that waits for children is in nobody’s hands, and their last words answer its calls', async () => {
  const boss = testDefinition('boss', { squad: ['helper'] })
  const id = await loop.start({ definition: boss })
  const children: string[] = []
  const tool = testTool('invoke_agent', async (of) => {
    const child = await loop.start({
      definition: testDefinition(`helper-${of.call}`),
      parent: { session: of.session, call: of.call },
    })
    children.push(child)
    return { kind: 'child', child, agent: 'helper' }
  })
  const model = plan({ calls: [call('invoke_agent'), call('invoke_agent')] }, { text: 'All helped.' })
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'waiting')
  assert.equal(children.length, 2)
  await assert.rejects(loop.work(id, { model, tools: [tool] }), /could not be taken/)
  assert.equal(await loop.work(children[0]!, { model: plan({ text: 'I found one.' }) }), 'ended')
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'waiting')
  assert.equal(await loop.work(children[1]!, { model: () => Promise.reject(new ModelFault('refused', 'no')) }), 'ended')
  assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
  const results = resultsOf(await loop.journal(id))
  assert.match(results[0]!.text, /ended as COMPLETED\.\n\nI found one\./)
  assert.match(results[1]!.text, /ended as FAILED/)
  assert.deepEqual(
    results.map((one) => one.isError),
    [false, true],
  )
  assert.equal(await loop.a.status(id), 'completed')
  assert.equal(children.length, 2)
  await loop.checkJournal(id)
})
