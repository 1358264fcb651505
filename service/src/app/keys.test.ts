import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { ACCOUNT_TYPES, RIGHTS } from '../domain/account-type.ts'
import type { Actor } from '../domain/actor.ts'
import { CAPABILITIES, CAPABILITY_LABELS } from '../domain/capability.ts'
import { AppError } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatKey, parseBearer } from '../domain/key.ts'
import { authenticate, type Credentials } from './authenticate.ts'
import type { Context } from './context.ts'
import type { NewKeyInput } from './keys.ts'
import {
  createApiKey,
  createPersonalKey,
  identify,
  listApiKeys,
  listPersonalKeys,
  revokeApiKey,
  revokePersonalKey,
} from './keys.ts'

const WANTED: NewKeyInput = {
  name: 'ci',
  kind: 'account',
  workspaceUid: null,
  capabilities: null,
  client: null,
  expiresDays: null,
}

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

const bearer = (token: string): Credentials => ({ kind: 'bearer', token })

/** The context that the gate would make for these credentials on an account-wide operation. */
async function contextFor(t: TestApp, credentials: Credentials): Promise<Context> {
  const { actor } = await authenticate(t.app, credentials, null)
  const bound = actor.kind === 'key' ? actor.key.workspaceId : null
  return { ...t.system, actor, visible: bound === null ? 'all' : [bound] }
}

