import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { FIRST, testEdge } from '../../../test/support/edge.ts'
import { invalidInput } from '../../domain/errors.ts'
import { createDocuments } from './documents.ts'

const users = () => ({
  ok: true,
  activeUsers: [
    { uid: 'u1', email: 'ana@example.com', name: 'Ana', accountType: 'ADMIN' },
    { uid: 'u2', email: 'bo@example.com', name: '', accountType: 'ANALYST' },
  ],
  invitedUsers: [{ email: 'c@example.com', accountType: 'BUSINESS', inviteStatus: 'EXPIRED' }],
})

const auditLogs = () => ({
  ok: true,
  totalCount: 1,
  auditLogs: [
    {
      id: 2 ** 31 - 1,
      createdDttm: '2026-01-01 00:00:00.000001',
      metadataJson: { a: [1, { b: null }], c: 'd' },
      workspaceId: 0,
      workspaceName: '',
    },
  ],
})

test('two operations of one document are told apart by name, compiled or not', async () => {
  const edge = await testEdge()
  const query = 'query A { listWorkspaces { ok } } query B { apiKeyIdentity { isValid } }'
  const unnamed = /Must provide operation name if query contains multiple operations/
  for (let round = 0; round < 6; round++) {
    const a = await edge.ask(query, { operationName: 'A' })
    const b = await edge.ask(query, { operationName: 'B' })
    assert.deepEqual(a.json, { data: { listWorkspaces: { ok: true } } })
    assert.deepEqual(b.json, { data: { apiKeyIdentity: { isValid: true } } })
    for (const [operationName, message] of [
      [undefined, unnamed],
      ['', unnamed],
      ['C', /Unknown operation named "C"/],
      ['A\0', /Unknown operation named/],
      ['constructor', /Unknown operation named "constructor"/],
    ] as const) {
      const reply = await edge.ask(query, { operationName })
      assert.equal(reply.status, 400)
      assert.match(reply.json.errors[0].message, message)
    }
  }
})

test('a name is no way to reach what was kept under another text', async () => {
  const edge = await testEdge()
  const hidden = '# c\0{ x }\nquery A { listWorkspaces { ok } }'
  const first = await edge.ask(hidden, { operationName: 'A' })
  const second = await edge.ask('{ x }\nquery A { listWorkspaces { ok } }', { operationName: 'A\0# c' })
  assert.ok([200, 400].includes(first.status))
  assert.equal(second.status, 400)
})

test('the answers of the compiled document are those of the plain one', async () => {
  const edge = await testEdge({
    resolvers: {
      listUsers: users,
      getAuditLogs: auditLogs,
      environments: () => ({ ok: true, environments: [null], variables: [], secrets: [] }),
      listWorkspaces: () => Promise.reject(invalidInput('not today')),
      listApiKeys: () => ({ ok: true, keys: [{ id: 2 ** 31 }] }),
      listSessions: () => ({ ok: true, sessions: 'no list' }),
      features: () => null,
      me: () => undefined,
    },
  })
  const rows: [query: string, variables?: unknown][] = [
    ['{ listUsers { ok activeUsers { uid email name accountType } invitedUsers { email inviteStatus } } }'],
    [
      '{ b: listUsers { ok a: activeUsers { uid b: uid } ...f } } fragment f on Users { invitedUsers { ...g } } fragment g on InvitedUser { email __typename }',
    ],
    ['query ($s: Boolean!) { listUsers { ok @skip(if: $s) activeUsers @include(if: $s) { email } } }', { s: true }],
    ['query ($s: Boolean!) { listUsers { ok @skip(if: $s) activeUsers @include(if: $s) { email } } }', { s: false }],
    ['query ($s: Boolean!) { listUsers @skip(if: $s) { ok } apiKeyIdentity { isValid } }', { s: true }],
    [
      'query ($s: Boolean!) { ...f @skip(if: $s) apiKeyIdentity { isValid } } fragment f on Query { listUsers { ok } }',
      { s: true },
    ],
    [
      'query ($n: Int, $t: String) { getAuditLogs(limit: $n, eventType: $t) { ok totalCount auditLogs { id createdDttm metadataJson workspaceName } } }',
      { n: 5, t: null },
    ],
    ['{ listUsers { ok } listWorkspaces { ok } }'],
    ['{ environments { ok environments { slug } } }'],
    ['{ environments { ok } listUsers { ok } }'],
    ['{ listApiKeys { keys { id } } }'],
    ['{ listSessions { sessions { id } } }'],
    ['{ features { ok } me { ok } __typename }'],
    ['{ listUsers { activeUsers { name } } listUsers { activeUsers { uid } ok } }'],
  ]
  for (const [query, variables] of rows) {
    // Faults carry a request id of their own.
    const answers: string[] = []
    for (let round = 0; round < 6; round++) {
      const key = query.includes('me {') || query.includes('listSessions') ? 'personal' : 'full'
      const reply = await edge.ask(query, { workspace: FIRST.uid, variables, key })
      const id = String(reply.headers['x-request-id'])
      answers.push(`${reply.status} ${reply.text.replaceAll(id, '<id>')}`)
    }
    assert.deepEqual(new Set(answers).size, 1, `${query}\n${[...new Set(answers)].join('\n')}`)
  }
})

