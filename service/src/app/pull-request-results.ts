// What goes back to the git host: a status on the commit for each schedule, and one comment that is kept up to date.
import type { CommitStatus, PullComment } from '../domain/messages/pull-request.ts'
import { commentOf, statusOf, waitingStatus } from '../domain/messages/pull-request.ts'
import { pathOfRepository, repositoryOf } from '../domain/repository-address.ts'
import * as integrations from '../store/integrations.ts'
import type { StoredPull } from '../store/pull-requests.ts'
import * as pulls from '../store/pull-requests.ts'
import type { App } from './context.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'

export const pullRequestHandler = (app: App): RunEventHandler => ({
  name: 'pull-requests',
  handle: async (unit, event) => {
    if (event.prNumber === null || event.kind === 'late') return
    const pull = await pullOf(unit, event)
    if (pull === null) return
    const target = await targetOf(unit, pull)
    if (target === null) return
    await queueStatus(unit, target, pull, {
      ...statusOf(event.kind, event.state),
      // A run that was cancelled before its checkout tells the commit it was for, not what was pushed since.
      commit: event.commitHash || event.wantedCommit || pull.headCommit,
      context: `yardmaster/${event.scheduleSlug}`,
      url: runUrl(app, event.workspaceUid, event.runId),
      causeKey: `status run ${event.runId} ${event.kind}`,
      runId: event.runId,
    })
    // What was canceled for a newer commit is nobody's news.
    if (event.kind !== 'ended' || event.state === 'canceled') return
    const done = await pulls.listRuns(unit.db, event.workspaceId, pull)
    const body: PullComment = {
      path: target.path,
      number: pull.number,
      marker: `yardmaster ${event.workspaceUid} #${pull.number}`,
      text: commentOf(
        pull.headCommit,
        done.map((one) => ({ ...one, url: runUrl(app, event.workspaceUid, one.runId) })),
      ),
    }
    await queueDelivery(unit, {
      workspaceId: event.workspaceId,
      channel: pull.provider,
      integrationId: target.integrationId,
      event: 'comment',
      causeKey: `comment run ${event.runId}`,
      runId: event.runId,
      line: `pull request ${pull.id}`,
      body,
    })
  },
})

/** A fork, or a branch of an agent, waits for a member: its commit says so. */
export async function tellOfWaiting(unit: Unit, pull: StoredPull): Promise<void> {
  const target = await targetOf(unit, pull)
  if (target === null) return
  await queueStatus(unit, target, pull, {
    ...waitingStatus(pull),
    commit: pull.headCommit,
    context: 'yardmaster',
    url: pull.url,
    causeKey: `status fork ${pull.id} ${pull.headCommit}`,
    runId: null,
  })
}

const runUrl = (app: App, workspaceUid: string, runId: number): string =>
  `${app.settings.publicUrl}/workspaces/${workspaceUid}/runs/${runId}`

/** Of the repository that the run took; a number alone may be several pull requests. */
async function pullOf(unit: Unit, event: RunEvent): Promise<StoredPull | null> {
  const taken = await pulls.findRepository(unit.db, event.runId)
  const repository = repositoryOf(taken?.repositoryUrl ?? '')
  const found = await pulls.listByNumber(unit.db, event.workspaceId, event.prNumber!)
  return found.find((one) => one.repository === repository) ?? null
}

interface Target {
  readonly integrationId: number
  readonly path: string
}

/** Null where nothing can be written back: no integration, or one without a token. */
async function targetOf(unit: Unit, pull: StoredPull): Promise<Target | null> {
  const found = await integrations.findByName(unit.db, pull.workspaceId, pull.provider)
  const path = pathOfRepository(pull.repository)
  return found?.secretNames.includes('token') && path !== null ? { integrationId: found.id, path } : null
}

async function queueStatus(
  unit: Unit,
  target: Target,
  pull: StoredPull,
  status: Omit<CommitStatus, 'path'> & { readonly causeKey: string; readonly runId: number | null },
): Promise<void> {
  const { causeKey, runId, ...rest } = status
  const body: CommitStatus = { ...rest, path: target.path }
  await queueDelivery(unit, {
    workspaceId: pull.workspaceId,
    channel: pull.provider,
    integrationId: target.integrationId,
    event: 'status',
    causeKey,
    runId,
    line: `status ${pull.id} ${status.commit} ${status.context}`,
    body,
  })
}