describe('keys of the account and of workspaces', () => {
  test('are shown once, stored as a keyed hash, and listed with nothing that helps to use them', async () => {
    await using t = await testApp()
    const made = await createApiKey(t.system, WANTED)
    assert.match(made.key, /^ym_acc_[A-Za-z0-9]{61}$/)
    assert.deepEqual(made.capabilities, CAPABILITIES)
    const { rows } = await sql<{ row: string }>`select api_key::text as row from api_key
      union all select audit_log::text from audit_log`.execute(t.app.db)
    const secret = made.key.slice('ym_acc_'.length + 12, -6)
    for (const { row } of rows) assert.ok(!row.includes(secret) && !row.includes(Buffer.from(secret).toString('hex')))
    assert.ok(!JSON.stringify(await listApiKeys(t.system)).includes(secret))
    const [record] = await t.records('api_key_created')
    assert.deepEqual([record?.data.name, record?.data.kind, record?.workspaceId], ['ci', 'account', 0])
  })

  test('name their workspace, or none when they are of the account', async () => {
    await using t = await testApp()
    const workspace = await t.workspace()
    await refused(createApiKey(t.system, { ...WANTED, workspaceUid: workspace.uid }), 'INVALID_INPUT', /not bound/)
    for (const kind of ['workspace', 'pair'] as const) {
      await refused(createApiKey(t.system, { ...WANTED, kind }), 'INVALID_INPUT', /needed for a key of kind/)
      for (const workspaceUid of ['a'.repeat(16), '', "' or true --"]) {
        await refused(createApiKey(t.system, { ...WANTED, kind, workspaceUid }), 'NOT_FOUND', /no such workspace/)
      }
      const made = await createApiKey(t.system, { ...WANTED, kind, workspaceUid: workspace.uid })
      assert.equal(made.secret === '', kind === 'workspace')
    }
    const [, record] = await t.records('api_key_created')
    assert.equal(record?.workspaceId, workspace.id)
  })

  test('are made by a key only with what that key holds, and only where it works', async () => {
    await using t = await testApp()
    const [one, two] = [await t.workspace(), await t.workspace()]
    const narrow = await t.key({ capabilities: ['users:admin', 'audit:read'] })
    const asNarrow = await contextFor(t, bearer(narrow.key))
    assert.deepEqual((await createApiKey(asNarrow, WANTED)).capabilities, ['users:admin', 'audit:read'])
    const asked = { ...WANTED, capabilities: ['audit:read', 'bolt:schedules:admin'] }
    await refused(createApiKey(asNarrow, asked), 'FORBIDDEN', /not yours to give to a key: bolt:schedules:admin/)

    const bound = await t.key({ kind: 'workspace', workspace: one, capabilities: ['users:admin'] })
    const asBound = await contextFor(t, bearer(bound.key))
    await refused(createApiKey(asBound, WANTED), 'FORBIDDEN', /Only an account key/)
    const inTwo = { ...WANTED, kind: 'workspace', workspaceUid: two.uid } as const
    await refused(createApiKey(asBound, inTwo), 'NOT_FOUND', /^workspaceUid: no such workspace\.$/)
    assert.equal((await createApiKey(asBound, { ...inTwo, workspaceUid: one.uid })).kind, 'workspace')
  })

  test('are made by a person only with what their role in that workspace holds and may hand on', async () => {
    await using t = await testApp()
    const [one, two] = [await t.workspace(), await t.workspace()]
    for (const type of ACCOUNT_TYPES) {
      const person = await t.member(one, type)
      const ctx: Context = { ...(await t.contextOf(person)), visible: [one.id] }
      const { capabilities } = await createApiKey(ctx, { ...WANTED, kind: 'workspace', workspaceUid: one.uid })
      // Who manages users with a key gives every type, so only who gives every type makes such a key.
      const all = type === 'ADMIN'
      assert.deepEqual(
        capabilities,
        CAPABILITIES.filter(
          (capability) => RIGHTS[type].may.includes(capability) && (all || capability !== 'users:admin'),
        ),
        type,
      )
      const inTwo = { ...WANTED, kind: 'workspace', workspaceUid: two.uid } as const
      await refused(createApiKey(ctx, inTwo), 'NOT_FOUND', /no such workspace/)
      await refused(createApiKey(ctx, WANTED), 'FORBIDDEN', /ADMIN of every workspace/)
    }
  })

  test('take capabilities in the order of the list, each once, and refuse unknown words and none at all', async () => {
    await using t = await testApp()
    const asked = ['audit:read', 'users:read', 'audit:read']
    assert.deepEqual((await createApiKey(t.system, { ...WANTED, capabilities: asked })).capabilities, [
      'users:read',
      'audit:read',
    ])
    await refused(createApiKey(t.system, { ...WANTED, capabilities: [] }), 'INVALID_INPUT', /name at least one/)
    for (const word of ['admin', 'toString', '', 'users:admin '])
      await refused(createApiKey(t.system, { ...WANTED, capabilities: [word] }), 'INVALID_INPUT', /is none of bolt:/)
  })

  test('have a name, an expiry between a day and ten years or none, and a client that is known', async () => {
    await using t = await testApp()
    for (const name of ['', '\n', 'x'.repeat(129)])
      await refused(createApiKey(t.system, { ...WANTED, name }), 'INVALID_INPUT', /^name/)
    for (const expiresDays of [0, -1, 3651]) {
      await refused(createApiKey(t.system, { ...WANTED, expiresDays }), 'INVALID_INPUT', /^expiresDays: 1 to 3650/)
    }
    await refused(createApiKey(t.system, { ...WANTED, client: 'other' }), 'INVALID_INPUT', /^client: /)
    assert.match((await createApiKey(t.system, { ...WANTED, expiresDays: 3650 })).expiresAt!, /^20\d\d-/)
    assert.equal((await createApiKey(t.system, WANTED)).expiresAt, null)
    assert.match((await createApiKey(t.system, { ...WANTED, client: 'paradime' })).key, /^prdm_cmp_/)
  })

  test('are listed and revoked by who sees them; revoking twice, or what is not theirs, is not found', async () => {
    await using t = await testApp()
    const [one, two] = [await t.workspace(), await t.workspace()]
    const account = await t.key()
    const inOne = await t.key({ kind: 'workspace', workspace: one })
    const inTwo = await t.key({ kind: 'pair', workspace: two })
    const personal = await t.key({ kind: 'personal', person: await t.member(one, 'ADMIN') })
    const seesOne: Context = { ...t.system, visible: [one.id] }
    assert.deepEqual(
      (await listApiKeys(seesOne)).map((key) => key.id),
      [inOne.id],
    )
    assert.deepEqual(
      (await listApiKeys(t.system)).map((key) => key.id),
      [inTwo.id, inOne.id, account.id],
    )
    for (const id of [account.id, inTwo.id, personal.id, 999, -1]) {
      await refused(revokeApiKey(seesOne, id), 'NOT_FOUND', /No key with this id/)
    }
    await refused(revokeApiKey(t.system, personal.id), 'NOT_FOUND', /No key/)
    await revokeApiKey(seesOne, inOne.id)
    await refused(revokeApiKey(seesOne, inOne.id), 'NOT_FOUND', /No key/)
    assert.equal((await authenticate(t.app, bearer(inOne.key), null)).rejected?.reason, 'revoked')
    assert.equal((await t.records('api_key_revoked'))[0]?.workspaceId, one.id)
  })

  test('remember who made them, also through a key that made them', async () => {
    await using t = await testApp()
    const workspace = await t.workspace()
    const ana = await t.member(workspace, 'ADMIN', { email: 'ana@example.com' })
    const first = await createApiKey(await t.contextOf(ana), WANTED)
    const second = await createApiKey(await contextFor(t, bearer(first.key)), WANTED)
    const { actor } = await authenticate(t.app, bearer(second.key), null)
    assert.ok(actor.kind === 'key' && actor.key.makerEmail === 'ana@example.com' && actor.key.makerId === ana.id)
  })
})

