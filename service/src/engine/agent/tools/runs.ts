// Runs of the workspace: how they went, their output, and new ones. What a run executes is never the model's choice: a
// triggered run takes the commands and the branch of its schedule, because a run has the environment's secrets and a
// branch of the model's own would read them.
import { readOutputTail, searchLog } from '../../../app/command-logs.ts'
import { retryAllRun, retryRun } from '../../../app/retry.ts'
import { getRunStatus, listRuns, type RunRow } from '../../../app/run-queries.ts'
import { triggerRun } from '../../../app/trigger-run.ts'
import { numberOf, once, serviceTool, textOf } from './rights.ts'
import type { Tool } from './tool.ts'
import { refused, said } from './tool.ts'

const MOST_RUNS = 20
const SOME_LINES = 200
const MOST_LINES = 2000
const MOST_BYTES = 256 * 1024
const MOST_MATCHES = 200
const runId = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 }
const schedule = { type: 'string', minLength: 1, maxLength: 200, description: 'The slug of a schedule.' }

const lineOf = (run: RunRow): string =>
  JSON.stringify({
    run_id: run.id,
    schedule: run.scheduleSlug,
    state: run.state,
    detail: run.detail,
    branch: run.branch,
    commit: run.commitHash,
    started: run.startedAt,
    ended: run.endedAt,
    reason: run.reason,
  })

const runStatus = serviceTool('get_run_status', {
  description: 'Shows one run with its commands, or the latest runs of a schedule. Give run_id or schedule.',
  input: {
    type: 'object',
    properties: { run_id: runId, schedule, limit: { type: 'integer', minimum: 1, maximum: MOST_RUNS } },
    required: [],
    additionalProperties: false,
  },
  run: async (of, input) => {
    const id = numberOf(input, 'run_id')
    if (id === null) {
      const slug = textOf(input, 'schedule')
      const limit = numberOf(input, 'limit') ?? 5
      const found = await listRuns(of.caller, { ...(slug !== null && { slug }), offset: 0, limit })
      return said(found.length === 0 ? 'There are no runs.' : found.map(lineOf).join('\n'))
    }
    const { run, commands } = await getRunStatus(of.caller, { runId: id })
    const each = commands.map((one) =>
      JSON.stringify({ command_id: one.id, text: one.text, state: one.state, return_code: one.returnCode }),
    )
    return said([lineOf(run), ...each].join('\n'))
  },
})

const runLogs = serviceTool('get_bolt_run_logs', {
  description:
    'Output of the commands of a run: the last lines of each, or the lines that hold a text. Without command_id: of the command that failed, else of all.',
  input: {
    type: 'object',
    properties: {
      run_id: runId,
      command_id: runId,
      tail: { type: 'integer', minimum: 1, maximum: MOST_LINES, description: `Lines, ${SOME_LINES} unless said.` },
      search: { type: 'string', minLength: 1, maxLength: 500 },
    },
    required: ['run_id'],
    additionalProperties: false,
  },
  run: async (of, input) => {
    const { run, commands } = await getRunStatus(of.caller, { runId: numberOf(input, 'run_id')! })
    const wanted = numberOf(input, 'command_id')
    const failed = commands.filter((one) => one.state === 'failed')
    const chosen =
      wanted === null ? (failed.length > 0 ? failed : commands) : commands.filter((one) => one.id === wanted)
    if (chosen.length === 0)
      return refused(wanted === null ? 'The run has no commands.' : 'The run has no such command.')
    const search = textOf(input, 'search')
    const parts: string[] = []
    for (const command of chosen) {
      const ref = { workspaceId: run.workspaceId, id: command.id }
      const head = `# ${command.text} (command ${command.id}, ${command.state})`
      if (search === null) {
        const lines = numberOf(input, 'tail') ?? SOME_LINES
        const streams = await Promise.all(
          (['stdout', 'stderr'] as const).map(async (stream) => {
            const text = lastLines(await readOutputTail(of.caller.db, ref, stream, MOST_BYTES), lines)
            return text === '' ? '' : `## ${stream}\n${text}`
          }),
        )
        parts.push([head, ...streams.filter((one) => one !== '')].join('\n'))
      } else {
        const { matches, complete } = await searchLog(of.caller.db, ref, search, MOST_MATCHES)
        const found = matches.map((one) => `${one.stream}: ${one.line}`)
        parts.push([head, ...found, ...(complete ? [] : ['(there may be more)'])].join('\n'))
      }
    }
    return said(parts.join('\n\n'))
  },
})

function lastLines(text: string, count: number): string {
  const lines = text.trimEnd().split('\n')
  return lines.length <= count
    ? lines.join('\n')
    : [`(${lines.length - count} lines before)`, ...lines.slice(-count)].join('\n')
}

const trigger = serviceTool('trigger_bolt_run', {
  description: 'Starts a run of a schedule, with its own commands and on its own branch.',
  input: {
    type: 'object',
    properties: { schedule, reason: { type: 'string', maxLength: 500 } },
    required: ['schedule'],
    additionalProperties: false,
  },
  run: async (of, input) => {
    const why = textOf(input, 'reason')
    const reason = `agent ${of.session.agent}, session ${of.session.id}${why === null ? '' : `: ${why}`}`
    const { runId: id } = await triggerRun(once(of, input), { slug: textOf(input, 'schedule') ?? '', reason })
    return said(`Run ${id} was started. It goes on by itself: ask get_run_status for it.`)
  },
})

const retry = serviceTool('retry_bolt_run', {
  description: 'Starts a run again: the commands that failed, or all of them.',
  input: {
    type: 'object',
    properties: { run_id: runId, what: { type: 'string', enum: ['failed', 'all'] } },
    required: ['run_id'],
    additionalProperties: false,
  },
  run: async (of, input) => {
    const old = numberOf(input, 'run_id')!
    const { run } = await getRunStatus(of.caller, { runId: old })
    // Its branch may hold what an agent wrote since.
    if (run.branch.startsWith('agent/')) return refused('A run on a branch of an agent is retried by a person alone.')
    const again = input.what === 'all' ? retryAllRun : retryRun
    const { runId: id } = await again(once(of, input), { runId: old })
    return said(`Run ${id} was started as a retry of ${old}. It goes on by itself: ask get_run_status for it.`)
  },
})

export const runTools = (): Tool[] => [runStatus, runLogs, trigger, retry]
