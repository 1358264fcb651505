// Everybody in the columns of expected.ts, made in a database: what they send as headers, and whom the service takes
// them for. All of them ask for workspace A unless their name says otherwise.
import { readCredentials, readWorkspace, workspaceHeaderNames } from '../../service/src/api/auth.ts'
import { authenticate, type Identity } from '../../service/src/app/authenticate.ts'
import { revokeApiKey } from '../../service/src/app/keys.ts'
import type { AccountType } from '../../service/src/domain/account-type.ts'
import type { WorkspaceRef } from '../../service/src/domain/actor.ts'
import type { Capability } from '../../service/src/domain/capability.ts'
import { newPublicKeyId, newSecret, newUid } from '../../service/src/domain/ids.ts'
import { formatKey } from '../../service/src/domain/key.ts'
import type { Person } from '../../service/src/store/people.ts'
import * as people from '../../service/src/store/people.ts'
import * as workspaces from '../../service/src/store/workspaces.ts'
import { bearer, cookieOf, PUBLIC_URL, pairOf, type RequestHeaders, sessionOf, type TestApi } from '../support/api.ts'
import { ANONYMOUS, type Anonymous, type Column } from './expected.ts'

export interface Principal {
  /** The name in the table. */
  readonly column: Column
  /** The one of several who share a column. */
  readonly name: string
  readonly headers: RequestHeaders
}

export interface Cast {
  readonly a: WorkspaceRef
  readonly b: WorkspaceRef
  readonly principals: readonly Principal[]
}

const ALL: readonly Capability[] = [
  ...(['bolt:schedules:admin', 'bolt:schedules:read', 'users:admin', 'users:read'] as const),
  ...(['workspaces:read', 'audit:read', 'dinoai:agent:trigger', 'dinoai:agent:read'] as const),
]
const READS: readonly Capability[] = [
  ...(['bolt:schedules:read', 'users:read', 'workspaces:read', 'audit:read', 'dinoai:agent:read'] as const),
]
const ROLES: readonly AccountType[] = [
  ...(['ADMIN', 'WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN', 'SECURITY_ADMIN', 'BILLING_ADMIN'] as const),
  ...(['DEVELOPER', 'ANALYST', 'BUSINESS', 'SANDBOX_USER'] as const),
]

export const at = (workspace: WorkspaceRef): RequestHeaders => ({ 'x-service-workspace': workspace.uid })

export async function makeCast(api: TestApi): Promise<Cast> {
  const { t } = api
  const a = await t.workspace('A')
  const b = await t.workspace('B')
  const named = new Map<Column, RequestHeaders>()
  const inA = (column: Column, credentials: RequestHeaders) => named.set(column, { ...credentials, ...at(a) })

  for (const one of ALL) inA(one, bearer((await t.key({ capabilities: [one] })).key))
  const account = await t.key({ capabilities: ALL })
  inA('account', bearer(account.key))
  inA('account, reads', bearer((await t.key({ capabilities: READS })).key))
  named.set('account, no workspace', bearer(account.key))
  named.set('account, unknown workspace', { ...bearer(account.key), 'x-service-workspace': newUid() })
  named.set('workspace A', bearer((await t.key({ kind: 'workspace', workspace: a })).key))
  named.set('pair A', pairOf(await t.key({ kind: 'pair', workspace: a })))
  inA('workspace B', bearer((await t.key({ kind: 'workspace', workspace: b })).key))

  const roles = new Map<AccountType, Person>()
  for (const role of ROLES) roles.set(role, await t.member(a, role))
  const owner = await t.member(a, 'ADMIN')
  await people.join(t.app.db, b.id, owner.id, 'ADMIN')
  const personal = async (person: Person, capabilities?: readonly Capability[]) =>
    bearer((await t.key({ kind: 'personal', person, capabilities })).key)
  inA('personal ADMIN', await personal(roles.get('ADMIN')!))
  inA('personal users:read', await personal(roles.get('ADMIN')!, ['users:read']))
  inA('personal owner', await personal(owner))
  inA('personal DEVELOPER', await personal(roles.get('DEVELOPER')!))

  inA('owner', sessionOf(await api.session(owner)))
  for (const [role, person] of roles) inA(role, sessionOf(await api.session(person)))
  named.set('ADMIN, no workspace', sessionOf(await api.session(roles.get('ADMIN')!)))
  inA('ADMIN of B', sessionOf(await api.session(await t.member(b, 'ADMIN'))))

  const invalid = await makeInvalid(api, a, roles.get('ADMIN')!)
  const anonymous = ANONYMOUS.map((name): Principal => {
    return { column: 'anonymous', name, headers: { ...invalid[name], ...at(a) } }
  })
  const known = [...named].map(([column, headers]): Principal => ({ column, name: column, headers }))
  return { a, b, principals: [...anonymous, ...known] }
}