describe('personal keys', () => {
  test('are made by signing in, for oneself, and worth what the roles are worth that day', async () => {
    await using t = await testApp()
    const workspace = await t.workspace()
    const ana = await t.member(workspace, 'ANALYST')
    const ctx = await t.contextOf(ana)
    const made = await createPersonalKey(ctx, { name: 'laptop', capabilities: null, expiresDays: null })
    assert.deepEqual(
      made.capabilities,
      CAPABILITIES.filter((one) => RIGHTS.ANALYST.may.includes(one)),
    )
    await refused(
      createPersonalKey(ctx, { name: 'x', capabilities: ['users:admin'], expiresDays: null }),
      'FORBIDDEN',
      /not yours/,
    )
    const through = await authenticate(t.app, bearer(made.key), null)
    assert.ok(through.actor.kind === 'personal-key' && through.actor.person.id === ana.id)
    const asKey: Context = { ...ctx, actor: through.actor }
    await refused(
      createPersonalKey(asKey, { name: 'x', capabilities: null, expiresDays: null }),
      'FORBIDDEN',
      /signing in/,
    )

    await sql`update membership set account_type = 'SANDBOX_USER'`.execute(t.app.db)
    const later = await authenticate(t.app, bearer(made.key), null)
    const { capabilities } = identify(later.actor)
    assert.deepEqual(
      capabilities,
      CAPABILITIES.filter((one) => RIGHTS.SANDBOX_USER.may.includes(one)).map((one) => CAPABILITY_LABELS[one]),
    )
    await sql`update membership set disabled_at = clock_timestamp()`.execute(t.app.db)
    assert.notEqual((await authenticate(t.app, bearer(made.key), null)).rejected, null)
  })

  test('are seen and revoked by their person alone', async () => {
    await using t = await testApp()
    const workspace = await t.workspace()
    const [ana, ben] = [await t.member(workspace, 'ADMIN'), await t.member(workspace, 'ADMIN')]
    const key = await t.key({ kind: 'personal', person: ana })
    const [asAna, asBen] = [await t.contextOf(ana), await t.contextOf(ben)]
    assert.deepEqual(await listPersonalKeys(asBen), [])
    await refused(revokePersonalKey(asBen, key.id), 'NOT_FOUND', /No key of yours/)
    assert.deepEqual(
      (await listPersonalKeys(asAna)).map((one) => one.id),
      [key.id],
    )
    await revokePersonalKey(asAna, key.id)
    assert.equal((await authenticate(t.app, bearer(key.key), null)).rejected?.reason, 'revoked')
    await assert.rejects(listPersonalKeys(t.system), /no person/)
  })
})

