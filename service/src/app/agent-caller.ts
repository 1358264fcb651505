// With whose rights the tools of a session work: those of the person or key that started it, as they are at this moment,
// and never more. A session that the service began by itself (self-healing) reads schedules and runs, no more.
import { RIGHTS } from '../domain/account-type.ts'
import type { Actor, PersonIdentity, WorkspaceRef } from '../domain/actor.ts'
import type { AgentSession } from '../domain/agent-session.ts'
import type { Capability } from '../domain/capability.ts'
import { CAPABILITIES } from '../domain/capability.ts'
import { disabledMessage } from '../domain/feature.ts'
import * as callers from '../store/agent-callers.ts'
import type { App, Context } from './context.ts'

export interface AgentCaller extends Context {
  /** In the session's workspace, without those of features that are switched off. */
  readonly rights: readonly Capability[]
  /** Why the session may do nothing any more, in a sentence; then there are no rights either. */
  readonly refusal: string | null
}

export type Started = Pick<AgentSession, 'workspaceId' | 'actor'>

const SERVICE_RIGHTS: readonly Capability[] = ['bolt:schedules:read']
/** What it takes to start an agent, and to go on with one. */
const TRIGGER: Capability = 'dinoai:agent:trigger'

interface Found {
  readonly actor: Actor
  readonly rights: readonly Capability[]
}

export async function callerOf(app: App, session: Started): Promise<AgentCaller> {
  const workspace = await callers.findWorkspace(app.db, session.workspaceId)
  if (workspace === null) return refused(app, null, 'The workspace of this session was archived.')
  const { id, uid, name, agents, scheduling } = workspace
  const place: WorkspaceRef = { id, uid, name, agents }
  if (!agents) return refused(app, place, disabledMessage('agents'))
  const found = await find(app, session.actor, id)
  if (typeof found === 'string') return refused(app, place, found)
  if (session.actor.kind !== 'service' && !found.rights.includes(TRIGGER)) {
    return refused(app, place, 'Whoever started this session may not start agents in this workspace any more.')
  }
  const rights = scheduling ? found.rights : found.rights.filter((one) => !one.startsWith('bolt:'))
  return { ...contextOf(app, place, found.actor), rights, refusal: null }
}

async function find(app: App, actor: AgentSession['actor'], workspaceId: number): Promise<Found | string> {
  switch (actor.kind) {
    case 'service':
      return { actor: { kind: 'system', name: actor.name }, rights: SERVICE_RIGHTS }
    case 'operator':
      return { actor: { kind: 'system', name: actor.name }, rights: CAPABILITIES }
    case 'person':
      return await asPerson(app, actor.personId, workspaceId)
    case 'key':
      return await asKey(app, actor.keyId, workspaceId)
  }
}

async function asPerson(app: App, personId: number, workspaceId: number): Promise<Found | string> {
  const person = await identityOf(app, personId)
  const membership = person?.memberships.find((one) => one.workspaceId === workspaceId)
  if (person === null || membership === undefined) {
    return 'The person who started this session is not in the workspace any more.'
  }
  // No sign-in stands behind it: the session of the browser may have ended long ago.
  return { actor: { kind: 'person', person, sessionId: 0 }, rights: RIGHTS[membership.accountType].may }
}

async function asKey(app: App, keyId: number, workspaceId: number): Promise<Found | string> {
  const row = await callers.findKey(app.db, keyId)
  if (row === null || row.over) return 'The key that started this session was revoked or has expired.'
  const { boundTo, makerId, makerEmail, personId, over: _, ...rest } = row
  const key = { ...rest, workspaceId: boundTo, makerId, makerEmail }
  if (boundTo !== null && boundTo !== workspaceId) return 'The key that started this session is of another workspace.'
  if (row.kind !== 'personal') return { actor: { kind: 'key', key }, rights: key.capabilities }
  const own = await asPerson(app, personId!, workspaceId)
  if (typeof own === 'string' || own.actor.kind !== 'person') return own
  const rights = own.rights.filter((one) => key.capabilities.includes(one))
  return { actor: { kind: 'personal-key', key, person: own.actor.person }, rights }
}

async function identityOf(app: App, personId: number): Promise<PersonIdentity | null> {
  const found = await callers.findPerson(app.db, personId)
  if (found === null) return null
  const { id, email, name, memberships, activeWorkspaces } = found
  const administered = memberships.filter((one) => one.accountType === 'ADMIN').length
  return { id, email, name, memberships, runsAccount: administered > 0 && administered === activeWorkspaces }
}

const refused = (app: App, workspace: WorkspaceRef | null, refusal: string): AgentCaller => ({
  ...contextOf(app, workspace, { kind: 'anonymous' }),
  rights: [],
  refusal,
})

/** It sees its own workspace, also when its key or person sees more. */
const contextOf = (app: App, workspace: WorkspaceRef | null, actor: Actor): Context => ({
  ...app,
  actor,
  workspace,
  visible: workspace === null ? [] : [workspace.id],
  request: { id: '', address: '' },
  idempotency: null,
})
