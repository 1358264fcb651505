import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { TestApp } from '../../../test/support/app.ts'
import { testApp } from '../../../test/support/app.ts'
import { type HeldRun, heldRun } from '../../../test/support/commands.ts'
import { readBatch, readOutputTail, streamLog } from '../../app/command-logs.ts'
import * as logs from '../../store/command-logs.ts'
import type { Db } from '../../store/database.ts'
import type { CommandLog } from './log-shipper.ts'
import { LogClosed, openLog } from './log-shipper.ts'

let t: TestApp
let run: HeldRun
before(async () => {
  t = await testApp()
  run = await heldRun(t)
})
after(() => t.close())

const MIB = 1024 * 1024
const ref = (id: number) => ({ workspaceId: run.workspace.id, id })

async function stored(id: number, stream: 'stdout' | 'stderr'): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of streamLog(t.app.db, ref(id), stream)) parts.push(part)
  return Buffer.concat(parts)
}

async function everyLine(id: number): Promise<{ stdout: string; stderr: string; batches: number }> {
  const all = { stdout: '', stderr: '', batches: 0 }
  for (let cursor: string | null = null; ; ) {
    const batch = await readBatch(t.app.db, ref(id), cursor)
    all.batches++
    for (const { stream, line } of batch.lines) all[stream] += line
    assert.ok(batch.lines.length <= 1_000)
    assert.ok(batch.lines.reduce((sum, one) => sum + Buffer.byteLength(one.line), 0) <= MIB)
    if (batch.finished) return all
    assert.notEqual(batch.cursor, cursor, 'a reader comes on')
    cursor = batch.cursor
  }
}

async function shipped(chunks: readonly (readonly ['stdout' | 'stderr', Buffer])[], secrets: readonly string[] = []) {
  const id = await run.command()
  const log = await openLog(t.app.db, id, { secrets })
  for (const [stream, bytes] of chunks) await log.write(stream, bytes)
  await log.finish()
  return id
}

const text = (value: string): Buffer => Buffer.from(value)

test('what was written is readable as it was, and complete', async () => {
  const id = await shipped([
    ['stdout', text('one\ntwo\r\n')],
    ['stderr', text('warn')],
    ['stdout', text('three')],
  ])
  assert.deepEqual(await readBatch(t.app.db, ref(id), null), {
    lines: [
      { stream: 'stdout', line: 'one\n' },
      { stream: 'stdout', line: 'two\r\n' },
      { stream: 'stdout', line: 'three' },
      { stream: 'stderr', line: 'warn' },
    ],
    cursor: '14:4',
    finished: true,
  })
})

test('output is readable while the command runs, in whole lines, and finished comes with the last of it', async () => {
  const id = await run.command()
  const log = await openLog(t.app.db, id, { secrets: [] })
  await log.write('stdout', text('first\nsec'))
  let batch = await readBatch(t.app.db, ref(id), null)
  while (batch.lines.length === 0) batch = await readBatch(t.app.db, ref(id), null)
  assert.deepEqual(batch, { lines: [{ stream: 'stdout', line: 'first\n' }], cursor: '6:0', finished: false })
  await log.write('stdout', text('ond'))
  await log.finish()
  assert.deepEqual(await readBatch(t.app.db, ref(id), batch.cursor), {
    lines: [{ stream: 'stdout', line: 'second' }],
    cursor: '12:0',
    finished: true,
  })
  assert.deepEqual(await readBatch(t.app.db, ref(id), '12:0'), { lines: [], cursor: '12:0', finished: true })
})

test('any bytes in any pieces come out whole, the same from every cursor', async () => {
  const corpus = [
    text('line\n'),
    text('é🦖'),
    text('\r\n'),
    text('\0\x1b[31mred'),
    Buffer.of(0xff, 0xe2, 0x82),
    text('\n\n'),
    randomBytes(3_000),
  ]
  for (let round = 0; round < 25; round++) {
    const id = await run.command()
    const log = await openLog(t.app.db, id, { secrets: [] })
    const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    for (let at = 0; at < 60; at++) {
      const stream = Math.random() < 0.5 ? 'stdout' : 'stderr'
      const piece = corpus[Math.floor(Math.random() * corpus.length)]!
      const cut = Math.floor(Math.random() * piece.length)
      for (const part of [piece.subarray(0, cut), piece.subarray(cut)]) {
        written[stream].push(part)
        await log.write(stream, part)
      }
    }
    await log.finish()
    const whole = { stdout: Buffer.concat(written.stdout), stderr: Buffer.concat(written.stderr) }
    assert.ok((await stored(id, 'stdout')).equals(whole.stdout))
    assert.ok((await stored(id, 'stderr')).equals(whole.stderr))
    const { stdout, stderr } = await everyLine(id)
    assert.equal(stdout, whole.stdout.toString())
    assert.equal(stderr, whole.stderr.toString())
    const again = await readBatch(t.app.db, ref(id), null)
    assert.deepEqual(await readBatch(t.app.db, ref(id), null), again)
  }
})

