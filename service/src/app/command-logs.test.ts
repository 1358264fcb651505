import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestApp } from '../../test/support/app.ts'
import { testApp } from '../../test/support/app.ts'
import { type HeldRun, heldRun } from '../../test/support/commands.ts'
import { AppError } from '../domain/errors.ts'
import * as logs from '../store/command-logs.ts'
import { commandLogs, commandOutput, readOutputTail, runOutputs, searchLog } from './command-logs.ts'
import { planOutputs } from './output-plan.ts'

let t: TestApp
let run: HeldRun
before(async () => {
  t = await testApp()
  run = await heldRun(t)
})
after(() => t.close())

const MIB = 1024 * 1024
const ref = (id: number) => ({ workspaceId: run.workspace.id, id })
const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

async function logOf(
  of: HeldRun,
  stdout: string | Buffer,
  stderr: string | Buffer = '',
  finished = true,
): Promise<number> {
  const id = await of.command()
  await logs.open(t.app.db, id, null)
  let end = { stdout: 0, stderr: 0 }
  for (const [stream, content] of Object.entries({ stdout, stderr }) as ['stdout' | 'stderr', string | Buffer][]) {
    const bytes = Buffer.from(content as string)
    for (let at = 0; at < bytes.length; at += logs.CHUNK_BYTES) {
      const part = bytes.subarray(at, at + logs.CHUNK_BYTES)
      assert.ok(await logs.append(t.app.db, id, end, [{ stream, start: end[stream], bytes: part }], false))
      end = { ...end, [stream]: end[stream] + part.length }
    }
  }
  if (finished) assert.ok(await logs.finish(t.app.db, id, end))
  return id
}

test('an unknown command and one of another workspace read the same', async () => {
  const id = await logOf(run, 'mine\n')
  const other = await heldRun(t)
  for (const [ctx, wanted] of [[run.ctx, 2_000_000_000] as const, [other.ctx, id] as const]) {
    await assert.rejects(
      commandLogs(ctx, wanted, null),
      (error) =>
        error instanceof AppError &&
        error.code === 'NOT_FOUND' &&
        error.message === `No command ${wanted} in this workspace.`,
    )
  }
})

test('a cursor that is malformed, or past the end of a finished log, is refused', async () => {
  const id = await logOf(run, 'abc\n')
  for (const cursor of ['x', '', '5', '-1:0', '5:0', '0:1']) {
    await assert.rejects(commandLogs(run.ctx, id, cursor), refused('INVALID_INPUT'), cursor)
  }
  const going = await logOf(run, 'abc\n', '', false)
  assert.deepEqual(await commandLogs(run.ctx, going, '9:0'), { lines: [], cursor: '9:0', finished: false })
})

test('a command that was never reached has a finished and empty log', async () => {
  const other = await heldRun(t)
  const id = await other.command()
  assert.equal((await commandLogs(other.ctx, id, null)).finished, false)
  await other.end('failed')
  assert.deepEqual(await commandLogs(other.ctx, id, null), { lines: [], cursor: '0:0', finished: true })
})

test('a character that is split between two reads is one character', async () => {
  const bytes = Buffer.from('é\n')
  const id = await run.command()
  await logs.open(t.app.db, id, null)
  await logs.append(
    t.app.db,
    id,
    { stdout: 0, stderr: 0 },
    [{ stream: 'stdout', start: 0, bytes: bytes.subarray(0, 1) }],
    false,
  )
  const first = await commandLogs(run.ctx, id, null)
  assert.deepEqual(first.lines, [])
  assert.equal(await readOutputTail(t.app.db, ref(id), 'stdout'), '')
  await logs.append(
    t.app.db,
    id,
    { stdout: 1, stderr: 0 },
    [{ stream: 'stdout', start: 1, bytes: bytes.subarray(1) }],
    false,
  )
  assert.deepEqual((await commandLogs(run.ctx, id, first.cursor)).lines, [{ stream: 'stdout', line: 'é\n' }])
})

test('output is whole up to 1 MiB, and then its last 1 MiB from a line on, after one that says what is missing', async () => {
  const line = `${'x'.repeat(99)}\n`
  const whole = await logOf(run, 'y'.repeat(MIB), 'e')
  assert.deepEqual(await commandOutput(run.ctx, whole), { stdout: 'y'.repeat(MIB), stderr: 'e' })
  const total = 20_000 * line.length
  const { stdout } = await commandOutput(run.ctx, await logOf(run, line.repeat(20_000)))
  const [marker, ...rest] = stdout.split(/(?<=\n)/)
  const missing = Number(
    /^yardmaster: ([\d,]+) bytes before this are not shown\.\n$/.exec(marker!)![1]!.replaceAll(',', ''),
  )
  assert.equal(missing + rest.join('').length, total)
  assert.ok(rest.every((one) => one === line) && rest.join('').length > MIB - 100)
})