test('what a presenter must not return ends the request, not the process', async () => {
  const edge = await testEdge({
    resolvers: {
      listWorkspaces: async () => ({
        get ok() {
          throw new Error('a getter')
        },
      }),
    },
  })
  for (let round = 0; round < 5; round++) {
    const reply = await edge.ask('{ listWorkspaces { ok } }')
    assert.equal(reply.status, 500)
    assert.match(reply.json.errors[0].message, /^Internal error, request /)
  }
})

test('an execution that takes too long is given up', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let reached = (): void => {}
    const called = new Promise<void>((resolve) => {
      reached = resolve
    })
    const edge = await testEdge({
      resolvers: {
        listWorkspaces: () => {
          reached()
          return new Promise(() => {})
        },
      },
    })
    const asked = edge.ask('{ listWorkspaces { ok } }')
    await called
    mock.timers.tick(10_000)
    const reply = await asked
    assert.equal(reply.status, 503)
    assert.equal(reply.headers['retry-after'], '2')
    assert.match(reply.json.errors[0].message, /took longer than 10 s/)
  } finally {
    mock.timers.reset()
  }
})

test('the kept documents are few, short, and never of the anonymous', async () => {
  const { schema } = await testEdge()
  const documents = createDocuments(schema, () => 0)
  const named = (at: number): string => `query q${at} { listWorkspaces { ok } }`
  for (let at = 0; at < 500; at++) documents.prepare(named(at), null)
  assert.equal(documents.kept, 128)
  const first = documents.prepare(named(499), null)
  assert.equal(documents.prepare(named(499), null), first)
  assert.notEqual(documents.prepare(named(0), null).uses, 2)

  const long = `${named(1_000)} # ${'x'.repeat(33 * 1024)}`
  assert.notEqual(documents.prepare(long, null), documents.prepare(long, null))

  const read = documents.read('{ apiKeyIdentity { isValid } }', null)
  assert.equal(read.identityAlone, true)
  documents.prepareRead(read)
  assert.equal(documents.kept, 128)
  assert.throws(() => documents.prepare('{ nope }', null))
  assert.equal(documents.kept, 128)
})

test('a document is compiled the third time it comes, or at once when it may give many rows', async () => {
  const { schema } = await testEdge()
  let calls = 0
  const caller = { compiled: false, call: () => ({ ok: calls++ >= 0, auditLogs: [], totalCount: 0 }) }
  const documents = createDocuments(schema, () => 0)
  const run = async (query: string, rows: number) => {
    const prepared = documents.prepare(query, null)
    await documents.execute(prepared, { caller, variables: {}, rows })
    return caller.compiled
  }
  assert.deepEqual(
    [
      await run('{ listWorkspaces { ok } }', 0),
      await run('{ listWorkspaces { ok } }', 0),
      await run('{ listWorkspaces { ok } }', 0),
    ],
    [false, false, true],
  )
  assert.equal(await run('{ getAuditLogs { ok } }', 10_000), true)
  const never = ['mutation { archiveWorkspace { ok } }', '{ __schema { queryType { name } } }']
  for (const query of never) for (let at = 0; at < 5; at++) assert.equal(await run(query, 0), false)
  // A client that never repeats itself compiles no more than its share.
  let compiled = 0
  for (let at = 0; at < 200; at++) if (await run(`{ a${at}: getAuditLogs { ok } }`, 10_000)) compiled++
  assert.equal(compiled, 38)
})

test('a field below the root that takes arguments is a function of them, compiled or not', async () => {
  const steps = async ({ after }: { after?: number | null }) => [{ seq: (after ?? 0) + 1 }]
  const edge = await testEdge({ resolvers: { dinoaiAgentRun: () => ({ ok: true, steps }) } })
  const query = `query ($after: Int) { dinoaiAgentRun(agentSessionId: "x") { ok steps(after: $after) { seq }
    more: steps(after: 7) { seq } } }`
  for (let round = 0; round < 6; round++) {
    const { json } = await edge.ask(query, { variables: { after: round }, workspace: FIRST.uid })
    assert.deepEqual(json, { data: { dinoaiAgentRun: { ok: true, steps: [{ seq: round + 1 }], more: [{ seq: 8 }] } } })
  }
})

test('a refusal of such a field is the answer in its place, compiled or not', async () => {
  const steps = async () => {
    throw invalidInput('maxChars: 1 to 100000.')
  }
  const edge = await testEdge({ resolvers: { dinoaiAgentRun: () => ({ ok: true, steps }) } })
  const query = '{ dinoaiAgentRun(agentSessionId: "x") { ok steps(maxChars: 0) { seq } } }'
  for (let round = 0; round < 6; round++) {
    const { json, status } = await edge.ask(query, { workspace: FIRST.uid })
    assert.equal(status, 200)
    assert.equal(json.data.dinoaiAgentRun, null)
    assert.equal(json.errors[0].extensions.code, 'INVALID_INPUT')
  }
})
