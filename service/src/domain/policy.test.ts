import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCOUNT_TYPES, type AccountType, ADMINISTRATORS, isAccountType, RIGHTS } from './account-type.ts'
import type { Actor, KeyIdentity, PersonIdentity, WorkspaceRef } from './actor.ts'
import { CAPABILITIES, type Capability } from './capability.ts'
import { AppError } from './errors.ts'
import { type Admission, admit, POLICY, type Rule, ruleOf, type WorkspaceSelection } from './policy.ts'

// Small on purpose: what each operation asks of whom is written out, by hand, in the matrix of the served API.

const ONE: WorkspaceRef = { id: 1, uid: 'workspace0000001', name: 'One', agents: true }
const TWO: WorkspaceRef = { id: 2, uid: 'workspace0000002', name: 'Two', agents: true }
const found = (workspace: WorkspaceRef): WorkspaceSelection => ({ kind: 'found', workspace })
const NONE: WorkspaceSelection = { kind: 'none', header: 'X-Service-Workspace' }
const UNKNOWN: WorkspaceSelection = { kind: 'unknown' }

const inWorkspace: Rule = { scope: 'workspace', anyOf: ['users:admin', 'users:read'] }
const overAccount: Rule = { scope: 'account', anyOf: ['audit:read'] }
const wholeAccount: Rule = { scope: 'account', anyOf: ['users:admin'], wholeAccount: true }
const byRole: Rule = { scope: 'workspace', anyOf: ['users:admin'], roles: ['WORKSPACE_ADMIN'] }
const aboutSelf: Rule = { scope: 'self', anyOf: [] }

function key(capabilities: readonly Capability[], workspaceId: number | null = null): Actor {
  const identity: KeyIdentity = {
    id: 1,
    kind: workspaceId === null ? 'account' : 'workspace',
    name: 'k',
    client: null,
    capabilities,
    workspaceId,
    makerId: null,
    makerEmail: '',
  }
  return { kind: 'key', key: identity }
}

function person(roles: Readonly<Record<number, AccountType>>, runsAccount = false): PersonIdentity {
  const memberships = Object.entries(roles).map(([id, accountType]) => ({ workspaceId: Number(id), accountType }))
  return { id: 1, email: 'ana@example.com', name: 'Ana', memberships, runsAccount }
}

const signedIn = (roles: Readonly<Record<number, AccountType>>, runsAccount = false): Actor => ({
  kind: 'person',
  person: person(roles, runsAccount),
  sessionId: 1,
})

const personal = (roles: Readonly<Record<number, AccountType>>, held: readonly Capability[], runs = false): Actor => ({
  kind: 'personal-key',
  key: (key(held) as Extract<Actor, { kind: 'key' }>).key,
  person: person(roles, runs),
})

const admitted = (work: () => Admission): unknown => {
  const { workspace, visible } = work()
  return [workspace?.id ?? null, visible]
}