test('much output comes in batches that are within their bounds, and stdout does not hide stderr', async () => {
  const out = `${'o'.repeat(99)}\n`.repeat(40_000)
  const err = 'e\n'.repeat(3_000)
  const id = await shipped([
    ['stdout', text(out)],
    ['stderr', text(err)],
  ])
  const first = await readBatch(t.app.db, ref(id), null)
  assert.deepEqual(
    [first.lines.length, first.lines.at(0)!.stream, first.lines.at(-1)!.stream],
    [1_000, 'stdout', 'stderr'],
  )
  const all = await everyLine(id)
  assert.ok(all.stdout === out && all.stderr === err)
})

test('one very long line comes in pieces', async () => {
  const line = 'é🦖x'.repeat(500_000)
  const id = await shipped([['stdout', text(`${line}\nend\n`)]])
  const all = await everyLine(id)
  assert.ok(all.stdout === `${line}\nend\n`)
  assert.ok(all.batches >= 4)
})

test('secrets are masked in both streams, also when they come byte by byte', async () => {
  const secret = 'correct-horse-battery'
  const bytes = [...text(`a ${secret} b ${Buffer.from(`x${secret}`).toString('base64')}\n`)]
  const id = await shipped(
    bytes.flatMap((one) => [['stdout', Buffer.of(one)] as const, ['stderr', Buffer.of(one)] as const]),
    [secret],
  )
  const { stdout, stderr } = await everyLine(id)
  assert.equal(stdout, stderr)
  assert.ok(!stdout.includes('horse') && !stdout.includes(Buffer.from('horse-battery').toString('base64').slice(2, 12)))
  assert.match(stdout, /^a \*\*\* b .{0,3}\*\*\*.{0,3}\n$/)
})

test('past the cap the command goes on, and the log says what is missing and keeps the end', async () => {
  const id = await run.command()
  const log = await openLog(t.app.db, id, { secrets: [], capBytes: 2 * MIB })
  const line = (at: number): string => `${String(at).padStart(9, '0')}\n`
  const lines = 500_000
  for (let at = 0; at < lines; at += 1_000) {
    await log.write('stdout', text(Array.from({ length: 1_000 }, (_, more) => line(at + more)).join('')))
  }
  await log.note('3 files were not kept.')
  await log.finish()
  const bytes = (await stored(id, 'stdout')).toString()
  const [first, rest] = bytes.split(
    'yardmaster: This log has reached its limit of 2 MiB: of what follows only the last 1 MiB is kept.\n',
  )
  assert.ok(first!.startsWith(line(0)) && first!.length >= 2 * MIB - 10 && first!.length <= 2 * MIB + 1)
  const [, missing, tail] = /^yardmaster: ([\d,]+) bytes of output are missing here\.\n(.*)$/s.exec(rest!)!
  assert.equal(
    first!.replace(/\n$/, '').length + Number(missing!.replaceAll(',', '')) + tail!.length,
    lines * 10 - (first!.endsWith('\n') && (2 * MIB) % 10 === 0 ? 1 : 0),
  )
  assert.ok(tail!.endsWith(line(lines - 1)) && tail!.length > MIB - 20 && tail!.length <= MIB)
  assert.equal((await stored(id, 'stderr')).toString(), 'yardmaster: 3 files were not kept.\n')
})

test('a note stands on a line of its own', async () => {
  const id = await run.command()
  const log = await openLog(t.app.db, id, { secrets: ['secret-value'] })
  await log.write('stderr', text('half a line, secret-'))
  await log.note('said')
  await log.finish()
  assert.equal((await stored(id, 'stderr')).toString(), 'half a line, secret-\nyardmaster: said\n')
})

test('a writer waits while the database is behind, and its memory stays bounded', async () => {
  const id = await run.command()
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = intercepted(t.app.db, async (name) => {
    if (name === 'log_append') await held
  })
  const log = await openLog(slow, id, { secrets: [] })
  const piece = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  const writing = (async () => {
    for (let at = 0; at < 64; at++) {
      await log.write('stdout', piece)
      written += piece.length
    }
  })()
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(written >= MIB && written <= 3 * MIB, `${written} bytes were taken`)
  release()
  await writing
  await log.finish()
  assert.equal((await stored(id, 'stdout')).length, 64 * piece.length)
})

