// After a failed run somebody may be asked to mend it. The request is a row, written with the other things that follow
// from the end of the run; engine/healing.ts hands it over.
import { sessionOfBranch } from '../domain/agent-session.ts'
import { followedBy } from '../domain/chain.ts'
import { invalidInput } from '../domain/errors.ts'
import type { HealingState } from '../domain/healing.ts'
import { causeOf } from '../domain/healing.ts'
import type { Healer } from '../ports/healer.ts'
import type { ListedHealing } from '../store/healing.ts'
import * as healing from '../store/healing.ts'
import type { App, Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { readRunReport } from './run-report.ts'

export type { ListedHealing } from '../store/healing.ts'

/** With no healer the request is kept all the same, with the reason why nobody was asked. */
export const selfHealingHandler = (app: App, healer: Healer | null): RunEventHandler => ({
  name: 'self-healing',
  handle: async (unit, event) => {
    if (followedBy(event.kind, event.state) !== 'failed') return
    // What a mend was tried with failed too: asking again would go round in a circle.
    if (event.cause === 'self_healing') return
    const { selfHealing, agents } = await healing.readSettings(unit.db, event.workspaceId, event.scheduleId)
    if (selfHealing === null || !selfHealing.enabled) return
    const id = await healing.insert(unit.db, {
      workspaceId: event.workspaceId,
      scheduleId: event.scheduleId,
      runId: event.runId,
      cause: causeOf(await readRunReport(app, unit.db, event)),
      agent: selfHealing.agentName ?? '',
      slackChannel: selfHealing.slackChannel ?? '',
      refused: refusal(healer, agents),
    })
    app.log.info(about(event, id), id === null ? 'the cause is being worked on already' : 'healing is asked for')
  },
})

const about = (event: RunEvent, request: number | null): object => ({
  run: event.runId,
  schedule: event.scheduleSlug,
  ...(request !== null && { request }),
})

function refusal(healer: Healer | null, agents: boolean): string | null {
  if (healer === null) return 'No agents are set up on this service.'
  return agents ? null : 'Agents are switched off for this workspace.'
}

/** Hands the next request over; null when none waits. Two servers may ask about one: the healer starts it once. */
export async function startNextHealing(
  app: App,
  healer: Healer,
  except: readonly number[],
): Promise<{ readonly id: number } | null> {
  const next = await healing.findWaiting(app.db, except)
  if (next === null) return null
  const thread = await healing.findThread(app.db, next.workspaceId, next.runId)
  const named = next.slackChannel === '' ? null : { channel: next.slackChannel, threadTs: null }
  const answer = await healer.start({
    id: next.id,
    workspaceId: next.workspaceId,
    scheduleId: next.scheduleId,
    runId: next.runId,
    agent: next.agent,
    slack: thread ?? named,
  })
  await healing.move(
    app.db,
    next.id,
    answer.kind === 'started'
      ? { state: 'started', session: answer.session }
      : { state: 'refused', reason: answer.reason },
  )
  return next
}

export interface Proposal {
  readonly session: string
  readonly branch: string
  /** Empty: the branch alone is the proposal. */
  readonly pullRequest: string
}

/** The session is over and its mend is on a branch: the cause stays taken, the schedule is free. */
export const healingProposed = (unit: Pick<Unit, 'db'>, id: number, { session, branch, pullRequest }: Proposal) =>
  healing.move(unit.db, id, { state: 'proposed', session, branch, pullRequest, reason: pullRequest || branch })

/** The session is over without a proposal, or what it proposed is decided. */
export const healingEnded = (unit: Pick<Unit, 'db'>, id: number, reason: string, session?: string): Promise<boolean> =>
  healing.move(unit.db, id, { state: 'ended', reason, ...(session !== undefined && { session }) })

export interface SettledSession {
  readonly id: string
  readonly workspaceId: number
  readonly healingRequestId: number | null
  readonly branch: string
  readonly pullRequest: string
}

/** At each end of a turn, in its transaction. A later turn of the same session can still add a pull request. */
export async function settleHealing(unit: Pick<Unit, 'db'>, session: SettledSession, reason: string): Promise<void> {
  const { id, workspaceId, healingRequestId, branch, pullRequest } = session
  if (healingRequestId === null) return
  const isProposed = pullRequest !== '' || (await healing.hasPushed(unit.db, workspaceId, id))
  if (!isProposed) await healingEnded(unit, healingRequestId, reason || 'Nothing was proposed.', id)
  else if (!(await healingProposed(unit, healingRequestId, { session: id, branch, pullRequest })) && pullRequest !== '')
    await healing.addPullRequest(unit.db, healingRequestId, pullRequest)
}

/** A pull request of the workspace is over. One from another repository is nobody's proposal, whatever it is called. */
export async function proposalDecided(
  unit: Pick<Unit, 'db'>,
  workspaceId: number,
  pull: { readonly headBranch: string; readonly isFork: boolean; readonly number: number },
  how: 'merged' | 'closed',
): Promise<void> {
  const session = sessionOfBranch(pull.headBranch)
  if (session === null || pull.isFork) return
  const id = await healing.findProposed(unit.db, workspaceId, session)
  if (id !== null) await healingEnded(unit, id, `#${pull.number} was ${how}.`)
}

/** What nobody decides about does not keep its cause for ever. */
export const PROPOSED_BRANCH_DAYS = 7
export const PROPOSED_PULL_REQUEST_DAYS = 30

/** Gives how many causes are free again. */
export async function freeForgotten(app: Pick<App, 'db'>): Promise<number> {
  const forgotten = await healing.listForgotten(app.db, {
    branchDays: PROPOSED_BRANCH_DAYS,
    pullRequestDays: PROPOSED_PULL_REQUEST_DAYS,
  })
  for (const { id, pullRequest } of forgotten) {
    const days = pullRequest === '' ? PROPOSED_BRANCH_DAYS : PROPOSED_PULL_REQUEST_DAYS
    await healingEnded(app, id, `Nothing was heard of what was proposed for ${days} days.`)
  }
  return forgotten.length
}

export interface HealingFilter {
  readonly scheduleSlug: string | null
  readonly state: HealingState | null
  readonly offset: number | null
  readonly limit: number | null
}

const SOME_LISTED = 100
const MOST_LISTED = 1000

/** Newest first. */
export async function listHealings(
  ctx: Context,
  { scheduleSlug, state, offset, limit }: HealingFilter,
): Promise<{ healings: ListedHealing[]; totalCount: number }> {
  if ((offset ?? 0) < 0) throw invalidInput('offset: 0 or more.')
  if (limit !== null && !(limit >= 1 && limit <= MOST_LISTED)) throw invalidInput(`limit: 1 to ${MOST_LISTED}.`)
  return await healing.page(ctx.db, workspaceOf(ctx).id, {
    scheduleSlug,
    state,
    offset: offset ?? 0,
    limit: limit ?? SOME_LISTED,
  })
}
