// The demo agent: finds the last run that failed, or the one that the message names, and explains it with the last lines
// of its output and the file that it ran. With a squad, the first of it is asked what the repository has to say.
import { block, firstLines, lastLines } from './look-around.ts'
import { asks, call, NO_MODEL, type Plan, type PlanFacts, type PlanResult, type PlanStep } from './plan.ts'

const FAILED = ['errored', 'failed']
const SHOWN_LINES = 15

type Steps<T> = Generator<PlanStep, T, readonly PlanResult[]>

interface RunLine {
  readonly run_id?: number
  readonly schedule?: string
  readonly state?: string
  readonly detail?: string
}

interface CommandLine {
  readonly command_id?: number
  readonly text?: string
  readonly state?: string
  readonly return_code?: number | null
}

interface ScheduleLine {
  readonly last_run?: RunLine | null
}

/** The tools answer with one JSON object a line, among lines of words. */
function linesOf<T>(text: string): T[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    try {
      return [JSON.parse(line) as T]
    } catch {
      return []
    }
  })
}

export const explainerPlan: Plan = function* (facts) {
  const runId = namedRun(facts.message) ?? (yield* lastFailedRun())
  if (typeof runId === 'string') return runId
  const [status, log] = yield asks(
    `I read how run ${runId} went.`,
    call('get_run_status', { run_id: runId }),
    call('get_bolt_run_logs', { run_id: runId, tail: 40 }),
  )
  if (status!.isError) return `I could not look at run ${runId}: ${status!.text}`
  const run = linesOf<RunLine>(status!.text).find((one) => one.run_id !== undefined)
  if (run?.state !== undefined && !FAILED.includes(run.state)) {
    return `Run ${runId} of the schedule \`${run.schedule ?? ''}\` has not failed: it is ${run.state}.`
  }
  const command = linesOf<CommandLine>(status!.text).find((one) => one.state === 'failed')
  const path = pathIn(command?.text ?? '')
  const file = path === null ? null : yield* fileAt(path)
  const output = log!.isError ? '' : lastLines(withoutHeads(log!.text), SHOWN_LINES)
  const heard = yield* squadOn(facts, { path, output })
  return [
    headOf(runId, run, command),
    output === '' ? 'It left no output.' : `The last lines of its output:\n\n${block(output)}`,
    ...(path !== null && file !== null ? [`\`${path}\` begins:\n\n${block(firstLines(file, 12))}`] : []),
    ...(heard === null ? [] : [heard]),
  ].join('\n\n')
}

const namedRun = (message: string): number | null => {
  const named = /\brun\s+#?(\d{1,9})\b/i.exec(message)?.[1]
  return named === undefined ? null : Number(named)
}

/** Its number, or what to say in place of it. */
function* lastFailedRun(): Steps<number | string> {
  const [latest] = yield asks('I look for the last run that failed.', call('get_run_status', { limit: 20 }))
  if (latest!.isError) return `I could not look at the runs: ${latest!.text}`
  const isFailed = (one: RunLine): boolean => FAILED.includes(one.state ?? '')
  const failed = linesOf<RunLine>(latest!.text).find(isFailed)
  if (failed?.run_id !== undefined) return failed.run_id
  // It may lie further back: a schedule that has not run since.
  const [schedules] = yield asks('', call('list_bolt_schedules', {}))
  const others = linesOf<ScheduleLine>(schedules!.text).flatMap((one) => one.last_run ?? [])
  const ids = others.filter(isFailed).flatMap((one) => one.run_id ?? [])
  return ids.length > 0 ? Math.max(...ids) : 'No run of this workspace has failed lately: there is nothing to explain.'
}

/** A file of the repository that the command names. */
const pathIn = (command: string): string | null =>
  command
    .split(/\s+/)
    .find((word) => /^[\w.-]+(?:\/[\w.-]+)*\.[a-z]{1,5}$/i.test(word) && !word.split('/').includes('..')) ?? null

function* fileAt(path: string): Steps<string | null> {
  const [file] = yield asks(`I read ${path}.`, call('read_file', { path }))
  return file!.isError ? null : file!.text
}

/** Without the lines that the tool puts above the output of each command. */
const withoutHeads = (log: string): string =>
  log
    .split('\n')
    .filter((line) => !/^## (?:stdout|stderr)$|^# .* \(command \d+, \w+\)$/.test(line))
    .join('\n')

function* squadOn(
  facts: PlanFacts,
  { path, output }: { readonly path: string | null; readonly output: string },
): Steps<string | null> {
  const agent = squadOf(facts)
  if (agent === null) return null
  const about = path === null ? 'A run of this repository failed.' : `A run of ${path} failed.`
  const message = `${about} What does the repository hold about it? Its last line: ${lastLines(output, 1)}`
  const [heard] = yield asks(`I ask ${agent}.`, call('invoke_agent', { agent, message }))
  const text = heard!.text.replaceAll(NO_MODEL, '').trim()
  return heard!.isError ? `${agent} could not help: ${text}` : `${agent} says:\n\n${text}`
}

/** The names that may be called stand in the tool's own schema. */
function squadOf(facts: PlanFacts): string | null {
  const properties = facts.tool('invoke_agent')?.input.properties as { agent?: { enum?: unknown } } | undefined
  const names = properties?.agent?.enum
  return Array.isArray(names) && typeof names[0] === 'string' ? names[0] : null
}

function headOf(runId: number, run: RunLine | undefined, command: CommandLine | undefined): string {
  const which = `Run ${runId} of the schedule \`${run?.schedule ?? ''}\` failed`
  const why = run?.detail ? ` (${run.detail})` : ''
  if (command?.text === undefined) return `${which}${why}.`
  const code = command.return_code == null ? '' : `, which ended with exit code ${command.return_code}`
  return `${which}${why} at the command \`${command.text}\`${code}.`
}
