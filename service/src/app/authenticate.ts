// Turns what a request carries into who asks and which workspace it means. It refuses nothing: credentials that do
// not hold make an anonymous caller with the reason beside it, and the gate decides what that caller may still do.
import type { Actor, KeyIdentity, Membership, PersonIdentity, WorkspaceRef } from '../domain/actor.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import { isToken, parseBearer, parsePair } from '../domain/key.ts'
import type { WorkspaceSelection } from '../domain/policy.ts'
import * as keys from '../store/keys.ts'
import * as sessions from '../store/sessions.ts'
import type { App } from './context.ts'

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'pair'; readonly key: string; readonly secret: string }
  | { readonly kind: 'session'; readonly token: string }

export interface Rejection {
  readonly reason: 'unknown' | 'expired' | 'revoked' | 'malformed'
  /** Counts wrong secrets for one key over all addresses; null where none can be told. */
  readonly keyId: string | null
}

export interface Identity {
  readonly actor: Actor
  readonly selection: WorkspaceSelection
  readonly switches: AccountSwitches
  readonly rejected: Rejection | null
}

const ALL_ON: AccountSwitches = {
  scheduling: true,
  user_management: true,
  workspace_management: true,
  audit_logs: true,
}

export async function authenticate(app: App, credentials: Credentials, workspaceUid: string | null): Promise<Identity> {
  switch (credentials.kind) {
    case 'none':
      return anonymous(null)
    case 'bearer':
    case 'pair': {
      const parsed =
        credentials.kind === 'bearer' ? parseBearer(credentials.token) : parsePair(credentials.key, credentials.secret)
      if (parsed === null) return anonymous({ reason: 'malformed', keyId: null })
      return await withKey(app, credentials.kind, parsed, workspaceUid)
    }
    case 'session':
      if (!isToken(credentials.token)) return anonymous({ reason: 'malformed', keyId: null })
      return await withSession(app, credentials.token, workspaceUid)
  }
}

// The switches matter to an anonymous caller for nothing but apiKeyIdentity, which no switch turns off.
function anonymous(rejected: Rejection | null): Identity {
  return { actor: { kind: 'anonymous' }, selection: { kind: 'unknown' }, switches: ALL_ON, rejected }
}

async function withKey(
  app: App,
  form: 'bearer' | 'pair',
  parsed: { publicId: string; secret: string },
  workspaceUid: string | null,
): Promise<Identity> {
  const row = await keys.authenticate(app.db, parsed.publicId, workspaceUid)
  const reject = (reason: Rejection['reason']) => anonymous({ reason, keyId: parsed.publicId })
  if (row === null || (row.kind === 'pair') !== (form === 'pair')) return reject('unknown')
  if (!app.vault.matches(parsed.secret, row.kid, row.secretHash)) return reject('unknown')
  // A person with no workspace left holds nothing any more, and neither does a key of theirs.
  const held = row.kind !== 'personal' || (row.memberships ?? []).length > 0
  if (row.revoked || !held) return reject('revoked')
  if (row.expired) return reject('expired')
  if (row.stale) touch(app, () => keys.touch(app.db, row.id))
  const key: KeyIdentity = {
    id: row.id,
    kind: row.kind,
    name: row.name,
    client: row.client,
    capabilities: row.capabilities,
    workspaceId: row.boundTo,
    makerId: row.makerId,
    makerEmail: row.makerEmail,
  }
  const actor: Actor =
    row.kind === 'personal'
      ? { kind: 'personal-key', key, person: personOf(row.personId!, row.personEmail!, row.personName!, row) }
      : { kind: 'key', key }
  return { actor, selection: selectionOf(app, row, workspaceUid), switches: row, rejected: null }
}

async function withSession(app: App, token: string, workspaceUid: string | null): Promise<Identity> {
  const row = await sessions.authenticate(app.db, app.vault.hashesOf(token), workspaceUid)
  // A person with no workspace left has nothing to be signed in for.
  if (row === null || row.memberships.length === 0) return anonymous({ reason: 'unknown', keyId: null })
  if (row.stale) touch(app, () => sessions.touch(app.db, row.sessionId))
  return {
    actor: { kind: 'person', person: personOf(row.personId, row.email, row.name, row), sessionId: row.sessionId },
    selection: selectionOf(app, row, workspaceUid),
    switches: row,
    rejected: null,
  }
}

function personOf(
  id: number,
  email: string,
  name: string,
  row: { memberships: readonly Membership[] | null; activeWorkspaces: number | null },
): PersonIdentity {
  const memberships = row.memberships ?? []
  const administered = memberships.filter((one) => one.accountType === 'ADMIN').length
  return { id, email, name, memberships, runsAccount: administered > 0 && administered === row.activeWorkspaces }
}

function selectionOf(app: App, row: keys.SelectedWorkspaceRow, workspaceUid: string | null): WorkspaceSelection {
  if (row.workspaceId !== null) {
    const workspace: WorkspaceRef = {
      id: row.workspaceId,
      uid: row.workspaceUid!,
      name: row.workspaceName!,
      agents: row.workspaceAgents!,
    }
    return { kind: 'found', workspace }
  }
  return workspaceUid === null ? { kind: 'none', header: app.settings.workspaceHeader } : { kind: 'unknown' }
}

/** When a key or session was last used is kept to the minute, beside the request: it must not slow or fail it. */
function touch(app: App, write: () => Promise<void>): void {
  write().catch((error: unknown) => app.log.warn({ err: error }, 'last use was not recorded'))
}
