import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExecutionResult } from 'graphql'
import type { Actor } from '../../domain/actor.ts'
import { AppError } from '../../domain/errors.ts'
import { createStreams, type StreamOptions, type Streams } from './stream.ts'

const ACTOR: Actor = { kind: 'system', name: 'test' }

interface Source {
  readonly options: StreamOptions
  readonly ended: () => boolean
}

function source(values: readonly number[], more: Partial<StreamOptions> = {}): Source {
  let ended = false
  const listening = new AbortController()
  const results = (async function* (): AsyncGenerator<ExecutionResult, void, void> {
    try {
      for (const value of values) yield { data: { value } }
      // Nothing more happens until nobody listens.
      if (values.length === 0) await new Promise((resolve) => listening.signal.addEventListener('abort', resolve))
    } finally {
      ended = true
    }
  })()
  const options: StreamOptions = {
    actor: ACTOR,
    results,
    listening,
    admit: async () => {},
    render: (result) => JSON.stringify(result),
    refuse: (error) => JSON.stringify({ errors: [{ message: (error as Error).message }] }),
    ...more,
  }
  return { options, ended: () => ended }
}

async function read(streams: Streams, { options }: Source): Promise<string> {
  let text = ''
  for await (const piece of streams.open(options)) text += piece
  return text
}

test('every answer is an event, in order, and the end is one too', async () => {
  const streams = createStreams()
  const text = await read(streams, source([1, 2]))
  assert.equal(
    text,
    ':\n\nevent: next\ndata: {"data":{"value":1}}\n\nevent: next\ndata: {"data":{"value":2}}\n\nevent: complete\ndata:\n\n',
  )
  assert.equal(streams.count, 0)
})

test('a reader that goes away ends its source', async () => {
  const streams = createStreams()
  const one = source([])
  const stream = streams.open(one.options)
  await new Promise((resolve) => stream.once('data', resolve))
  stream.destroy()
  await new Promise((resolve) => stream.once('close', resolve))
  while (!one.ended()) await new Promise(setImmediate)
  assert.equal(streams.count, 0)
})

test('a server that goes down completes its streams and opens no more', async () => {
  const streams = createStreams()
  const text = read(streams, source([]))
  await new Promise(setImmediate)
  streams.stop()
  assert.match(await text, /event: complete\ndata:\n\n$/)
  assert.throws(() => streams.open(source([1]).options), AppError)
})

test('one caller has no more than fifty at once', () => {
  const streams = createStreams()
  const open = Array.from({ length: 50 }, () => streams.open(source([]).options))
  assert.throws(
    () => streams.open(source([]).options),
    (error) => error instanceof AppError && error.code === 'RATE_LIMITED',
  )
  const other: Actor = { kind: 'system', name: 'other' }
  open.push(streams.open(source([], { actor: other }).options))
  for (const stream of open) stream.destroy()
})

test('who may not listen any longer is told so, and hears nothing more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const streams = createStreams({ lookAgainMs: 0 })
  const refused = new AppError('UNAUTHENTICATED', 'These credentials were revoked.')
  const text = await read(
    streams,
    source([1, 2], {
      admit: async () => {
        throw refused
      },
    }),
  )
  assert.match(text, /These credentials were revoked/)
  assert.doesNotMatch(text, /"value"/)
})