test('where no line ends the cut is at a character', async () => {
  const { stdout } = await commandOutput(run.ctx, await logOf(run, `a${'🦖'.repeat(MIB / 2)}\n`))
  const [marker, rest] = stdout.split(/(?<=shown\.\n)/)
  assert.match(marker!, /^yardmaster: /)
  assert.ok(/^(🦖)+\n$/u.test(rest!) && Buffer.byteLength(rest!) > MIB - 8)
})

test('the outputs of a run hold 16 MiB at most, the latest commands whole and the others their last 16 KiB', async () => {
  const other = await heldRun(t)
  const ids: number[] = []
  for (let at = 0; at < 18; at++) ids.push(await logOf(other, `${at}`.padEnd(99, '.').concat('\n').repeat(12_000)))
  const small = await logOf(other, 'small\n', 'e\n')
  const outputs = await runOutputs(t.app.db, { workspaceId: other.workspace.id, id: other.runId })
  const sizes = ids.map((id) => outputs.get(id)!.stdout.length)
  const total = [...outputs.values()].reduce((sum, one) => sum + Buffer.byteLength(one.stdout + one.stderr), 0)
  assert.ok(total <= 16 * MIB && total > 14 * MIB, `${total} bytes`)
  assert.deepEqual(outputs.get(small), { stdout: 'small\n', stderr: 'e\n' })
  assert.ok(
    sizes.slice(-15).every((one) => one > MIB - 200),
    'the latest are whole',
  )
  assert.ok(
    sizes.slice(0, 3).every((one) => one > 16_000 && one < 16_600),
    sizes.join(),
  )
})

test('even of thousands of commands the outputs stay within 16 MiB', () => {
  const states = Array.from({ length: 5_000 }, (_, at) => ({
    commandId: at,
    stdout: MIB,
    stderr: 50,
    finished: true,
    day: '2026-01-01',
  }))
  const plans = planOutputs(states)
  const total = plans.reduce(
    (sum, one) => sum + Math.min(one.stdout, one.state.stdout) + Math.min(one.stderr, one.state.stderr) + 200,
    0,
  )
  assert.ok(total <= 16 * MIB + 5_000 * 200)
})

test('a search finds lines in any case, with their numbers and a cursor that leads to them', async () => {
  const filler = `${'.'.repeat(63)}\n`.repeat(9_000)
  const id = await logOf(
    run,
    `first ERROR here\n${filler}x${'-'.repeat(3_000)}Error ${'y'.repeat(2_000)}\nlast error`,
    'stderr Error\n',
  )
  const { matches, complete } = await searchLog(t.app.db, ref(id), 'error', 10)
  assert.ok(complete)
  assert.deepEqual(
    matches.map((one) => [one.stream, one.number, one.line.slice(0, 16)]),
    [
      ['stdout', 1, 'first ERROR here'],
      ['stdout', 9_002, 'Error yyyyyyyyyy'],
      ['stdout', 9_003, 'last error'],
      ['stderr', 1, 'stderr Error'],
    ],
  )
  for (const { cursor, line, stream } of matches) {
    const first = (await commandLogs(run.ctx, id, cursor)).lines[0]!
    assert.equal(first.stream, stream)
    assert.ok(first.line.includes(line))
  }
  const some = await searchLog(t.app.db, ref(id), 'ERROR', 2)
  assert.deepEqual([some.matches.length, some.complete], [2, false])
  for (const bad of ['', 'a\nb', 'x'.repeat(1_001)])
    await assert.rejects(searchLog(t.app.db, ref(id), bad, 10), refused('INVALID_INPUT'))
  await assert.rejects(searchLog(t.app.db, ref(id), 'x', 0), refused('INVALID_INPUT'))
})

test('a search finds what stands across the pieces in which a log is read', async () => {
  const lines = Array.from({ length: 30_000 }, (_, at) => `line ${at} ${'z'.repeat(at % 97)}\n`)
  const id = await logOf(run, lines.join(''))
  for (const at of [0, 7_777, 12_345, 29_999]) {
    const { matches } = await searchLog(t.app.db, ref(id), `LINE ${at} `, 5)
    assert.deepEqual(
      matches.map((one) => one.number),
      [at + 1],
    )
  }
})