async function makeInvalid(
  api: TestApi,
  a: WorkspaceRef,
  admin: Person,
): Promise<Readonly<Record<Anonymous, RequestHeaders>>> {
  const { t } = api
  const owner = t.database.owner.kysely
  const good = await t.key()
  const pair = await t.key({ kind: 'pair', workspace: a })
  const revoked = await t.key()
  await revokeApiKey(t.system, revoked.id)
  const expired = await t.key({ expiresDays: 1 })
  const past = '2020-01-01 00:00:00Z'
  await owner.updateTable('api_key').set({ expires_at: past }).where('id', '=', expired.id).execute()

  const archived = await t.workspace('Archived')
  const leftover = await t.key({ kind: 'workspace', workspace: archived })
  await workspaces.archive(t.app.db, archived.id)

  const gone = await t.member(a, 'ADMIN')
  const goneKey = await t.key({ kind: 'personal', person: gone })
  const goneSession = await api.session(gone)
  await people.disable(t.app.db, a.id, gone.id)

  const [ended, old, plain] = [await api.session(admin), await api.session(admin), await api.session(admin)]
  const hash = (token: string) => t.app.vault.hashSecret(token)
  await owner.updateTable('session').set({ ended_at: past }).where('token_hash', '=', hash(ended)).execute()
  await owner.updateTable('session').set({ expires_at: past }).where('token_hash', '=', hash(old)).execute()

  return {
    'nothing at all': {},
    'a malformed key': bearer('ym_acc_no-such-thing'),
    'an unknown key': bearer(formatKey('account', null, newPublicKeyId(), newSecret()).key),
    'a wrong secret': bearer(formatKey('account', null, good.key.slice(7, 19), newSecret()).key),
    'a revoked key': bearer(revoked.key),
    'an expired key': bearer(expired.key),
    'half a pair': { 'x-api-key': pair.key },
    'a pair as a bearer token': bearer(pair.key),
    'a key of an archived workspace': bearer(leftover.key),
    'a personal key of a disabled person': bearer(goneKey.key),
    'a session of a disabled person': sessionOf(goneSession),
    'a session that was ended': sessionOf(ended),
    'a session that has expired': sessionOf(old),
    'a session without the console header': { ...cookieOf(plain), origin: PUBLIC_URL },
    'a session from a foreign origin': { ...sessionOf(plain), origin: 'https://elsewhere.example' },
    'a session without an origin': { ...cookieOf(plain), 'x-yardmaster-console': '1' },
  }
}

/** Whom the service takes somebody for: its own reading of headers, and its own statement. */
export async function identityOf(api: TestApi, headers: RequestHeaders): Promise<Identity> {
  const credentials = readCredentials({ headers }, { ownOrigins: new Set([PUBLIC_URL]) })
  const uid = readWorkspace({ headers }, workspaceHeaderNames([]))
  return await authenticate(api.t.app, credentials, uid)
}
