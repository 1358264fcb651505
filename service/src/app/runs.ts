// Runs as rows: making one, canceling one, ending one, and handing the turn to the next. All of it happens in the
// caller's transaction, under the lock of the schedule (store/runs.ts).
import type { Actor } from '../domain/actor.ts'
import { conflict, notFound } from '../domain/errors.ts'
import type { FinalState, RunCause, RunOutcome } from '../domain/run.ts'
import { finalState, isFinal } from '../domain/run.ts'
import type { RunPlan } from '../domain/run-plan.ts'
import { decideTurn } from '../domain/run-plan.ts'
import * as commands from '../store/commands.ts'
import * as runs from '../store/runs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import { announceRunEvent } from './run-events.ts'

export type { PlannedCommand, RunPlan } from '../domain/run-plan.ts'

export interface CreatedRun {
  readonly id: number
  /** Skipped by the schedule's overlap policy; `known` when the tick had its row already. */
  readonly state: 'waiting' | 'skipped' | 'known'
}

export const INSTALL_STEP = 'install dependencies'

export const cloneText = (repositoryUrl: string): string => `git clone ${repositoryUrl}`.trim()
export const installText = (installStep: string | null): string => installStep?.trim() || INSTALL_STEP

const SERVICE: Actor = { kind: 'system', name: 'runs' }

/**
 * Inserts a run with its commands and, when nothing of the schedule must be waited for, sends its job. A tick may be
 * skipped instead, which leaves its row too. The caller writes the audit record of who asked.
 */
export async function createRun(unit: Unit, plan: RunPlan): Promise<CreatedRun> {
  const schedule = await runs.lockSchedule(unit.db, plan.scheduleId)
  const others = await runs.listOpen(unit.db, plan.scheduleId, plan.prNumber)
  const turn = decideTurn(plan, schedule.overlap, others)
  if (turn.kind === 'skip') {
    const id = await runs.insertSkip(unit.db, { ...plan, dueAt: plan.dueAt!, detail: turn.detail })
    return id === null ? { id: 0, state: 'known' } : { id, state: 'skipped' }
  }
  const id = await runs.insert(unit.db, plan, turn.kind)
  if (id === null) return { id: 0, state: 'known' }
  const { repositoryUrl, installStep } = await runs.readInfrastructure(unit.db, plan.environmentId)
  const infrastructure = (text: string): commands.NewCommand => ({
    kind: 'infrastructure',
    text,
    originalText: text,
    continueOnError: false,
    stateFrom: null,
  })
  await commands.insert(unit.db, { workspaceId: plan.workspaceId, runId: id }, [
    infrastructure(cloneText(repositoryUrl)),
    infrastructure(installText(installStep)),
    ...plan.commands.map((one) => ({ ...one, kind: 'user' as const, stateFrom: one.stateFrom ?? null })),
  ])
  if (turn.kind === 'go') await unit.queue.send(unit.db, 'run', { runId: id })
  for (const other of turn.cancel) {
    await cancelOpen(unit, other, plan.prNumber === null ? 'a newer tick' : 'a newer run of the pull request')
  }
  return { id, state: 'waiting' }
}

/** A run that waits ends at once; one that a worker holds is told to. Under the schedule's lock. */
async function cancelOpen(unit: Unit, runId: number, by: string): Promise<'ended' | 'ending' | 'was-ended'> {
  const run = await runs.lock(unit.db, runId)
  if (isFinal(run.state)) return 'was-ended'
  if (run.state !== 'waiting') {
    if (!run.cancelRequested) await runs.requestCancel(unit.db, runId, by)
    return 'ending'
  }
  await endLocked(unit, run, { kind: 'canceled' }, by)
  return 'ended'
}

/** Answers when the cancel is recorded. */
export async function cancelRun(ctx: Context, input: { readonly runId: number }): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const scheduleId = await runs.findScheduleOf(unit.db, input.runId, workspace.id)
    if (scheduleId === null) throw noSuchRun(input.runId)
    await runs.lockSchedule(unit.db, scheduleId)
    const done = await cancelOpen(unit, input.runId, actorName(ctx.actor).name)
    if (done === 'was-ended') throw conflict('The run has ended already: there is nothing to cancel.')
    unit.record('run_canceled', { run: input.runId })
  })
}

