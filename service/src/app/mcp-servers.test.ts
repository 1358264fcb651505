import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { inTransaction } from '../store/database.ts'
import * as servers from '../store/mcp-servers.ts'
import { Vault } from '../store/vault.ts'
import { listMcpServers, removeMcpServer, setMcpServer } from './mcp-servers.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(() => t.close())

const URL = 'https://mcp.example.com/v1'

test('headers are sealed, used and never read back; what is not given stays', async () => {
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  await setMcpServer(ctx, { name: 'docs', url: URL, headers: { Authorization: 'Bearer top-secret' } })
  await setMcpServer(ctx, { name: 'docs', tools: ['search', 'search'] })
  const [listed] = await listMcpServers(ctx)
  assert.deepEqual(
    { ...listed, id: 0 },
    { id: 0, name: 'docs', url: URL, tools: ['search'], headerNames: ['authorization'] },
  )
  const place = { workspaceId: workspace.id, serverId: listed!.id }
  assert.deepEqual(await servers.openHeaders(t.app.db, t.app.vault, place), { authorization: 'Bearer top-secret' })
  assert.ok(!JSON.stringify([listed, await t.records()]).includes('top-secret'))
  assert.equal((await t.records('mcp_server_set')).length, 2)
  await setMcpServer(ctx, { name: 'docs', tools: null, headers: {} })
  assert.deepEqual((await listMcpServers(ctx))[0]!.headerNames, [])
  await removeMcpServer(ctx, 'docs')
  assert.deepEqual(await listMcpServers(ctx), [])
  assert.equal((await t.records('mcp_server_removed')).length, 1)
})

test('a server that is pointed elsewhere needs its headers again', async () => {
  const ctx = t.inside(await t.workspace())
  await setMcpServer(ctx, { name: 'docs', url: URL, headers: { 'x-key': 'secret' } })
  await assert.rejects(setMcpServer(ctx, { name: 'docs', url: 'https://evil.example/' }), /give them again .*x-key/)
  assert.equal((await listMcpServers(ctx))[0]!.url, URL)
  await removeMcpServer(ctx, 'docs')
})

test('names, addresses, tools and headers that cannot be are refused', async () => {
  const ctx = t.inside(await t.workspace())
  for (const name of ['', 'Docs', 'a_b', '1a', 'x'.repeat(25)])
    await assert.rejects(setMcpServer(ctx, { name, url: URL }), /^AppError: name:/)
  for (const url of ['', 'ftp://x', 'https://user:pass@x/', 'file:///etc/passwd', null])
    await assert.rejects(setMcpServer(ctx, { name: 'docs', url }), /^AppError: url:/)
  await assert.rejects(setMcpServer(ctx, { name: 'docs', url: URL, tools: ['a b'] }), /tools:/)
  const wrong: Record<string, string>[] = [{ Host: 'x' }, { 'a b': 'x' }, { a: 'x\ny' }, { a: '' }]
  for (const headers of wrong) await assert.rejects(setMcpServer(ctx, { name: 'docs', url: URL, headers }), /headers/)
  await assert.rejects(removeMcpServer(ctx, 'docs'), /No MCP server/)
})

test('headers are rewrapped under a new master key', async () => {
  const old = randomBytes(32)
  const before = new Vault([old])
  const workspace = await t.workspace()
  await setMcpServer({ ...t.inside(workspace), vault: before }, { name: 'docs', url: URL, headers: { a: 'kept' } })
  const ring = new Vault([randomBytes(32), old])
  const [listed] = await servers.list(t.app.db, workspace.id)
  assert.equal(await inTransaction(t.app.db, (tx) => servers.rewrapSome(tx, ring, 1000)), 1)
  assert.equal(await inTransaction(t.app.db, (tx) => servers.rewrapSome(tx, ring, 1000)), 0)
  const place = { workspaceId: workspace.id, serverId: listed!.id }
  assert.deepEqual(await servers.openHeaders(t.app.db, ring, place), { a: 'kept' })
})
