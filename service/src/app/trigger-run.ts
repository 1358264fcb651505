// Asking for a run by hand or by API.
import { invalidInput, notFound } from '../domain/errors.ts'
import { planCommands } from '../domain/run-plan.ts'
import { hasControl, quoted, refuseNul } from '../domain/text.ts'
import type { Db } from '../store/database.ts'
import * as runs from '../store/runs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'
import { actorName, createRun } from './runs.ts'

/** `slug` and `scheduleName` mean the same; null is not given. */
export interface ScheduleArgument {
  readonly slug?: string | null
  readonly scheduleName?: string | null
}

export interface TriggerRun extends ScheduleArgument {
  readonly commands?: readonly string[] | null
  readonly commandConfigs?: readonly { readonly command: string; readonly continueOnError?: boolean | null }[] | null
  readonly branch?: string | null
  readonly prNumber?: number | null
  readonly reason?: string | null
  readonly continueOnError?: boolean | null
}

const MAX_COMMANDS = 1000
// A shell takes no single argument of 128 KiB or more.
const MAX_COMMAND_BYTES = 100_000
const MAX_REASON = 4000
const MAX_BRANCH = 255

export async function triggerRun(ctx: Context, input: TriggerRun): Promise<{ runId: number }> {
  const workspace = workspaceOf(ctx)
  const slug = scheduleArgument(input)
  const asked = parse(input)
  const actor = actorName(ctx.actor)
  return await mutate(ctx, async (unit) => {
    const schedule = await lockActiveSchedule(unit.db, workspace.id, slug)
    const continueOnError = asked.continueOnError ?? schedule.continueOnError
    const wanted = asked.commands ?? schedule.commands
    const commands = planCommands(wanted, continueOnError)
    const { id } = await createRun(unit, {
      workspaceId: workspace.id,
      scheduleId: schedule.id,
      environmentId: schedule.environmentId,
      cause: actor.cause,
      dueAt: null,
      actor: actor.name,
      actorEmail: actor.email,
      reason: asked.reason,
      branch: asked.branch ?? schedule.branch,
      prNumber: asked.prNumber,
      parentRunId: null,
      retryOf: null,
      commands,
      continueOnError,
      timeLimitSeconds: schedule.timeLimitSeconds,
    })
    unit.record('run_triggered', {
      run: id,
      schedule: slug,
      ...(asked.reason !== '' && { reason: asked.reason }),
      ...(asked.branch !== null && { branch: asked.branch }),
      ...(asked.prNumber !== null && { pull_request: asked.prNumber }),
      ...(asked.commands !== null && { commands: asked.commands.length }),
    })
    return { runId: id }
  })
}

export function scheduleArgument({ slug, scheduleName }: ScheduleArgument): string {
  const given = slug ?? scheduleName ?? null
  if (given === null || (slug != null && scheduleName != null)) {
    throw invalidInput('Give exactly one of slug and scheduleName.')
  }
  return refuseNul(given, 'slug')
}

export const noSuchSchedule = (slug: string): Error => notFound(`No schedule ${quoted(slug)} in this workspace.`)

/** Locked, and refused when it is deleted. */
export async function lockActiveSchedule(tx: Db, workspaceId: number, slug: string): Promise<runs.RunSchedule> {
  const id = await runs.findScheduleId(tx, workspaceId, slug)
  const schedule = id === null ? null : await runs.lockSchedule(tx, id)
  if (schedule === null || !schedule.active) throw noSuchSchedule(slug)
  return schedule
}

interface Asked {
  readonly commands: readonly { readonly command: string; readonly continueOnError: boolean | null }[] | null
  readonly branch: string | null
  readonly prNumber: number | null
  readonly reason: string
  readonly continueOnError: boolean | null
}

function parse(input: TriggerRun): Asked {
  if (input.commands != null && input.commandConfigs != null) {
    throw invalidInput('Give at most one of commands and commandConfigs.')
  }
  const plain = input.commands?.map((command) => ({ command, continueOnError: null })) ?? null
  const configured =
    input.commandConfigs?.map(({ command, continueOnError }) => ({
      command,
      continueOnError: continueOnError ?? null,
    })) ?? null
  const commands = plain ?? configured
  if (commands !== null) checkCommands(commands, plain === null ? 'commandConfigs' : 'commands')
  return {
    commands,
    branch: parseBranch(input.branch ?? null),
    prNumber: parsePullRequest(input.prNumber ?? null),
    reason: parseReason(input.reason ?? ''),
    continueOnError: input.continueOnError ?? null,
  }
}

function checkCommands(commands: readonly { readonly command: string }[], field: string): void {
  if (commands.length === 0) throw invalidInput(`${field}: at least one command, or leave it out.`)
  if (commands.length > MAX_COMMANDS) throw invalidInput(`${field}: at most ${MAX_COMMANDS} commands.`)
  for (const [at, { command }] of commands.entries()) {
    if (command.trim() === '') throw invalidInput(`${field}[${at}]: must not be empty.`)
    if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
      throw invalidInput(`${field}[${at}]: at most ${MAX_COMMAND_BYTES} bytes; put longer scripts into the repository.`)
    }
    refuseNul(command, `${field}[${at}]`)
  }
}

function parseBranch(branch: string | null): string | null {
  if (branch === null) return null
  const trimmed = branch.trim()
  if (trimmed === '') throw invalidInput('branch: must not be empty. Leave it out for the branch of the schedule.')
  if (trimmed.length > MAX_BRANCH) throw invalidInput(`branch: at most ${MAX_BRANCH} characters.`)
  if (hasControl(trimmed)) throw invalidInput('branch: no line breaks or control characters.')
  return trimmed
}

function parsePullRequest(prNumber: number | null): number | null {
  if (prNumber !== null && prNumber < 1) throw invalidInput('prNumber: a pull request has a number from 1 on.')
  return prNumber
}

function parseReason(reason: string): string {
  if (reason.length > MAX_REASON) throw invalidInput(`reason: at most ${MAX_REASON} characters.`)
  return refuseNul(reason, 'reason')
}
