// Agents, models and MCP servers by command, on a data folder of their own that no service works on.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type CommandLine, codeOf, commandLine } from '../../test/support/command-line.ts'
import { type TestRepository, testRepository } from '../../test/support/repository.ts'

let line: CommandLine
let repository: TestRepository
before(async () => {
  line = commandLine()
  repository = await testRepository({ 'README.md': '# Shop\n' })
  await line.json(['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'])
})
after(async () => {
  line.remove()
  await repository[Symbol.asyncDispose]()
})

test('a model family takes its key from the standard input or a file, and never shows it', async () => {
  const refused = await line.here(['models', 'set', 'large', '--provider', 'anthropic', '--model', 'm', '--json'])
  assert.equal(codeOf(refused.err), 'INVALID_INPUT')
  assert.match(refused.err, /apiKey/)
  await line.jsonHere(['models', 'set', 'large', '--provider', 'anthropic', '--model', 'm', '--secrets'], {
    input: 'apiKey=typed-into-the-terminal\n',
  })
  writeFileSync(join(line.folder, 'key'), 'apiKey=kept-in-a-file\n')
  const small = ['models', 'set', 'small', '--provider', 'openai', '--model', 'n', '--secrets-file', 'key']
  await line.jsonHere([...small, '--setting', 'priceInput=0.25', '--setting', 'priceOutput=2'])
  await line.jsonHere(['models', 'set', 'large', '--model', 'other'])
  const listed = await line.here(['models', 'list'])
  assert.match(listed.out, /large +anthropic +other +yes +- +apiKey/)
  assert.match(listed.out, /small +openai +n +no +priceInput=0\.25 priceOutput=2 +apiKey/)
  assert.doesNotMatch(listed.out, /typed-into|kept-in/)
  const gone = await line.here(['models', 'set', 'small', '--secrets-file', 'nowhere'])
  assert.match(gone.err, /nowhere cannot be read: ENOENT/)
  const empty = await line.here(['models', 'set', 'small', '--secrets'], { input: '' })
  assert.match(empty.err, /nothing was given/)
  await line.jsonHere(['models', 'remove', 'small'])
  await line.jsonHere(['models', 'remove', 'large'])
  assert.match((await line.here(['models', 'list'])).out, /No model is set up/)
})

test('the test of a model says by its exit code whether it can be used', async () => {
  const fine = await line.here(['models', 'test', 'scripted'])
  assert.equal(fine.code, 0, fine.err + fine.out)
  const local = ['models', 'set', 'local', '--provider', 'openai_compatible', '--model', 'm']
  await line.jsonHere([...local, '--setting', 'address=http://127.0.0.1:9/v1'])
  const broken = await line.here(['models', 'test', 'local', '--json'])
  assert.equal(broken.code, 1)
  assert.equal((JSON.parse(broken.out) as { ok: boolean }).ok, false)
  await line.jsonHere(['models', 'remove', 'local'])
})

test('a policy is shown, changed in part, and given back', async () => {
  const show = () => line.jsonHere<Record<string, unknown>>(['agents', 'policy'])
  assert.deepEqual(await show(), { tools: null, egressHosts: [], budget: {}, commitName: '', commitEmail: '' })
  await line.jsonHere([
    'agents',
    'policy',
    '--tool',
    'read_file,ripgrep_search',
    '--max-steps',
    '5',
    '--max-cents',
    '50',
  ])
  await line.jsonHere(['agents', 'policy', '--egress-host', 'pypi.org'])
  assert.deepEqual(await show(), {
    tools: ['read_file', 'ripgrep_search'],
    egressHosts: ['pypi.org'],
    budget: { steps: 5, costMicrodollars: 500_000 },
    commitName: '',
    commitEmail: '',
  })
  const wrong = await line.here(['agents', 'policy', '--tool', 'read_fil', '--json'])
  assert.match(wrong.err, /Did you mean read_file/)
  await line.jsonHere(['agents', 'policy', '--all-tools', '--close-network', '--max-steps', '0', '--max-cents', '0'])
  assert.deepEqual(await show(), { tools: null, egressHosts: [], budget: {}, commitName: '', commitEmail: '' })
})

test('an MCP server takes its headers from the standard input, and another address asks for them again', async () => {
  await line.jsonHere(['mcp', 'set', 'docs', '--url', 'https://mcp.example.com/a', '--tool', 'search', '--secrets'], {
    input: 'Authorization=Bearer%20token-of-the-server',
  })
  const listed = await line.here(['mcp', 'list'])
  assert.match(listed.out, /docs +https:\/\/mcp\.example\.com\/a +search +Authorization/i)
  assert.ok(!listed.out.includes('token-of-the-server'))
  const moved = await line.here(['mcp', 'set', 'docs', '--url', 'https://elsewhere.example.com/a', '--json'])
  assert.equal(codeOf(moved.err), 'INVALID_INPUT')
  await line.jsonHere(['mcp', 'set', 'docs', '--all-tools'])
  const [server] = await line.jsonHere<{ tools: unknown }[]>(['mcp', 'list'])
  assert.equal(server!.tools, null)
  await line.jsonHere(['mcp', 'remove', 'docs'])
  assert.equal(codeOf((await line.here(['mcp', 'remove', 'docs', '--json'])).err), 'NOT_FOUND')
})

test('a session is started, listed and stopped where no service runs, and nobody waits for one there', async () => {
  const none = await line.here(['agents', 'run', '--message', 'Why?', '--json'])
  assert.match(none.err, /repository/)
  await line.jsonHere(['environments', 'create', 'Production', '--repository', repository.folder])
  const alone = await line.here(['agents', 'run', '--message', 'Why?', '--wait'])
  assert.equal(alone.code, 1)
  assert.match(alone.err, /No service works on .*yardmaster serve/)
  assert.deepEqual(await line.jsonHere(['agents', 'sessions']), [])
  const { sessionId } = await line.jsonHere<{ sessionId: string }>(['agents', 'run', '--message', 'Why?'])
  assert.match(sessionId, /^[a-z0-9]{16}$/)
  assert.match((await line.here(['agents', 'sessions'])).out, new RegExp(`${sessionId} +assistant +queued +1 `))
  const stopped = await line.jsonHere<{ status: string }>(['agents', 'stop', sessionId])
  assert.equal(stopped.status, 'stopped')
  const { messages } = await line.jsonHere<{ messages: { role: string; content: string }[] }>([
    'agents',
    'transcript',
    sessionId,
  ])
  assert.equal(messages[0]!.content, 'Why?')
  assert.match(messages.at(-1)!.content, /stopped/i)
  assert.deepEqual(await line.jsonHere<unknown[]>(['agents', 'sessions', '--status', 'queued']), [])
})

test('what is in a transcript cannot speak to a terminal', async () => {
  const { sessionId } = await line.jsonHere<{ sessionId: string }>(['agents', 'run', '--message', 'a\u001b[31mb\nc'])
  const shown = await line.here(['agents', 'transcript', sessionId])
  assert.match(shown.out, /a\?\[31mb\nc/)
})
