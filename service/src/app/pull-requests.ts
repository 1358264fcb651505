// Pull requests: what is pushed to one runs the Turbo CI schedules of its repository on exactly that commit, what is merged
// runs the schedules that wait for a merge. Whether a hook tells of it or a look at the host, it comes through here once.
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import { branchOfPull, type GitEvent, needsWord, type PullRequest } from '../domain/pull-request.ts'
import { repositoryOf } from '../domain/repository-address.ts'
import { CAUSE_ACTORS } from '../domain/run.ts'
import { planCommands } from '../domain/run-plan.ts'
import type { StoredPull } from '../store/pull-requests.ts'
import * as pulls from '../store/pull-requests.ts'
import * as runs from '../store/runs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { proposalDecided } from './healing.ts'
import type { AuditPlace, Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import { tellOfWaiting } from './pull-request-results.ts'
import { actorName, createRun } from './runs.ts'

export type { StoredPull } from '../store/pull-requests.ts'

export interface PullWorkspace {
  readonly id: number
  readonly name: string
}

/** Gives the runs that it started. Nothing the second time. */
export async function takeGitEvent(unit: Unit, workspace: PullWorkspace, event: GitEvent): Promise<number[]> {
  switch (event.kind) {
    case 'open':
      return await pushedTo(unit, workspace, event.pull)
    case 'merged':
    case 'closed':
      return await ended(unit, workspace, event.pull, event.kind)
    case 'pushed':
    case 'other':
      return []
  }
}

async function pushedTo(unit: Unit, workspace: PullWorkspace, pull: PullRequest): Promise<number[]> {
  const before = await pulls.lock(unit.db, workspace.id, pull)
  // An old message that was held up must not bring back what is over, nor run the same commit again.
  if (before !== null && before.state === 'open' && before.headCommit === pull.headCommit) return []
  const stored = await pulls.save(unit.db, workspace.id, pull, 'open')
  if (needsWord(stored) && stored.allowedCommit !== stored.headCommit) {
    await tellOfWaiting(unit, stored)
    return []
  }
  return await runTurboCi(unit, workspace, stored)
}

async function ended(
  unit: Unit,
  workspace: PullWorkspace,
  pull: PullRequest,
  state: 'merged' | 'closed',
): Promise<number[]> {
  const before = await pulls.lock(unit.db, workspace.id, pull)
  if (before?.state === state) return []
  await pulls.save(unit.db, workspace.id, pull, state)
  await proposalDecided(unit, workspace.id, pull, state)
  if (state === 'closed') return []
  const waiting = (await pulls.listCandidates(unit.db, workspace.id, 'merge')).filter(
    (one) => repositoryOf(one.repositoryUrl) === pull.repository && one.branch === pull.baseBranch,
  )
  return await runAll(unit, workspace, waiting, 'merge', (schedule) => ({
    branch: schedule.branch,
    prNumber: null,
    commit: null,
    reason: `merge of #${pull.number}`,
  }))
}

async function runTurboCi(unit: Unit, workspace: PullWorkspace, pull: StoredPull): Promise<number[]> {
  const taking = (await pulls.listCandidates(unit.db, workspace.id, 'turbo ci')).filter(
    (one) => repositoryOf(one.repositoryUrl) === pull.repository,
  )
  // A newer commit cancels what an older one of the same pull request still runs: createRun sees to it.
  return await runAll(unit, workspace, taking, 'pull_request', () => ({
    branch: branchOfPull(pull),
    prNumber: pull.number,
    commit: pull.headCommit,
    reason: pull.title,
  }))
}

async function runAll(
  unit: Unit,
  workspace: PullWorkspace,
  candidates: readonly pulls.Candidate[],
  cause: 'merge' | 'pull_request',
  takes: (schedule: runs.RunSchedule) => {
    readonly branch: string
    readonly prNumber: number | null
    readonly commit: string | null
    readonly reason: string
  },
): Promise<number[]> {
  const started: number[] = []
  const place: AuditPlace = { id: workspace.id, name: workspace.name }
  for (const { scheduleId } of candidates) {
    const schedule = await runs.lockSchedule(unit.db, scheduleId)
    if (!schedule.active) continue
    const { branch, prNumber, commit, reason } = takes(schedule)
    const { id } = await createRun(unit, {
      workspaceId: schedule.workspaceId,
      scheduleId: schedule.id,
      environmentId: schedule.environmentId,
      cause,
      dueAt: null,
      actor: CAUSE_ACTORS[cause],
      actorEmail: '',
      reason,
      branch,
      commit,
      prNumber,
      parentRunId: null,
      retryOf: null,
      commands: planCommands(schedule.commands, schedule.continueOnError),
      continueOnError: schedule.continueOnError,
      timeLimitSeconds: schedule.timeLimitSeconds,
    })
    unit.record(
      'run_triggered',
      { run: id, schedule: schedule.slug, ...(prNumber !== null && { pull_request: prNumber }) },
      place,
    )
    started.push(id)
  }
  return started
}

const MOST_LISTED = 200

export const listPullRequests = (ctx: Context): Promise<StoredPull[]> =>
  pulls.list(ctx.db, workspaceOf(ctx).id, MOST_LISTED)

/** A member lets the present commit of a fork, or of an agent's branch, run. What is pushed to it later needs a new word. */
export async function allowPullRequest(ctx: Context, input: { readonly id: number; readonly commit: string }) {
  const workspace = workspaceOf(ctx)
  if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(input.commit))
    throw invalidInput('commit: the whole commit, as it is shown.')
  return await mutate(ctx, async (unit) => {
    const pull = await pulls.lockById(unit.db, workspace.id, input.id)
    if (pull === null) throw notFound(`No pull request ${input.id} in this workspace.`)
    if (pull.state !== 'open') throw conflict(`#${pull.number} is ${pull.state}: there is nothing to run.`)
    if (pull.headCommit !== input.commit) {
      throw conflict(`#${pull.number} is at ${pull.headCommit} by now: look at that commit, then allow it.`)
    }
    if (!needsWord(pull)) throw conflict(`#${pull.number} comes from this repository: it runs without being allowed.`)
    if (pull.allowedCommit === pull.headCommit) throw conflict(`#${pull.number} was allowed at this commit already.`)
    await pulls.allow(unit.db, pull.id, pull.headCommit, actorName(ctx.actor).name)
    unit.record('pull_request_allowed', { pull_request: pull.number, commit: pull.headCommit, author: pull.author })
    return { runIds: await runTurboCi(unit, workspace, pull) }
  })
}
