// Reading runs and commands. Output is read by app/command-logs.ts, files by app/artifacts.ts.
import { invalidInput, notFound } from '../domain/errors.ts'
import type { CommandRow } from '../store/commands.ts'
import * as commands from '../store/commands.ts'
import type { RunRow } from '../store/runs.ts'
import * as runs from '../store/runs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { noSuchRun } from './runs.ts'
import type { ScheduleArgument } from './trigger-run.ts'
import { noSuchSchedule, scheduleArgument } from './trigger-run.ts'

export type { CommandRow } from '../store/commands.ts'
export type { RunRow } from '../store/runs.ts'

const MAX_RUNS = 1000

/** Newest first. Neither slug nor scheduleName: the runs of all schedules of the workspace. */
export async function listRuns(
  ctx: Context,
  input: ScheduleArgument & { readonly offset: number; readonly limit: number },
): Promise<RunRow[]> {
  const workspace = workspaceOf(ctx)
  const { offset, limit } = input
  if (offset < 0) throw invalidInput('offset: 0 or more.')
  if (limit < 1 || limit > MAX_RUNS) throw invalidInput(`limit: 1 to ${MAX_RUNS}.`)
  let scheduleId: number | null = null
  if (input.slug != null || input.scheduleName != null) {
    const slug = scheduleArgument(input)
    scheduleId = await runs.findScheduleId(ctx.db, workspace.id, slug)
    if (scheduleId === null) throw noSuchSchedule(slug)
  }
  return await runs.list(ctx.db, { workspaceId: workspace.id, scheduleId }, { offset, limit })
}

export interface RunStatus {
  readonly run: RunRow
  /** In the order of execution; empty for a skipped tick. */
  readonly commands: readonly CommandRow[]
}

export async function getRunStatus(ctx: Context, input: { readonly runId: number }): Promise<RunStatus> {
  const workspace = workspaceOf(ctx)
  // The run first: when it has ended, its commands are read after that and are final too.
  const run = await runs.find(ctx.db, workspace.id, input.runId)
  if (run === null) throw noSuchRun(input.runId)
  return { run, commands: await commands.listOfRun(ctx.db, workspace.id, run.id) }
}

export async function getCommand(ctx: Context, input: { readonly commandId: number }): Promise<CommandRow> {
  const workspace = workspaceOf(ctx)
  const command = await commands.find(ctx.db, workspace.id, input.commandId)
  if (command === null) throw notFound(`No command ${input.commandId} in this workspace.`)
  return command
}
