import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type McpServerReceiver, mcpServerReceiver } from '../../../../test/receivers/mcp-server.ts'
import { callTool, testSession } from '../../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../../test/support/app.ts'
import { outgoingHttp } from '../../../adapters/outgoing-http.ts'
import { removeMcpServer, setMcpServer } from '../../../app/mcp-servers.ts'
import type { WorkspaceRef } from '../../../domain/actor.ts'
import { openMcpTools } from './mcp.ts'

let t: TestApp
const http = outgoingHttp({ allow: ['127.0.0.1'], allowHttp: true, timeoutMs: 2000 })
const never = new AbortController().signal
const servers: McpServerReceiver[] = []
before(async () => {
  t = await testApp()
})
after(async () => {
  await t.close()
  for (const one of servers) await one[Symbol.asyncDispose]()
})

const ECHO = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: (input: Record<string, unknown>) => ({ text: `heard ${String(input.text)}` }),
}

async function placed(form: 'json' | 'stream' = 'json') {
  const server = await mcpServerReceiver(form)
  servers.push(server)
  server.tools = [ECHO]
  const workspace = await t.workspace()
  const headers = { Authorization: `Bearer ${server.token}` }
  await setMcpServer(t.inside(workspace), { name: 'docs', url: `${server.url}/mcp`, headers })
  return { server, workspace, session: await testSession(t, workspace) }
}

const toolsIn = (workspace: WorkspaceRef) => openMcpTools({ app: t.app, http })(workspace.id, never)

for (const form of ['json', 'stream'] as const) {
  test(`tools of a listed server are found and called, answers as ${form}`, async () => {
    const { server, workspace, session } = await placed(form)
    server.tools = [ECHO, { ...ECHO, name: 'second' }, { ...ECHO, name: 'third' }]
    server.pageSize = 2
    const tools = await toolsIn(workspace)
    assert.deepEqual(
      tools.map((one) => one.name),
      ['mcp_docs_echo', 'mcp_docs_second', 'mcp_docs_third'],
    )
    const result = await callTool(t, tools, session, 'mcp_docs_echo', { text: 'hello' })
    assert.deepEqual([result.text, result.isError], ['heard hello', false])
    assert.ok((await callTool(t, tools, session, 'mcp_docs_echo', {})).isError, 'its schema is held')
    assert.equal(server.called.length, 1)
  })
}

test('no other workspace has them, and a list narrows them', async () => {
  const { server, workspace } = await placed()
  server.tools = [ECHO, { ...ECHO, name: 'drop' }]
  assert.deepEqual(await toolsIn(await t.workspace()), [])
  await setMcpServer(t.inside(workspace), { name: 'docs', tools: ['echo'] })
  assert.deepEqual(
    (await toolsIn(workspace)).map((one) => one.name),
    ['mcp_docs_echo'],
  )
})

test('what was taken away since is not called any more', async () => {
  const { server, workspace, session } = await placed()
  const tools = await toolsIn(workspace)
  await removeMcpServer(t.inside(workspace), 'docs')
  const result = await callTool(t, tools, session, 'mcp_docs_echo', { text: 'x' })
  assert.ok(result.isError && /not listed any more/.test(result.text))
  assert.equal(server.called.length, 0)
})

test('a hostile server cannot choose names, flood the model or break the loop', async () => {
  const { server, workspace, session } = await placed()
  server.tools = [
    { ...ECHO, name: 'a b' },
    { ...ECHO, name: '../read_file' },
    { ...ECHO, name: 'x'.repeat(60) },
    { ...ECHO, name: 'schema', inputSchema: { type: 'string' } },
    { ...ECHO, name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(10_000) } },
    { ...ECHO, name: 'long', description: 'd'.repeat(5000), run: () => ({ text: 'y'.repeat(200_000) }) },
    { ...ECHO, name: 'odd', run: () => ({ raw: { content: [{ type: 'image', data: 'AAAA' }, 7, null] } }) },
    { ...ECHO, name: 'odd', run: () => ({ text: 'second of the name' }) },
    { ...ECHO, name: 'none', run: () => ({ raw: null }) },
  ]
  const tools = await toolsIn(workspace)
  assert.deepEqual(
    tools.map((one) => one.name),
    ['mcp_docs_long', 'mcp_docs_odd', 'mcp_docs_none'],
  )
  assert.ok(tools[0]!.description.length < 1100)
  const call = (name: string) => callTool(t, tools, session, name, { text: '' })
  assert.match((await call('mcp_docs_long')).text, /^y{50000}\n\(150000 characters more were left out\)$/)
  assert.match((await call('mcp_docs_odd')).text, /^\(image, not shown\)/)
  assert.equal((await call('mcp_docs_none')).text, '(no text)')
})

test('secrets of the environment do not leave in arguments', async () => {
  const { server, workspace, session } = await placed()
  const options = { secrets: ['hunter2-"secret'] }
  const result = await callTool(
    t,
    await toolsIn(workspace),
    session,
    'mcp_docs_echo',
    { text: 'a hunter2-"secret b' },
    options,
  )
  assert.equal(server.called[0]!.input.text, 'a *** b')
  assert.equal(result.text, 'heard a *** b')
})

test('a server that is down, refuses or is no such server has no tools, and a call says what became of it', async () => {
  const { server, workspace, session } = await placed()
  const tools = await toolsIn(workspace)
  server.behave({ kind: 'status', status: 500 })
  assert.deepEqual(await toolsIn(workspace), [])
  assert.match((await callTool(t, tools, session, 'mcp_docs_echo', { text: 'x' })).text, /answered 500/)
  server.behave({ kind: 'redirect', to: 'http://169.254.169.254/' })
  assert.match((await callTool(t, tools, session, 'mcp_docs_echo', { text: 'x' })).text, /answered 302/)
  server.behave(null)
  const strict = openMcpTools({ app: t.app, http: outgoingHttp({ allow: [], allowHttp: true }) })
  assert.deepEqual(await strict(workspace.id, never), [], 'private addresses are not reached unless allowed')
})
