// The client against a server that speaks both dialects: every case in each of them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { answered, modelConformance, question, unhurried } from '../../../test/conformance/model.ts'
import { type Dialect, type ModelServer, modelServer, type Reply } from '../../../test/receivers/model-server.ts'
import type { ModelAccess, ModelProvider } from '../../domain/model-family.ts'
import { accessOf } from '../../domain/model-family.ts'
import type { Model } from '../../ports/model.ts'
import { ModelFault } from '../../ports/model.ts'
import { outgoingFetch } from '../outgoing-fetch.ts'
import { openModel } from './index.ts'

const PROVIDER: Readonly<Record<Dialect, ModelProvider>> = { openai: 'openai_compatible', anthropic: 'anthropic' }

interface Limits {
  readonly idleMs?: number
  readonly totalMs?: number
  readonly allow?: readonly string[]
  readonly secrets?: ModelAccess['secrets']
}

function modelAt(server: ModelServer, dialect: Dialect, limits: Limits = {}): Model {
  const { allow = ['127.0.0.1'], idleMs = 10_000, totalMs = 10_000, secrets = { apiKey: server.key } } = limits
  const fetch = outgoingFetch({ allow, allowHttp: false, idleMs })
  const settings = { address: server.address, contextTokens: '100000', priceInput: '3', priceOutput: '15' }
  const access = accessOf({ provider: PROVIDER[dialect], model: 'test-model', settings, secrets })
  return openModel({ fetch, totalMs })('tested', access)
}

async function faultOf(answer: Promise<unknown>): Promise<ModelFault> {
  const error = await answer.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ModelFault, `no fault but ${String(error)}`)
  return error
}

const look = (id: string, ...pieces: readonly string[]) => ({ id, name: 'list_directory', arguments: pieces })
const says = (said: Omit<Extract<Reply, { kind: 'says' }>, 'kind'>): Reply => ({ kind: 'says', ...said })

