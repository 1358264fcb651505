// New runs from old ones. Which commands, and every refusal, is decided in domain/retry.ts; the old run stays as it is.
import { conflict } from '../domain/errors.ts'
import type { PastRun, RetryCommand } from '../domain/retry.ts'
import { planRetryAll, planRetryFailed, planRetryFromFailure } from '../domain/retry.ts'
import * as commands from '../store/commands.ts'
import type { Db } from '../store/database.ts'
import * as runs from '../store/runs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import { actorName, createRun, noSuchRun } from './runs.ts'
import type { ScheduleArgument } from './trigger-run.ts'
import { lockActiveSchedule, noSuchSchedule, scheduleArgument } from './trigger-run.ts'

/** The commands that failed. */
export async function retryRun(ctx: Context, input: { readonly runId: number }): Promise<{ runId: number }> {
  return await retryById(ctx, input.runId, 'failed', planRetryFailed)
}

/** All user commands, verbatim. */
export async function retryAllRun(ctx: Context, input: { readonly runId: number }): Promise<{ runId: number }> {
  return await retryById(ctx, input.runId, 'all', planRetryAll)
}

/** The latest run's first failed command and everything after it. */
export async function retryRunFromFailure(ctx: Context, input: ScheduleArgument): Promise<{ runId: number }> {
  const workspace = workspaceOf(ctx)
  const slug = scheduleArgument(input)
  return await mutate(ctx, async (unit) => {
    const schedule = await lockActiveSchedule(unit.db, workspace.id, slug)
    const latest = await runs.findLatest(unit.db, schedule.id)
    const plan = planRetryFromFailure(latest === null ? null : await past(unit.db, latest))
    return await again(ctx, unit, schedule, latest!, plan, 'from failure')
  })
}

async function retryById(
  ctx: Context,
  runId: number,
  what: string,
  decide: (run: PastRun) => RetryCommand[],
): Promise<{ runId: number }> {
  const workspace = workspaceOf(ctx)
  return await mutate(ctx, async (unit) => {
    const scheduleId = await runs.findScheduleOf(unit.db, runId, workspace.id)
    if (scheduleId === null) throw noSuchRun(runId)
    const schedule = await runs.lockSchedule(unit.db, scheduleId)
    if (!schedule.active) throw noSuchSchedule(schedule.slug)
    // Read under the lock: a run that is about to end has ended, or has not.
    const run = (await runs.find(unit.db, workspace.id, runId))!
    return await again(ctx, unit, schedule, run, decide(await past(unit.db, run)), what)
  })
}

async function past(db: Db, run: runs.RunRow): Promise<PastRun> {
  return { state: run.state, commands: await commands.listPast(db, run.workspaceId, run.id) }
}

async function again(
  ctx: Context,
  unit: Unit,
  schedule: runs.RunSchedule,
  old: runs.RunRow,
  plan: readonly RetryCommand[],
  what: string,
): Promise<{ runId: number }> {
  if (old.prNumber !== null && (await runs.listOpen(unit.db, schedule.id, old.prNumber)).length > 0) {
    throw conflict(
      `A run of this schedule for pull request ${old.prNumber} is still going: wait for its end, or cancel it first.`,
    )
  }
  const actor = actorName(ctx.actor)
  const { id } = await createRun(unit, {
    workspaceId: old.workspaceId,
    scheduleId: schedule.id,
    environmentId: schedule.environmentId,
    cause: 'retry',
    dueAt: null,
    actor: actor.name,
    actorEmail: actor.email,
    reason: old.reason,
    branch: old.branch,
    prNumber: old.prNumber,
    parentRunId: null,
    retryOf: old.id,
    commands: plan,
    continueOnError: old.continueOnError,
    timeLimitSeconds: schedule.timeLimitSeconds,
  })
  unit.record('run_retried', { run: id, retry_of: old.id, schedule: schedule.slug, what, commands: plan.length })
  return { runId: id }
}