/** For a schedule that goes: what waits is canceled, a going run is left to end. Gives the ids. */
export async function cancelWaiting(unit: Unit, scheduleId: number, by: string): Promise<number[]> {
  await runs.lockSchedule(unit.db, scheduleId)
  const waiting = await runs.listWaiting(unit.db, scheduleId)
  const ended: number[] = []
  // The newest first: the end of a run releases the next one that waits, which would be woken for nothing.
  for (const id of waiting.reverse()) if ((await cancelOpen(unit, id, by)) === 'ended') ended.push(id)
  return ended
}

/**
 * The end of a run, by the worker that holds it or by whoever found it lost; the next one that waits gets its turn in
 * the same transaction. Null when the run had ended already or is held in another attempt: then nothing changed.
 */
export async function finishRun(
  unit: Unit,
  runId: number,
  attempt: number,
  outcome: RunOutcome,
  when: 'always' | { readonly leaseUntil: string } = 'always',
): Promise<FinalState | null> {
  const scheduleId = await runs.findScheduleOf(unit.db, runId)
  if (scheduleId === null) return null
  await runs.lockSchedule(unit.db, scheduleId)
  const run = await runs.lock(unit.db, runId)
  if (isFinal(run.state) || run.attempt !== attempt) return null
  // Between the look and the lock its worker may have been heard of again.
  if (when !== 'always' && run.leaseUntil !== when.leaseUntil) return null
  return await endLocked(unit, run, outcome)
}

async function endLocked(
  unit: Unit,
  run: runs.LockedRun,
  outcome: RunOutcome,
  canceledBy?: string,
): Promise<FinalState | null> {
  const final = finalState(outcome, run.cancelRequested)
  const by = canceledBy === undefined ? {} : { canceledBy }
  if (!(await runs.end(unit.db, run, { ...final, ...by }))) return null
  await announceRunEvent(unit, { workspaceId: run.workspaceId, runId: run.id, kind: 'ended' })
  await releaseNext(unit, run.scheduleId, run.prNumber)
  unit.record(
    'run_ended',
    {
      run: run.id,
      schedule: run.scheduleSlug,
      state: final.state,
      ...(final.detail !== '' && { detail: final.detail }),
      ...(final.state === 'canceled' && { canceled_by: canceledBy ?? run.cancelBy }),
    },
    { id: run.workspaceId, name: run.workspaceName },
    SERVICE,
  )
  return final.state
}

/** Under the schedule's lock. */
async function releaseNext(unit: Unit, scheduleId: number, prNumber: number | null): Promise<void> {
  const next = await runs.releaseNext(unit.db, scheduleId, prNumber)
  if (next !== null) await unit.queue.send(unit.db, 'run', { runId: next })
}

/** For the reaper: a group in which runs wait and none goes is woken. */
export async function releaseStuck(unit: Unit, group: { scheduleId: number; prNumber: number | null }): Promise<void> {
  await runs.lockSchedule(unit.db, group.scheduleId)
  await releaseNext(unit, group.scheduleId, group.prNumber)
}

export const noSuchRun = (id: number): Error => notFound(`No run ${id} in this workspace.`)

export interface RunActor {
  readonly name: string
  readonly email: string
  readonly cause: RunCause
}

/** Who started a run, from the authenticated identity alone. A personal key acts for its person. */
export function actorName(actor: Actor): RunActor {
  switch (actor.kind) {
    case 'person':
    case 'personal-key':
      return { name: actor.person.name || actor.person.email, email: actor.person.email, cause: 'person' }
    case 'key':
      return { name: actor.key.name, email: actor.key.makerEmail, cause: 'key' }
    case 'system':
      return { name: actor.name, email: '', cause: 'person' }
    case 'anonymous':
      throw new Error('nobody starts a run without saying who they are')
  }
}
