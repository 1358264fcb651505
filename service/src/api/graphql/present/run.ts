// Runs and commands in the words of the interface. The service knows nine states of a run; clients know six, and take any
// other word than RUNNING for the end.
import type { Output } from '../../../app/command-logs.ts'
import type { RunAnswer } from '../../../app/run-batches.ts'
import type { RunDetail, RunPage } from '../../../app/run-pages.ts'
import type { CommandRow, RunRow } from '../../../app/run-queries.ts'
import { type RunState, WIRE_STATES as STATES, whyUntaken } from '../../../domain/run.ts'
import type {
  BoltCommandKind,
  BoltCommandState,
  BoltRun,
  BoltRunAnswers,
  BoltRunCommand,
  BoltRunDetail,
  BoltRunPage,
  BoltRunPhase,
  BoltRunStep,
} from '../wire-types.ts'

const PHASES = {
  waiting: 'WAITING',
  starting: 'STARTING',
  running: 'RUNNING',
  ending: 'ENDING',
  succeeded: 'ENDED',
  errored: 'ENDED',
  failed: 'ENDED',
  canceled: 'ENDED',
  skipped: 'ENDED',
} as const satisfies Record<RunState, BoltRunPhase>

const COMMAND_STATES = {
  waiting: 'WAITING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  stopped: 'STOPPED',
  not_run: 'NOT_RUN',
} as const satisfies Record<CommandRow['state'], BoltCommandState>

const KINDS = { infrastructure: 'INFRASTRUCTURE', user: 'USER' } as const satisfies Record<
  CommandRow['kind'],
  BoltCommandKind
>

export const presentState = (state: RunState): string => STATES[state]

/** The states of a run that a wire word stands for; none for a word that there is not. */
export const parseState = (word: string): RunState[] =>
  (Object.keys(STATES) as RunState[]).filter((state) => STATES[state] === word.trim().toUpperCase())

export const STATE_WORDS = [...new Set(Object.values(STATES))]

export const presentRun = (run: RunRow, now: Date): BoltRun => ({
  id: run.id,
  state: STATES[run.state],
  actor: run.actor,
  actorEmail: run.actorEmail,
  parentScheduleRunId: run.parentRunId,
  startDttm: run.acceptedAt,
  endDttm: run.endedAt,
  gitInfo: {
    branch: run.branch,
    commitHash: run.commitHash,
    pullRequestId: run.prNumber === null ? null : String(run.prNumber),
  },
  reason: run.reason,
  scheduleSlug: run.scheduleSlug,
  scheduleName: run.scheduleName,
  phase: PHASES[run.state],
  detail: run.missingLabels === null ? run.detail : `It waits: ${whyUntaken(run.missingLabels)}.`,
  waitedSeconds: waitedSeconds(run, now),
  retryOf: run.retryOf,
  isolation: run.isolation,
})

const milliseconds = (wire: string): number => Date.parse(`${wire.replace(' ', 'T')}Z`)

function waitedSeconds(run: RunRow, now: Date): number {
  const until = run.startedAt ?? run.endedAt
  const waited = (until === null ? now.getTime() : milliseconds(until)) - milliseconds(run.acceptedAt)
  return Math.max(0, Math.round(waited) / 1000)
}

/** Existing clients refuse null for the times of a command. */
const times = (command: CommandRow) => ({ startDttm: command.startedAt ?? '', endDttm: command.endedAt ?? '' })

export const presentCommand = (command: CommandRow, output: Output): BoltRunCommand => ({
  id: command.id,
  command: command.text,
  ...times(command),
  stdout: output.stdout,
  stderr: output.stderr,
  returnCode: command.returnCode,
})

/** In the order of execution, each with the files that it left. */
export const presentSteps = (
  commands: readonly CommandRow[],
  files: readonly { readonly id: number; readonly commandId: number; readonly path: string }[],
): BoltRunStep[] =>
  commands.map((command) => ({
    id: command.id,
    kind: KINDS[command.kind],
    state: COMMAND_STATES[command.state],
    command: command.text,
    originalCommand: command.originalText,
    ...times(command),
    returnCode: command.returnCode,
    stdoutBytes: command.stdoutBytes,
    stderrBytes: command.stderrBytes,
    resources: files.filter((one) => one.commandId === command.id).map(({ id, path }) => ({ id, path })),
  }))

export const presentDetail = ({ run, commands, results, files, retries }: RunDetail, now: Date): BoltRunDetail => ({
  ok: true,
  run: presentRun(run, now),
  commands: presentSteps(commands, files),
  dbtResults: results.map((one) => ({
    commandId: one.commandId,
    uniqueId: one.uniqueId,
    status: one.status,
    message: one.message,
    startDttm: one.startedAt,
    seconds: one.seconds,
    failures: one.failures,
    resourceType: one.resourceType,
    name: one.name,
    path: one.path,
    relation: one.relation,
  })),
  retries: [...retries],
})

export const presentPage = ({ runs, next }: RunPage, now: Date): BoltRunPage => ({
  ok: true,
  runs: runs.map((run) => presentRun(run, now)),
  next,
})

export const presentAnswers = (answers: readonly RunAnswer[]): BoltRunAnswers => ({
  ok: answers.every((one) => one.refused === null),
  results: answers.map(({ id, runId, refused }) => ({
    id,
    ok: refused === null,
    runId,
    code: refused?.code ?? '',
    message: refused?.message ?? '',
  })),
})
