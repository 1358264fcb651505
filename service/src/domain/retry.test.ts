import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDbt } from './dbt-command.ts'
import type { PastCommand, PastRun, RetryCommand } from './retry.ts'
import { planRetryAll, planRetryFailed, planRetryFromFailure } from './retry.ts'
import type { CommandState, RunState } from './run.ts'

const command = (id: number, text: string, state: CommandState, more: Partial<PastCommand> = {}): PastCommand => ({
  id,
  kind: 'user',
  text,
  originalText: text,
  continueOnError: false,
  state,
  leftResults: false,
  ...more,
})

const past = (state: RunState, ...users: PastCommand[]): PastRun => ({
  state,
  commands: [
    command(1, 'git clone', 'succeeded', { kind: 'infrastructure' }),
    command(2, 'install dependencies', 'succeeded', { kind: 'infrastructure' }),
    ...users,
  ],
})

const brokenClone = (...users: PastCommand[]): PastRun => ({
  state: 'errored',
  commands: [command(1, 'git clone', 'failed', { kind: 'infrastructure' }), ...users],
})

const texts = (commands: readonly RetryCommand[]): string[] => commands.map((one) => one.text)

const errored = past('errored', command(3, 'a', 'succeeded'), command(4, 'b', 'failed'), command(5, 'c', 'not_run'))
const continued = past('errored', command(3, 'a', 'failed'), command(4, 'b', 'succeeded'), command(5, 'c', 'failed'))
const canceled = past('canceled', command(3, 'a', 'succeeded'), command(4, 'b', 'stopped'), command(5, 'c', 'not_run'))
const lost = past('failed', command(3, 'a', 'stopped'), command(4, 'b', 'not_run'))

test('a retry of a run takes the commands that failed, in order', () => {
  assert.deepEqual(texts(planRetryFailed(errored)), ['b'])
  assert.deepEqual(texts(planRetryFailed(continued)), ['a', 'c'])
  assert.deepEqual(texts(planRetryFailed(canceled)), ['b', 'c'])
  assert.deepEqual(texts(planRetryFailed(lost)), ['a', 'b'])
})

test('a retry from the failure takes the first failed command and everything after it', () => {
  assert.deepEqual(texts(planRetryFromFailure(errored)), ['b', 'c'])
  assert.deepEqual(texts(planRetryFromFailure(continued)), ['a', 'b', 'c'])
  assert.deepEqual(texts(planRetryFromFailure(canceled)), ['b', 'c'])
  assert.deepEqual(texts(planRetryFromFailure(brokenClone(command(2, 'a', 'not_run'), command(3, 'b', 'not_run')))), [
    'a',
    'b',
  ])
})

test('a retry of everything takes the original commands verbatim', () => {
  const replaced = past('succeeded', command(3, 'dbt retry', 'succeeded', { originalText: 'dbt build' }))
  assert.deepEqual(texts(planRetryAll(replaced)), ['dbt build'])
  assert.deepEqual(texts(planRetryAll(errored)), ['a', 'b', 'c'])
})

test('every refusal says what the contract says', () => {
  const going = past('running', command(3, 'a', 'running'))
  const none = past('errored')
  const good = past('succeeded', command(3, 'a', 'succeeded'))
  for (const plan of [planRetryFailed, planRetryFromFailure, planRetryAll]) {
    assert.throws(() => plan(going), { message: 'Cannot retry a run that is still in progress', code: 'CONFLICT' })
    assert.throws(() => plan(none), { message: 'Schedule run has no commands to retry', code: 'CONFLICT' })
  }
  for (const plan of [planRetryFailed, planRetryFromFailure]) {
    assert.throws(() => plan(good), { message: 'All commands were successful, nothing to retry' })
  }
  assert.throws(() => planRetryFailed(brokenClone(command(2, 'a', 'not_run'))), /trigger the schedule again/)
  assert.throws(() => planRetryFromFailure(null), /no runs yet/)
})

test('the first failed dbt command becomes dbt retry when it left its results', () => {
  const left = { leftResults: true }
  const run = past(
    'errored',
    command(3, 'dbt seed', 'succeeded', left),
    command(4, 'dbt build --select x --target prod --project-dir "a b" --threads 4', 'failed', left),
    command(5, 'dbt test', 'failed', left),
  )
  assert.deepEqual(planRetryFailed(run), [
    {
      text: 'dbt retry --target prod --project-dir "a b"',
      originalText: 'dbt build --select x --target prod --project-dir "a b" --threads 4',
      continueOnError: false,
      stateFrom: 4,
    },
    { text: 'dbt test', originalText: 'dbt test', continueOnError: false, stateFrom: null },
  ])
  assert.deepEqual(texts(planRetryFailed(past('errored', command(3, 'dbt build', 'failed')))), ['dbt build'])
  assert.deepEqual(texts(planRetryFailed(past('errored', command(3, 'dbt parse', 'failed', left)))), ['dbt parse'])
  const again = command(3, 'dbt retry', 'failed', { ...left, originalText: 'dbt build --target-path=out' })
  assert.deepEqual(texts(planRetryFailed(past('errored', again))), ['dbt retry --target-path=out'])
})

test('only one simple command whose first word is dbt is a dbt command', () => {
  assert.deepEqual(parseDbt('dbt  --quiet run -t prod'), { command: 'run', kept: ['-t', 'prod'] })
  assert.deepEqual(parseDbt(`"dbt" 'build'`), { command: 'build', kept: [] })
  for (const text of [
    'cd x && dbt run',
    'dbt run; true',
    'dbt run | tee x',
    'dbt run > x',
    'A=1 dbt run',
    'dbt run $X',
    'dbt run `x`',
    'dbt run\ndbt test',
    'dbtx run',
    './dbt run',
    'dbt',
    '',
  ]) {
    assert.equal(parseDbt(text), null, text)
  }
})
