// The table of expected.ts is worth something only if it notices: each entry of the policy table is altered in every way
// that there is, one at a time, and each time the table must be seen to fail. The decision is the service's own, on
// identities as the service reads them; what the same decision looks like over HTTP is in matrix.test.ts.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { admitField, passGate, type Rules } from '../service/src/api/graphql/gate.ts'
import type { Identity } from '../service/src/app/authenticate.ts'
import { AppError } from '../service/src/domain/errors.ts'
import { POLICY, type Rule, ruleOf } from '../service/src/domain/policy.ts'
import { COLUMNS, OPERATIONS, SWITCHED, SWITCHES } from './matrix/expected.ts'
import { flipsOf } from './matrix/flips.ts'
import { identityOf, makeCast } from './matrix/principals.ts'
import { setSwitch } from './matrix/switches.ts'
import { type TestApi, testApi } from './support/api.ts'

/** Somebody who asks, and where in a row it says what they get. */
interface Asker {
  readonly name: string
  readonly identity: Identity
  readonly expected: (operation: string) => string
}

let api: TestApi
const askers: Asker[] = []

before(async () => {
  api = await testApi()
  const cast = await makeCast(api)
  for (const { name, column, headers } of cast.principals) {
    const identity = await identityOf(api, headers)
    askers.push({ name, identity, expected: (operation) => OPERATIONS.get(operation)![COLUMNS.indexOf(column)]! })
  }
  const owner = cast.principals.find((one) => one.column === 'owner')!
  for (const [column, name] of SWITCHES.entries()) {
    await setSwitch(api.t, cast.a, name, false)
    const identity = await identityOf(api, owner.headers)
    askers.push({ name: `${name} off`, identity, expected: (operation) => SWITCHED.get(operation)?.[column] ?? '+' })
    await setSwitch(api.t, cast.a, name, true)
  }
})
after(() => api.close())

const SIGNS: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: '0',
  FORBIDDEN: '-',
  WORKSPACE_REQUIRED: 'w',
  FEATURE_DISABLED: 'x',
}

function decide(operation: string, identity: Identity, rules: Rules): string {
  const document = {
    identityAlone: operation === 'apiKeyIdentity',
    rootFields: [{ name: operation, responseKey: operation }],
  }
  try {
    passGate(document, identity, rules)
    if (!operation.startsWith('__')) admitField(operation, identity, rules)
    return '+'
  } catch (error) {
    if (error instanceof AppError) return SIGNS[error.code] ?? error.code
    throw error
  }
}

const differences = (operation: string, rules: Rules): string[] =>
  askers
    .filter(({ identity, expected }) => decide(operation, identity, rules) !== expected(operation))
    .map(({ name }) => name)

const operations = [...OPERATIONS.keys()]

test('the decision alone agrees with the table for everybody', () => {
  const wrong = operations.flatMap((operation) =>
    differences(operation, ruleOf).map((name) => `${operation} × ${name}`),
  )
  assert.deepEqual(wrong, [])
})

// Alterations that change nothing for anybody, so that no table could notice.
const SAME: Readonly<Record<string, string>> = {
  'listApiKeys: no roles': 'the roles are those that hold the capability',
  'createApiKey: no roles': 'the roles are those that hold the capability',
  'revokeApiKey: no roles': 'the roles are those that hold the capability',
  'createWorkspace: roles ADMIN alone': 'whoever runs the account is ADMIN',
  'setAccountFeature: roles ADMIN alone': 'whoever runs the account is ADMIN',
}

test('every alteration of every policy entry is noticed by the table', () => {
  const unnoticed: string[] = []
  let flips = 0
  for (const [operation, rule] of Object.entries(POLICY) as [string, Rule][]) {
    for (const flip of flipsOf(rule)) {
      flips++
      const rules: Rules = (name) => (name === operation ? flip.rule : ruleOf(name))
      if (differences(operation, rules).length === 0) unnoticed.push(`${operation}: ${flip.name}`)
    }
  }
  console.log(`${flips} alterations of ${Object.keys(POLICY).length} entries`)
  assert.deepEqual(unnoticed.sort(), Object.keys(SAME).sort())
})

test('an operation that the policy table does not name is closed to everybody with credentials', () => {
  const closed: Rules = () => undefined
  for (const { name, identity } of askers) {
    const sign = decide('somethingNew', identity, closed)
    assert.equal(sign, identity.actor.kind === 'anonymous' ? '0' : '-', name)
  }
  assert.equal(ruleOf('somethingNew'), undefined)
  assert.equal(ruleOf('constructor'), undefined)
})