for (const dialect of ['openai', 'anthropic'] as const) {
  modelConformance(`${PROVIDER[dialect]} over HTTP`, async () => {
    const server = await modelServer()
    return {
      model: modelAt(server, dialect),
      prepare: () => server.script(says({ calls: [look('call_1', '{"path":"."}')] }), says({ text: ['Done.'] })),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })

  describe(`a model in the dialect of ${dialect}`, () => {
    test('an answer in many pieces is handed over whole, with what it took', async () => {
      await using server = await modelServer()
      server.script(says({ text: ['Grü', 'ße, ', '数', '据.'] }))
      const answer = await modelAt(server, dialect).answer(question(), unhurried())
      const usage = { tokensIn: 12, tokensOut: 7, tokensCached: 4 }
      assert.deepEqual(answer, { text: 'Grüße, 数据.', calls: [], usage, end: 'end' })
      const [{ body } = assert.fail()] = server.questions
      assert.equal(body.model, 'test-model')
      assert.equal(body.max_tokens, 16_000)
      assert.match(JSON.stringify(body), /You help\./)
    })

    test('several calls, their arguments in pieces, come in their order', async () => {
      await using server = await modelServer()
      const calls = [
        look('call_1', '{"pa', 'th":', '"a"}'),
        look('call_2', '{"path"', ':"b"}'),
        look('call_3', '{"path":"c"}'),
      ]
      server.script(says({ text: ['I look.'], calls }))
      const answer = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual(answer.calls, [
        { id: 'call_1', tool: 'list_directory', input: { path: 'a' } },
        { id: 'call_2', tool: 'list_directory', input: { path: 'b' } },
        { id: 'call_3', tool: 'list_directory', input: { path: 'c' } },
      ])
      assert.equal(answer.end, 'calls')
      assert.equal(answer.text, 'I look.')
    })

    test('several calls under one index are kept apart', async () => {
      await using server = await modelServer()
      const calls = [look('call_1', '{"path":"a"}'), look('call_2', '{"path":', '"b"}')]
      server.script(says({ calls, sameIndex: true }))
      const answer = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual(
        answer.calls.map((call) => call.input),
        [{ path: 'a' }, { path: 'b' }],
      )
    })

    test('arguments that are no JSON come back as they are, and can be shown to the model again', async () => {
      await using server = await modelServer()
      server.script(says({ calls: [look('call_1', '{"path": "a', ' oops')] }), says({ text: ['Sorry.'] }))
      const model = modelAt(server, dialect)
      const first = await model.answer(question(), unhurried())
      const [call] = first.calls
      assert.deepEqual(call, { id: 'call_1', tool: 'list_directory', input: null, broken: '{"path": "a oops' })
      const second = await model.answer(question(...answered(first, 'The arguments are no JSON.')), unhurried())
      assert.equal(second.text, 'Sorry.')
      assert.match(JSON.stringify(server.questions[1]!.body), /oops/)
    })

    test('no arguments at all are an empty object', async () => {
      await using server = await modelServer()
      server.script(says({ calls: [look('call_1', '')] }))
      const { calls } = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual(calls[0]!.input, {})
      assert.equal(calls[0]!.broken, undefined)
    })

    test('a call of a tool that was not declared is a call like any other', async () => {
      await using server = await modelServer()
      server.script(says({ calls: [{ id: 'call_1', name: 'delete_everything', arguments: ['{"now":true}'] }] }))
      const { calls } = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual(calls, [{ id: 'call_1', tool: 'delete_everything', input: { now: true } }])
    })

    test('an answer that says nothing is an answer', async () => {
      await using server = await modelServer()
      server.script(says({}))
      const answer = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual([answer.text, answer.calls, answer.end], ['', [], 'end'])
    })

    test('an answer that was cut off by its own limit, and one that was refused, say so', async () => {
      await using server = await modelServer()
      server.script(says({ text: ['And then'], end: 'length' }), says({ text: ['No.'], end: 'refusal' }))
      const model = modelAt(server, dialect)
      assert.equal((await model.answer(question(), unhurried())).end, 'length')
      assert.equal((await model.answer(question(), unhurried())).end, 'refused')
    })

    test('429 may pass, with the pause that the provider asks for; it is not tried again here', async () => {
      await using server = await modelServer()
      const model = modelAt(server, dialect)
      server.script({ kind: 'status', status: 429, headers: { 'retry-after': '17' }, message: 'slow down' })
      const fault = await faultOf(model.answer(question(), unhurried()))
      assert.deepEqual([fault.kind, fault.afterSeconds], ['again', 17])
      assert.match(fault.message, /429.*slow down/)
      assert.equal(server.questions.length, 1)
      const date = new Date(Date.now() + 90_000).toUTCString()
      server.script({ kind: 'status', status: 429, headers: { 'retry-after': date } })
      const later = await faultOf(model.answer(question(), unhurried()))
      assert.ok(later.afterSeconds! > 60 && later.afterSeconds! <= 91, String(later.afterSeconds))
    })

    test('5xx may pass, other 4xx do not', async () => {
      await using server = await modelServer()
      const model = modelAt(server, dialect)
      const kinds: [number, string][] = [
        [500, 'again'],
        [503, 'again'],
        [529, 'again'],
        [400, 'refused'],
        [404, 'refused'],
        [413, 'refused'],
      ]
      for (const [status, kind] of kinds) {
        server.script({ kind: 'status', status, message: 'no' })
        const fault = await faultOf(model.answer(question(), unhurried()))
        assert.equal(fault.kind, kind, String(status))
        assert.match(fault.message, new RegExp(String(status)))
      }
      assert.equal(server.questions.length, kinds.length)
    })

    test('a stream that is cut may pass, wherever it is cut and however it ends', async () => {
      await using server = await modelServer()
      const model = modelAt(server, dialect)
      for (const how of ['reset', 'close'] as const) {
        for (const after of [0, 1, 2, 3, 4, 5]) {
          server.script({ kind: 'cut', after, how, text: ['I ', 'begin'], calls: [look('call_1', '{"path":', '"."}')] })
          const fault = await faultOf(model.answer(question(), unhurried()))
          assert.equal(fault.kind, 'again', `${how} after ${after}: ${fault.message}`)
        }
      }
    })

    test('an error in the middle of a stream may pass', async () => {
      await using server = await modelServer()
      server.script({ kind: 'error', after: 3, message: 'the engine is overloaded', text: ['I ', 'begin'] })
      const fault = await faultOf(modelAt(server, dialect).answer(question(), unhurried()))
      assert.equal(fault.kind, 'again')
      assert.match(fault.message, /overloaded/)
    })

    test('a provider that falls silent is left after the idle limit, at its head and in the middle', async () => {
      await using server = await modelServer()
      const model = modelAt(server, dialect, { idleMs: 40 })
      for (const after of [0, 3]) {
        server.script({ kind: 'silent', after, text: ['I ', 'begin'] })
        const fault = await faultOf(model.answer(question(), unhurried()))
        assert.equal(fault.kind, 'again')
        assert.match(fault.message, /Nothing came for 0\.04 seconds/)
        await server.left()
      }
    })

    test('an answer that takes too long as a whole is left', async () => {
      await using server = await modelServer()
      server.script({ kind: 'silent', after: 3, text: ['I ', 'begin'] })
      const fault = await faultOf(
        modelAt(server, dialect, { totalMs: 60, idleMs: 600_000 }).answer(question(), unhurried()),
      )
      assert.equal(fault.kind, 'again')
      assert.match(fault.message, /No whole answer came within 0\.06 seconds/)
      await server.left()
    })

    test('what an answer took is null where the provider does not say', async () => {
      await using server = await modelServer()
      server.script(says({ text: ['Hello.'], usage: null }))
      const answer = await modelAt(server, dialect).answer(question(), unhurried())
      assert.deepEqual(answer, { text: 'Hello.', calls: [], usage: null, end: 'end' })
    })

    test('who gives up gets his own reason, and the connection is closed', async () => {
      await using server = await modelServer()
      server.script({ kind: 'silent', after: 3, text: ['I ', 'begin'] })
      const stop = new AbortController()
      const asked = modelAt(server, dialect).answer(question(), stop.signal)
      await server.silent()
      const why = new Error('the session was stopped')
      stop.abort(why)
      await assert.rejects(asked, (error) => error === why)
      await server.left()
    })

    test('a wrong key does not pass, and is in no word of the fault', async () => {
      await using server = await modelServer()
      const apiKey = 'sk-wrong-fedcba9876543210'
      const fault = await faultOf(modelAt(server, dialect, { secrets: { apiKey } }).answer(question(), unhurried()))
      assert.equal(fault.kind, 'refused')
      assert.match(fault.message, /401/)
      assert.ok(!`${fault.stack} ${JSON.stringify(fault)} ${String(fault.cause)}`.includes('wrong-fed'))
    })

    test('a key that the provider repeats in its words is taken out of them', async () => {
      await using server = await modelServer()
      server.script({ kind: 'status', status: 500, message: `upstream refused ${server.key} there` })
      const fault = await faultOf(modelAt(server, dialect).answer(question(), unhurried()))
      assert.match(fault.message, /upstream refused \*\*\* there/)
      assert.equal(fault.cause, undefined)
    })

    test('an address of this machine is reached only where the operator allowed it', async () => {
      await using server = await modelServer()
      const fault = await faultOf(modelAt(server, dialect, { allow: [] }).answer(question(), unhurried()))
      assert.equal(fault.kind, 'refused')
      assert.match(fault.message, /has not allowed/)
      assert.equal(server.questions.length, 0)
    })

    test('a conversation with everything in it is taken by the provider', async () => {
      await using server = await modelServer()
      const calls = [
        { id: 'c:1', tool: 'list_directory', input: { path: '.' } },
        { id: 'c:2', tool: 'gone', input: [1, 2] },
        { id: 'c:3', tool: 'list_directory', input: null, broken: '{' },
      ]
      const results = calls.map(({ id, tool }) => ({ call: id, tool, text: '', isError: id === 'c:3' }))
      await modelAt(server, dialect).answer(
        question(
          { role: 'user', text: 'first' },
          { role: 'assistant', text: '', calls: [] },
          { role: 'user', text: 'second' },
          { role: 'assistant', text: ' ', calls },
          { role: 'tool', results },
          { role: 'user', text: 'third' },
        ),
        unhurried(),
      )
      assert.equal(server.questions.length, 1)
    })
  })
}

test('Anthropic is asked to keep what it reads, and for whole arguments', async () => {
  await using server = await modelServer()
  await modelAt(server, 'anthropic').answer(question(), unhurried())
  const { cache_control, tools } = server.questions[0]!.body
  assert.deepEqual(cache_control, { type: 'ephemeral' })
  assert.doesNotMatch(JSON.stringify(tools), /eager/)
})