describe('authenticating', () => {
  test('takes each kind of key in its own form only', async () => {
    await using t = await testApp()
    const workspace = await t.workspace()
    const pair = await t.key({ kind: 'pair', workspace })
    const bound = await t.key({ kind: 'workspace', workspace })
    const good = await authenticate(t.app, { kind: 'pair', key: pair.key, secret: pair.secret }, null)
    assert.equal(good.rejected, null)
    assert.ok(good.selection.kind === 'found' && good.selection.workspace.id === workspace.id)
    const asBearer = await authenticate(t.app, bearer(pair.key), null)
    assert.equal(asBearer.rejected?.reason, 'malformed')
    const asPair = await authenticate(t.app, { kind: 'pair', key: bound.key, secret: '' }, null)
    assert.equal(asPair.rejected?.reason, 'malformed')
    for (const credentials of [{ kind: 'none' }, { kind: 'session', token: 'x' }] as const) {
      assert.equal((await authenticate(t.app, credentials, null)).actor.kind, 'anonymous')
    }
  })

  test('tells expired and revoked only to who holds the secret', async () => {
    await using t = await testApp()
    const made = await t.key()
    const { publicId } = parseBearer(made.key)!
    const guessed = formatKey('account', null, publicId, newSecret()).key
    await sql`update api_key set revoked_at = clock_timestamp(), expires_at = clock_timestamp()`.execute(t.app.db)
    assert.deepEqual((await authenticate(t.app, bearer(guessed), null)).rejected, {
      reason: 'unknown',
      keyId: publicId,
    })
    assert.equal((await authenticate(t.app, bearer(made.key), null)).rejected?.reason, 'revoked')
    await sql`update api_key set revoked_at = null`.execute(t.app.db)
    assert.equal((await authenticate(t.app, bearer(made.key), null)).rejected?.reason, 'expired')
    // The secret of one key does not open another.
    const other = await t.key()
    const swapped = formatKey('account', null, parseBearer(other.key)!.publicId, parseBearer(made.key)!.secret).key
    assert.equal((await authenticate(t.app, bearer(swapped), null)).rejected?.reason, 'unknown')
  })

  test('remembers the last use of a key to the minute, beside the request', async () => {
    await using t = await testApp()
    const made = await t.key()
    const used = async () => (await listApiKeys(t.system))[0]!.lastUsedAt
    assert.equal(await used(), null)
    await authenticate(t.app, bearer(made.key), null)
    while ((await used()) === null);
    const first = await used()
    await authenticate(t.app, bearer(made.key), null)
    assert.equal(await used(), first)
  })

  test('counts a person as running the account who is ADMIN of every active workspace that has people', async () => {
    await using t = await testApp()
    const [one, two] = [await t.workspace(), await t.workspace()]
    const ana = await t.member(one, 'ADMIN')
    const key = await t.key({ kind: 'personal', person: ana })
    const runs = async (): Promise<boolean> => {
      const { actor } = await authenticate(t.app, bearer(key.key), null)
      return actor.kind === 'personal-key' && actor.person.runsAccount
    }
    assert.equal(await runs(), true, 'nobody has joined the other one yet')
    await t.member(two, 'DEVELOPER')
    assert.equal(await runs(), false)
    await sql`update workspace set archived_at = clock_timestamp() where id = ${two.id}`.execute(t.app.db)
    assert.equal(await runs(), true)
  })
})

test('who asks is told what they hold: a key, a person by their roles, a personal key by both, nobody nothing', () => {
  const labels = (...names: (keyof typeof CAPABILITY_LABELS)[]) => names.map((one) => CAPABILITY_LABELS[one])
  const key = {
    id: 1,
    kind: 'account' as const,
    name: '',
    client: null,
    capabilities: ['audit:read', 'users:admin'] as const,
    workspaceId: null,
    makerId: null,
    makerEmail: '',
  }
  const person = {
    id: 1,
    email: '',
    name: '',
    memberships: [
      { workspaceId: 1, accountType: 'SANDBOX_USER' as const },
      { workspaceId: 2, accountType: 'SECURITY_ADMIN' as const },
    ],
    runsAccount: false,
  }
  const cases: [Actor, ReturnType<typeof identify>][] = [
    [{ kind: 'anonymous' }, { isValid: false, capabilities: [] }],
    [
      { kind: 'key', key },
      { isValid: true, capabilities: labels('audit:read', 'users:admin') },
    ],
    [
      { kind: 'personal-key', key, person },
      { isValid: true, capabilities: labels('users:admin', 'audit:read') },
    ],
    [
      { kind: 'system', name: '' },
      { isValid: true, capabilities: labels(...CAPABILITIES) },
    ],
  ]
  for (const [actor, expected] of cases) assert.deepEqual(identify(actor), expected)
  assert.equal(identify({ kind: 'person', person, sessionId: 1 }).capabilities.length, 6)
})
