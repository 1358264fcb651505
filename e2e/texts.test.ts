// Every text that a client may send, in every place where one may be sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getNamedType, isEnumType } from 'graphql'
import { verifyAudit } from '../service/src/app/audit.ts'
import { bearer, sessionOf, testApi } from './support/api.ts'
import { argumentsIn, at, documentOf, fieldsOf, leavesOf, OWN, replaced, schema } from './support/arguments.ts'

const UNSTORABLE = ['\u0000', 'a\u0000b', '\ud800', 'x\udc00y', '\udfff\ud800']
const ODD = [
  '',
  ' ',
  'x'.repeat(1_000_000),
  '\u{1f600}'.repeat(130),
  '\u202egnp.exe',
  'e\u0301\u0301\u0301',
  'İıſK',
  '\ufeffa',
  '\ufffd\uffff',
  'a\nb\r\nc\td',
  '\u0001\u001f\u007f\u0080\u2028',
  "'; drop table person; --",
  '$1 %s %n {{7*7}} <script>',
  '../../../../etc/passwd',
  '--upload-pack=touch /x',
  'https://%zz:%00@git.example.com/x',
  'ext::sh -c x',
  '\\x00\\u0000',
  'null',
  '__proto__',
  '-1',
  '9'.repeat(400),
  '2024-02-30',
  '0001-01-01',
  '9999-12-31T23:59:59.999999-15:59',
  '0001-01-01 00:00:00+15:59',
]

test('a text that no column can hold is INVALID_INPUT and names its argument; no text at all is a fault', async () => {
  await using api = await testApi()
  const workspace = await api.t.workspace('A')
  const owner = await api.t.member(workspace, 'ADMIN')
  const person = sessionOf(await api.session(owner))
  const key = bearer((await api.t.key()).key)
  const goods = argumentsIn(workspace.uid)
  const create = { query: documentOf('createEnvironment'), variables: goods.createEnvironment }
  await api.ask(create.query, { by: key, workspace: workspace.uid, variables: create.variables })
  const enums = new Set(
    Object.values(schema.getTypeMap()).flatMap((type) =>
      isEnumType(type) ? type.getValues().map((one) => one.value) : [],
    ),
  )
  let asked = 0
  let places = 0
  for (const [operation, good] of Object.entries(goods)) {
    const by = OWN.includes(operation) ? person : key
    for (const path of leavesOf(good)) {
      const value = at(good, path)
      if (typeof value !== 'string' || enums.has(value)) continue
      places++
      const tryText = async (text: string): Promise<void> => {
        const variables = replaced(good, path, text)
        const reply = await api.ask(documentOf(operation), { by, workspace: workspace.uid, variables })
        const what = `${operation} ${path.join('.')} ${JSON.stringify(text.slice(0, 40))}: ${reply.text.slice(0, 300)}`
        asked++
        if (text.length > 900_000 && reply.status === 413) return
        assert.equal(reply.status, 200, what)
        assert.notEqual(reply.code, 'INTERNAL', what)
        assert.ok(reply.text.length < 4_000, `${what} is long`)
        if (!UNSTORABLE.includes(text)) return
        assert.equal(reply.code, 'INVALID_INPUT', what)
        const name = path.filter((step) => typeof step === 'string').at(-1)!
        assert.ok(reply.message.includes(name), what)
      }
      // A few at once: the mutations among them stand in line for the audit log.
      const texts = [...UNSTORABLE, ...ODD]
      while (texts.length > 0) await Promise.all(texts.splice(0, 8).map(tryText))
    }
  }
  assert.ok(places >= 35, `${places} places`)
  console.log(`${asked} texts in ${places} places`)
  // What was stored is what its record was made over.
  assert.deepEqual((await verifyAudit(api.t.app.db, api.t.app.vault, [])).faults, [])
})

test('the same texts written into the document itself are no fault either', async () => {
  await using api = await testApi()
  const by = bearer((await api.t.key()).key)
  const literals = [
    ...['"\\u0000"', '"a\\u0000b"', '"""\\u0000"""', '"\\uD83D\\uDE00"', '"\\u{1F600}"', '"""block\n  text"""'],
    ...['"\\uD800"', '"\\uDC00\\uD800"', '"\\u{110000}"', '"\\x"', '"open', '"""open'],
  ]
  for (const text of [...literals, '"\u0000"', '"\ud800"']) {
    const reply = await api.ask(`mutation { createWorkspace(name: ${text}) { ok } }`, { by })
    assert.ok([200, 400].includes(reply.status), `${text}: ${reply.text}`)
    if (text.includes('\\u0000') && !text.startsWith('"""')) assert.equal(reply.code, 'INVALID_INPUT', text)
  }
})

test('every operation that takes arguments is among them', () => {
  const taking = [schema.getQueryType(), schema.getMutationType()]
    .flatMap(fieldsOf)
    .filter((field) => field.args.some((one) => getNamedType(one.type) !== undefined))
    .map((field) => field.name)
  assert.deepEqual(Object.keys(argumentsIn('')).sort(), taking.sort())
})
