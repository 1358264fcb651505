// Which commands a retry runs, and when `dbt retry` takes the place of a failed dbt command.

import { parseDbt } from './dbt-command.ts'
import { conflict } from './errors.ts'
import type { CommandState, RunState } from './run.ts'
import { isFinal } from './run.ts'

export interface PastCommand {
  readonly id: number
  readonly kind: 'infrastructure' | 'user'
  readonly text: string
  /** What the user wrote, before an earlier retry replaced it. */
  readonly originalText: string
  readonly continueOnError: boolean
  readonly state: CommandState
  /** Whether the command left a run_results.json that can be put back. */
  readonly leftResults: boolean
}

export interface PastRun {
  readonly state: RunState
  readonly commands: readonly PastCommand[]
}

export interface RetryCommand {
  readonly text: string
  readonly originalText: string
  readonly continueOnError: boolean
  /** The command whose target state is put back before this one starts. */
  readonly stateFrom: number | null
}

/**
 * A command that was stopped by a cancel, a lost worker or a time limit counts as failed, and in such a run the commands
 * that had not started do too. Commands that were not reached because an earlier one failed do not.
 */
function failedOf(run: PastRun): (command: PastCommand) => boolean {
  const broken = run.state === 'failed' || run.state === 'canceled'
  return ({ state }) =>
    state === 'failed' || state === 'stopped' || (broken && (state === 'not_run' || state === 'waiting'))
}

const userCommands = (run: PastRun): PastCommand[] => run.commands.filter((one) => one.kind === 'user')

function requireEnded(run: PastRun): void {
  if (!isFinal(run.state)) throw conflict('Cannot retry a run that is still in progress')
}

function requireCommands(run: PastRun): void {
  if (userCommands(run).length === 0) throw conflict('Schedule run has no commands to retry')
}

/** `retryBoltRun`: the commands that failed, in order. */
export function planRetryFailed(run: PastRun): RetryCommand[] {
  requireEnded(run)
  requireCommands(run)
  const failed = failedOf(run)
  const again = userCommands(run).filter(failed)
  if (again.length > 0) return withDbtRetry(again)
  if (run.commands.some(failed)) {
    throw conflict('Only infrastructure commands failed: trigger the schedule again instead.')
  }
  throw conflict('All commands were successful, nothing to retry')
}

/** `retryBoltRunFromFailure`: the first failed command and everything after it; after a failed infrastructure command all. */
export function planRetryFromFailure(run: PastRun | null): RetryCommand[] {
  if (run === null) throw conflict('The schedule has no runs yet: trigger it first.')
  requireEnded(run)
  requireCommands(run)
  const failed = failedOf(run)
  const users = userCommands(run)
  if (run.commands.some((one) => one.kind === 'infrastructure' && failed(one))) return withDbtRetry(users)
  const first = users.findIndex(failed)
  if (first === -1) throw conflict('All commands were successful, nothing to retry')
  return withDbtRetry(users.slice(first))
}

/** `retryAllBoltRun`: all original user commands, verbatim. */
export function planRetryAll(run: PastRun): RetryCommand[] {
  requireEnded(run)
  requireCommands(run)
  return userCommands(run).map((one) => verbatim(one))
}

const verbatim = (one: PastCommand): RetryCommand => ({
  text: one.originalText,
  originalText: one.originalText,
  continueOnError: one.continueOnError,
  stateFrom: null,
})

/** The first failed dbt command becomes `dbt retry` where dbt can do it; all others run as they were written. */
function withDbtRetry(commands: readonly PastCommand[]): RetryCommand[] {
  let first = true
  return commands.map((one) => {
    const dbt = parseDbt(one.originalText)
    if (!first || dbt === null || one.state === 'succeeded') return verbatim(one)
    first = false
    if (!one.leftResults || !RETRYABLE.includes(dbt.command)) return verbatim(one)
    const text = ['dbt', 'retry', ...dbt.kept].join(' ')
    return { text, originalText: one.originalText, continueOnError: one.continueOnError, stateFrom: one.id }
  })
}

// What `dbt retry` itself supports.
const RETRYABLE: readonly string[] = [
  'build',
  'compile',
  'clone',
  'docs',
  'seed',
  'snapshot',
  'test',
  'run',
  'run-operation',
]