function refused(work: () => unknown, code: AppError['code'], words: RegExp): void {
  assert.throws(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

test('an operation without an entry is open to nobody, the service itself included', () => {
  assert.equal(ruleOf('noSuchOperation'), undefined)
  assert.equal(ruleOf('toString'), undefined)
  for (const actor of [key(CAPABILITIES), signedIn({ 1: 'ADMIN' }, true), { kind: 'system', name: 'x' } as const])
    refused(() => admit(undefined, actor, found(ONE)), 'FORBIDDEN', /not open to anyone/)
})

test('an anonymous caller gets nothing but what is public', () => {
  for (const rule of Object.values(POLICY) as Rule[]) {
    if (rule.scope === 'public') assert.deepEqual(admit(rule, { kind: 'anonymous' }, NONE).visible, [])
    else refused(() => admit(rule, { kind: 'anonymous' }, found(ONE)), 'UNAUTHENTICATED', /Bearer/)
  }
})

test('an account key needs one of the capabilities, and the header inside a workspace', () => {
  assert.deepEqual(
    admitted(() => admit(inWorkspace, key(['users:read']), found(ONE))),
    [1, 'all'],
  )
  assert.deepEqual(
    admitted(() => admit(overAccount, key(['audit:read']), NONE)),
    [null, 'all'],
  )
  assert.deepEqual(
    admitted(() => admit(wholeAccount, key(['users:admin']), UNKNOWN)),
    [null, 'all'],
  )
  refused(
    () => admit(inWorkspace, key(['audit:read']), found(ONE)),
    'FORBIDDEN',
    /User Management Admin or User Metadata/,
  )
  refused(() => admit(inWorkspace, key([]), found(ONE)), 'FORBIDDEN', /needs the capability/)
  refused(() => admit(inWorkspace, key(['users:read']), NONE), 'WORKSPACE_REQUIRED', /X-Service-Workspace/)
  refused(() => admit(inWorkspace, key(['users:read']), UNKNOWN), 'FORBIDDEN', /No access to this workspace/)
  refused(() => admit(aboutSelf, key(CAPABILITIES), NONE), 'FORBIDDEN', /about a person/)
})

test('a key of a workspace stays in it, and sees its own rows only', () => {
  const bound = key(CAPABILITIES, 1)
  assert.deepEqual(
    admitted(() => admit(inWorkspace, bound, found(ONE))),
    [1, [1]],
  )
  assert.deepEqual(
    admitted(() => admit(overAccount, bound, found(ONE))),
    [1, [1]],
  )
  refused(() => admit(inWorkspace, bound, found(TWO)), 'FORBIDDEN', /No access/)
  refused(() => admit(overAccount, bound, found(TWO)), 'FORBIDDEN', /No access/)
  refused(() => admit(inWorkspace, bound, UNKNOWN), 'FORBIDDEN', /No access/)
  refused(() => admit(wholeAccount, bound, found(ONE)), 'FORBIDDEN', /use an account key/)
})

test('the refusal of an unknown workspace reads like that of one which is not yours', () => {
  const message = (work: () => unknown): string => {
    try {
      work()
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const unknown = message(() => admit(inWorkspace, signedIn({ 1: 'ADMIN' }), UNKNOWN))
  assert.equal(
    message(() => admit(inWorkspace, signedIn({ 1: 'ADMIN' }), found(TWO))),
    unknown,
  )
  assert.equal(
    message(() => admit(inWorkspace, key(CAPABILITIES, 1), found(TWO))),
    unknown,
  )
  assert.equal(
    message(() => admit(inWorkspace, key(CAPABILITIES), UNKNOWN)),
    unknown,
  )
})

test('a person may what their role in that very workspace may', () => {
  const ana = signedIn({ 1: 'ADMIN', 2: 'SANDBOX_USER' })
  assert.deepEqual(
    admitted(() => admit(inWorkspace, ana, found(ONE))),
    [1, [1]],
  )
  refused(() => admit(inWorkspace, ana, found(TWO)), 'FORBIDDEN', /Your role does not include/)
  refused(() => admit(inWorkspace, ana, NONE), 'WORKSPACE_REQUIRED', /header/)
  assert.deepEqual(
    admitted(() => admit(overAccount, ana, NONE)),
    [null, [1]],
  )
  refused(() => admit(overAccount, signedIn({ 2: 'DEVELOPER' }), NONE), 'FORBIDDEN', /Audit Logs viewer/)
  assert.deepEqual(
    admitted(() => admit(aboutSelf, ana, NONE)),
    [null, [1, 2]],
  )
})

test('where a rule names roles, the capabilities of a role do not help', () => {
  refused(() => admit(byRole, signedIn({ 1: 'ADMIN' }), found(ONE)), 'FORBIDDEN', /WORKSPACE_ADMIN/)
  assert.deepEqual(
    admitted(() => admit(byRole, signedIn({ 1: 'WORKSPACE_ADMIN' }), found(ONE))),
    [1, [1]],
  )
})

test('only who administers every workspace changes the account and sees all of it', () => {
  refused(() => admit(wholeAccount, signedIn({ 1: 'ADMIN' }), NONE), 'FORBIDDEN', /ADMIN of every workspace/)
  assert.deepEqual(
    admitted(() => admit(wholeAccount, signedIn({ 1: 'ADMIN' }, true), NONE)),
    [null, 'all'],
  )
  assert.deepEqual(
    admitted(() => admit(overAccount, signedIn({ 1: 'ADMIN' }, true), NONE)),
    [null, 'all'],
  )
})

test('a personal key has what its person and the key itself may, and never more than its own workspaces', () => {
  assert.deepEqual(
    admitted(() => admit(inWorkspace, personal({ 1: 'ADMIN' }, ['users:read']), found(ONE))),
    [1, [1]],
  )
  refused(() => admit(inWorkspace, personal({ 1: 'ADMIN' }, ['audit:read']), found(ONE)), 'FORBIDDEN', /This key needs/)
  refused(() => admit(inWorkspace, personal({ 1: 'SANDBOX_USER' }, CAPABILITIES), found(ONE)), 'FORBIDDEN', /Your role/)
  assert.deepEqual(
    admitted(() => admit(overAccount, personal({ 1: 'ADMIN' }, CAPABILITIES, true), NONE)),
    [null, [1]],
  )
  assert.deepEqual(
    admitted(() => admit(aboutSelf, personal({ 1: 'ANALYST' }, []), NONE)),
    [null, [1]],
  )
})

test('the service itself is admitted to everything that has an entry', () => {
  const system: Actor = { kind: 'system', name: 'first start' }
  assert.deepEqual(
    admitted(() => admit(inWorkspace, system, found(ONE))),
    [1, 'all'],
  )
  assert.deepEqual(
    admitted(() => admit(wholeAccount, system, NONE)),
    [null, 'all'],
  )
})

test('whoever manages people has types to give, and nobody else has', () => {
  for (const type of ACCOUNT_TYPES) {
    const { may, grants } = RIGHTS[type]
    assert.equal(grants.length > 0, may.includes('users:admin'), type)
  }
})

test('only administrators make, change or remove administrators', () => {
  for (const type of ACCOUNT_TYPES) {
    const makes = ADMINISTRATORS.filter((one) => RIGHTS[type].grants.includes(one))
    if (!ADMINISTRATORS.includes(type)) assert.deepEqual(makes, [], type)
  }
  assert.ok(!RIGHTS.WORKSPACE_ADMIN.grants.includes('ADMIN'))
  for (const type of ADMINISTRATORS) assert.deepEqual(RIGHTS[type].may, CAPABILITIES)
})

test('the nine account types are known by their words and no others are', () => {
  assert.equal(ACCOUNT_TYPES.length, 9)
  for (const type of ACCOUNT_TYPES) assert.ok(isAccountType(type))
  for (const word of ['', 'admin', 'OWNER', 'toString']) assert.ok(!isAccountType(word))
})