test('an append whose answer is lost, and one that the database forgot, are made good', async () => {
  const id = await run.command()
  let appends = 0
  const lossy = intercepted(t.app.db, undefined, async (name) => {
    if (name === 'log_append' && ++appends % 2 === 1) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  })
  const log = await openLog(lossy, id, { secrets: [] })
  const parts = Array.from({ length: 8 }, (_, at) => Buffer.alloc(300_000, String(at)))
  for (const part of parts.slice(0, 4)) await log.write('stdout', part)
  // As after a crash: the last appends were not on the disk.
  await t.app.db.transaction().execute(async (tx) => {
    await sql`update command set stdout_bytes = 0 where id = ${id}`.execute(tx)
    await sql`delete from log_chunk where command_id = ${id}`.execute(tx)
  })
  for (const part of parts.slice(4)) await log.write('stdout', part)
  await log.finish()
  assert.ok((await stored(id, 'stdout')).equals(Buffer.concat(parts)))
})

test('a log that somebody closed takes nothing more, and its writer hears of it', async () => {
  const id = await run.command()
  const log = await openLog(t.app.db, id, { secrets: [] })
  await log.write('stdout', text('in time\n'))
  await settled(log, id, 8)
  await logs.finishOfRun(t.app.db, run.runId)
  await assert.rejects(async () => {
    for (;;) await log.write('stdout', Buffer.alloc(300_000, 'late'))
  }, LogClosed)
  await assert.rejects(log.finish(), LogClosed)
  await assert.rejects(openLog(t.app.db, id, { secrets: [] }), LogClosed)
  assert.equal((await stored(id, 'stdout')).toString(), 'in time\n')
})

test('waiting for a database that is away ends with the signal', async () => {
  const id = await run.command()
  const abort = new AbortController()
  const away = intercepted(t.app.db, async (name) => {
    if (name === 'log_append') throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
  })
  const log = await openLog(away, id, { secrets: [], signal: abort.signal })
  const writing = assert.rejects(async () => {
    for (;;) await log.write('stdout', Buffer.alloc(300_000))
  })
  abort.abort(new Error('fenced'))
  await writing
})

test('a log is in one partition, of its day, and partitions are made and dropped by the day', async () => {
  const days = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`select relname as name from pg_class
      where relname ~ '^log_chunk_\\d{8}$' order by 1`.execute(t.app.db)
    return rows.map((row) => row.name)
  }
  assert.ok((await logs.makeDays(t.app.db, 2)) >= 2)
  await Promise.all([logs.makeDays(t.app.db, 3), logs.makeDays(t.app.db, 3)])
  await sql`select log_chunk_make_days('2020-01-01', 2)`.execute(t.app.db)
  const ended = await heldRun(t)
  const latest = await heldRun(t, ended.workspace)
  await sql`update run set schedule_id = (select schedule_id from run where id = ${ended.runId}) where id = ${latest.runId}`.execute(
    t.app.db,
  )
  const ids: number[] = []
  for (const one of [ended, latest]) {
    const id = await one.command()
    const log = await openLog(t.app.db, id, { secrets: [], day: '2020-01-01' })
    await log.write('stdout', text('old\n'))
    await log.finish()
    await one.end('failed')
    ids.push(id)
  }
  assert.ok((await days()).includes('log_chunk_20200101'))
  const dropped = await logs.dropDays(t.app.db, '2021-01-01')
  assert.equal(dropped, 2)
  assert.deepEqual(
    (await days()).filter((one) => one < 'log_chunk_2021'),
    ['log_chunk_20200101'],
  )
  assert.equal(await logs.dropDays(t.app.db, '2021-01-01'), 0, 'what is left is kept')
  const [gone, kept] = ids
  const place = { workspaceId: ended.workspace.id }
  assert.deepEqual(await readBatch(t.app.db, { ...place, id: gone! }, null), {
    lines: [],
    cursor: '4:0',
    finished: true,
  })
  assert.equal(await readOutputTail(t.app.db, { ...place, id: gone! }, 'stdout'), '')
  assert.equal((await readBatch(t.app.db, { ...place, id: kept! }, null)).lines[0]!.line, 'old\n')
})

async function settled(_log: CommandLog, id: number, bytes: number): Promise<void> {
  while ((await logs.find(t.app.db, run.workspace.id, id))!.stdout < bytes)
    await new Promise((resolve) => setTimeout(resolve, 5))
}

type Hook = (name: string) => Promise<void>

/** A database whose statements can be held up, or fail before or after they were done. */
function intercepted(db: Db, first?: Hook, then?: Hook): Db {
  const executor = db.getExecutor()
  const watched = new Proxy(executor, {
    get: (target, key) => {
      const value = Reflect.get(target, key) as unknown
      if (key !== 'executeQuery') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: Parameters<typeof executor.executeQuery>) => {
        const name = /^\s*\/\* (\w+) \*\//.exec(args[0].sql)?.[1] ?? ''
        await first?.(name)
        const result = await executor.executeQuery(...args)
        await then?.(name)
        return result
      }
    },
  })
  return new Proxy(db, { get: (target, key) => (key === 'getExecutor' ? () => watched : Reflect.get(target, key)) })
}
