import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operationsOf } from '../service/src/api/graphql/schema.ts'
import { PROBES } from './matrix/documents.ts'
import { COLUMNS, NAMED, OPERATIONS, SWITCHED, SWITCHES } from './matrix/expected.ts'
import { type Cast, makeCast, type Principal } from './matrix/principals.ts'
import { setSwitch } from './matrix/switches.ts'
import { type Reply, type TestApi, testApi } from './support/api.ts'
import { schema } from './support/arguments.ts'

const served = operationsOf(schema)
const META = ['__typename', '__schema', '__type']

let api: TestApi
let cast: Cast

before(async () => {
  api = await testApi()
  cast = await makeCast(api)
})
after(() => api.close())

/** The sign of expected.ts for an answer; anything that the table has no sign for stays as it is. */
function signOf(operation: string, reply: Reply): string {
  const data = reply.json?.data
  if (reply.status === 401 && reply.code === 'UNAUTHENTICATED' && data === undefined) return '0'
  if (reply.status === 403 && reply.code === 'FORBIDDEN' && data === undefined) return '-'
  if (reply.status === 400 && reply.code === 'WORKSPACE_REQUIRED' && data === undefined) return 'w'
  if (reply.status === 200 && reply.code === 'FEATURE_DISABLED' && data[operation] === null) return 'x'
  const { answer } = PROBES[operation]!
  // Who gets in with a personal key is told by the operation itself that it takes a session to make another.
  const fits = reply.code === answer || (operation === 'createPersonalKey' && reply.code === 'FORBIDDEN')
  return reply.status === 200 && fits ? '+' : `${reply.status} ${reply.code}`
}

async function ask(operation: string, principal: Principal): Promise<Reply> {
  const reply = await api.ask(PROBES[operation]!.document, { by: principal.headers })
  if (operation === 'archiveWorkspace' && reply.status === 200) {
    const owner = api.t.database.owner.kysely
    await owner.updateTable('workspace').set({ archived_at: null }).where('id', '=', cast.a.id).execute()
  }
  return reply
}

const isMutation = (operation: string): boolean => PROBES[operation]!.document.startsWith('mutation')

test('every operation that is served has its row in the table, and every row is served', () => {
  assert.ok(served.length >= 30)
  assert.deepEqual([...OPERATIONS.keys()].sort(), [...META, ...served].sort())
  assert.deepEqual(Object.keys(PROBES).sort(), [...OPERATIONS.keys()].sort())
  for (const [operation, cells] of OPERATIONS) assert.equal(cells.length, COLUMNS.length, operation)
  for (const [operation, cells] of SWITCHED) assert.equal(cells.length, SWITCHES.length, operation)
})

test('every operation lets in whom the table says and refuses everybody else as it says', async () => {
  assert.deepEqual([...new Set(cast.principals.map((one) => one.column))].sort(), [...COLUMNS].sort())
  const wrong: string[] = []
  let asked = 0
  let denied = 0
  for (const [operation, cells] of OPERATIONS) {
    for (const principal of cast.principals) {
      const expected = cells[COLUMNS.indexOf(principal.column)]!
      const reply = await ask(operation, principal)
      const sign = signOf(operation, reply)
      asked++
      if (isMutation(operation) && ['UNAUTHENTICATED', 'FORBIDDEN'].includes(reply.code)) denied++
      if (sign !== expected) wrong.push(`${operation} × ${principal.name}: expected ${expected}, got ${sign}`)
      assert.match(String(reply.headers['content-type']), /^application\/json/)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(asked > 1_000, `${asked} requests`)
  // What was refused changed nothing and is on record, every single one of them: the counts of the hour's records.
  const counts = await api.t.database.owner.kysely.selectFrom('audit_refusal').select('count').execute()
  assert.equal(
    counts.reduce((sum, row) => sum + row.count, 0),
    denied,
  )
})

test('a key that lacks the capability is told its name', async () => {
  const keys = cast.principals.filter((one) => /^(account, reads|[a-z]+:.*)$/.test(one.column))
  assert.equal(keys.length, 9)
  for (const [operation, labels] of Object.entries(NAMED)) {
    for (const principal of keys) {
      if (OPERATIONS.get(operation)![COLUMNS.indexOf(principal.column)] !== '-') continue
      const { message } = await ask(operation, principal)
      for (const label of labels) assert.ok(message.includes(label), `${operation} × ${principal.name}: ${message}`)
    }
  }
})

/** Of several switches, those that turn the operation off by themselves; all of them when only all together do. */
function wordsOf(operation: string, name: (typeof SWITCHES)[number]): readonly string[] {
  const words = name.split(' and ') as (typeof SWITCHES)[number][]
  const alone = words.filter((word) => SWITCHED.get(operation)?.[SWITCHES.indexOf(word)] === 'x')
  return alone.length > 0 ? alone : words
}

test('every operation heeds its switch and no other', async () => {
  // The one for whom everything is open while everything is on.
  const whole = cast.principals.find((one) => one.column === 'owner')!
  const wrong: string[] = []
  for (const [column, name] of SWITCHES.entries()) {
    await setSwitch(api.t, cast.a, name, false)
    for (const operation of OPERATIONS.keys()) {
      const expected = SWITCHED.get(operation)?.[column] ?? '+'
      const reply = await ask(operation, whole)
      const sign = signOf(operation, reply)
      if (sign !== expected) wrong.push(`${operation}, ${name} off: expected ${expected}, got ${sign}`)
      // The switch by its name, and where it is.
      if (sign === 'x') for (const word of wordsOf(operation, name)) assert.ok(reply.message.includes(`"${word}"`))
    }
    await setSwitch(api.t, cast.a, name, true)
  }
  assert.deepEqual(wrong, [])
})

test('the other path and the other names of the workspace header lead through the same gate', async () => {
  const path = '/api/v1/anything/graphql'
  for (const principal of cast.principals) {
    const { 'x-service-workspace': uid, ...by } = principal.headers
    const headers: Record<string, string> = uid === undefined ? {} : { 'x-paradime-workspace': uid }
    for (const operation of ['listUsers', 'getAuditLogs', 'createEnvironment']) {
      const reply = await api.ask(PROBES[operation]!.document, { by, headers, path })
      const expected = OPERATIONS.get(operation)![COLUMNS.indexOf(principal.column)]!
      assert.equal(signOf(operation, reply), expected, `${operation} × ${principal.name}`)
    }
  }
})
