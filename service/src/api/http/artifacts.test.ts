import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { TestApp } from '../../../test/support/app.ts'
import { testApp } from '../../../test/support/app.ts'
import { type HeldRun, heldRun } from '../../../test/support/commands.ts'
import { openFilesystemBlobs } from '../../adapters/blob/filesystem.ts'
import { keepFile, resourceUrl } from '../../app/artifacts.ts'
import { logUrl } from '../../app/log-links.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import * as logs from '../../store/command-logs.ts'
import { createServer } from '../server.ts'
import { registerArtifacts } from './artifacts.ts'
import { parseRange } from './download.ts'
import { registerLogs } from './logs.ts'

let t: TestApp
let run: HeldRun
let blobs: BlobStore
let folder: string
let server: FastifyInstance
before(async () => {
  t = await testApp()
  run = await heldRun(t)
  folder = await mkdtemp(join(tmpdir(), 'yardmaster-http-'))
  blobs = await openFilesystemBlobs(folder)
  server = createServer({ log: t.app.log, trustProxy: [], tls: null, maxConnections: 10, isUnavailable: () => false })
  registerArtifacts(server, { app: t.app, blobs })
  registerLogs(server, { app: t.app })
})
after(async () => {
  await server.close()
  await t.close()
  await rm(folder, { recursive: true })
})

const address = (url: string): string => url.slice(t.app.settings.publicUrl.length)

async function fileUrl(path: string, content: string): Promise<string> {
  const open = async () => Readable.from([Buffer.from(content)])
  const signal = new AbortController().signal
  const kept = await keepFile(t.app.db, blobs, run.owner(await run.command()), { path, listed: true, open }, signal)
  assert.ok(typeof kept === 'object')
  return address(await resourceUrl(run.ctx, kept.id))
}

test('a link works with a bare GET, and what it gives is never taken for a page', async () => {
  const url = await fileUrl('target/<script>é"x".html', '<script>alert(1)</script>')
  const reply = await server.inject({ url })
  assert.equal(reply.statusCode, 200)
  assert.equal(reply.body, '<script>alert(1)</script>')
  const { headers } = reply
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['content-length'], '25')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.match(String(headers['content-security-policy']), /^sandbox; default-src 'none'/)
  assert.equal(
    headers['content-disposition'],
    `attachment; filename="<script>__x_.html"; filename*=UTF-8''%3Cscript%3E%C3%A9%22x%22.html`,
  )
})

test('HEAD gives the headers alone, other methods are refused', async () => {
  const url = await fileUrl('a.txt', 'hello')
  const head = await server.inject({ url, method: 'HEAD' })
  assert.deepEqual([head.statusCode, head.body, head.headers['content-length']], [200, '', '5'])
  for (const method of ['POST', 'PUT', 'DELETE'] as const) {
    assert.equal((await server.inject({ url, method })).statusCode, 405)
  }
})

test('a part of a file can be asked for', async () => {
  const url = await fileUrl('a.txt', '0123456789')
  const part = await server.inject({ url, headers: { range: 'bytes=2-4' } })
  assert.deepEqual([part.statusCode, part.body, part.headers['content-range']], [206, '234', 'bytes 2-4/10'])
  const past = await server.inject({ url, headers: { range: 'bytes=10-' } })
  assert.deepEqual([past.statusCode, past.headers['content-range']], [416, 'bytes */10'])
  for (const [header, range] of [
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-30', { start: 0, end: 9 }],
    ['bytes=5-', { start: 5, end: 9 }],
    ['bytes=5-99', { start: 5, end: 9 }],
    ['bytes=-0', null],
    ['bytes=5-2', undefined],
    ['bytes=-', undefined],
    ['bytes=0-1,3-4', undefined],
    ['lines=1-2', undefined],
    [undefined, undefined],
  ] as const) {
    assert.deepEqual(parseRange(header, 10), range, header)
  }
})

test('an altered or expired link is 403 with a sentence, and its signature is in no log line', async () => {
  const url = await fileUrl('a.txt', 'hello')
  const reply = await server.inject({ url: `${url}x` })
  assert.equal(reply.statusCode, 403)
  assert.match(reply.body, /ask for a new one/)
  t.clock.advance(301_000)
  assert.equal((await server.inject({ url })).statusCode, 403)
  assert.equal((await server.inject({ url: '/files/1/x' })).statusCode, 403)
  assert.ok(t.lines.length > 0)
  const signature = /s=([\w-]+)/.exec(url)![1]!
  assert.ok(!JSON.stringify(t.lines).includes(signature))
})

test('a whole log comes as plain text', async () => {
  const id = await run.command()
  await logs.open(t.app.db, id, null)
  const bytes = Buffer.from(`${'é'.repeat(100_000)}\n`)
  const chunks = [{ stream: 'stderr' as const, start: 0, bytes }]
  assert.ok(await logs.append(t.app.db, id, { stdout: 0, stderr: 0 }, chunks, false))
  const url = address(await logUrl(run.ctx, id, 'stderr'))
  const reply = await server.inject({ url })
  assert.deepEqual([reply.statusCode, reply.headers['content-type']], [200, 'text/plain; charset=utf-8'])
  assert.ok(reply.rawPayload.equals(bytes))
  assert.match(String(reply.headers['content-disposition']), /^attachment; filename="command-\d+-stderr\.txt"/)
  assert.equal((await server.inject({ url: address(await logUrl(run.ctx, id, 'stdout')) })).body, '')
  assert.equal((await server.inject({ url: url.replace('stderr', 'stdout') })).statusCode, 403)
  const other = await heldRun(t)
  await assert.rejects(logUrl(other.ctx, id, 'stdout'), /No command \d+ in this workspace\./)
})

test('the routes say that a signed link is what they ask for', () => {
  assert.deepEqual(
    [...new Set(server.routeTable.map((one) => `${one.method} ${one.url} ${one.access}`))],
    [
      'GET /files/:id/:name signed-link',
      'HEAD /files/:id/:name signed-link',
      'GET /logs/:commandId/:stream signed-link',
      'HEAD /logs/:commandId/:stream signed-link',
    ],
  )
})
