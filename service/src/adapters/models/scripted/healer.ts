// The plan of the healer: reads the run that failed, finds the cause in what dbt said, mends it where a rule is certain
// (dbt-mends.ts), checks the mend with dbt where a shell has it, and proposes it. Where one fault has no rule, or the check
// does not pass, nothing is pushed and the last words say what a person should look at.

import { checkCommand, readCheck } from './dbt-check.ts'
import { editOf } from './dbt-edit.ts'
import type { DbtFault } from './dbt-faults.ts'
import { readFaults } from './dbt-faults.ts'
import type { Mend } from './dbt-mends.ts'
import { mendOf } from './dbt-mends.ts'
import type { Steps } from './healer-reading.ts'
import { findFailedRun, findProject, linesOf, readProject } from './healer-reading.ts'
import { block, lastLines } from './look-around.ts'
import type { Plan, PlanFacts } from './plan.ts'
import { asks, call } from './plan.ts'

/** A compile error hides what comes after it: so often the check may bring another one to light. */
const MOST_ROUNDS = 4
const MOST_FAULTS = 10
const CHECK_SECONDS = 600
const SHOWN_LINES = 15

const UNCHECKED = 'It was not checked: there is no shell here in which dbt runs. Build it before you merge it.'

interface Failure {
  readonly runId: number
  readonly schedule: string
  readonly command: string
  readonly output: string
}

export const healerPlan: Plan = function* (facts) {
  const runId = yield* findFailedRun(facts.message)
  if (typeof runId === 'string') return runId
  const failure = yield* readFailure(runId)
  if (typeof failure === 'string') return failure
  const faults = readFaults(failure.output)
  if (faults.length === 0) return left(failure, 'No rule of mine knows this failure.')
  if (faults.length > MOST_FAULTS)
    return left(failure, `${faults.length} faults at once have a cause that no rule finds.`)
  const project = yield* findProject(failure.command)
  if (project === null) return left(failure, 'I found no dbt project in the repository.')
  const outcome = yield* mendAll(facts, { faults, folder: project.folder, profile: project.profile, failure })
  return outcome.kind === 'left' ? left(failure, outcome.why) : yield* propose(facts, failure, outcome)
}

function* readFailure(runId: number): Steps<Failure | string> {
  const [status, log] = yield asks(
    `I read how run ${runId} went.`,
    call('get_run_status', { run_id: runId }),
    call('get_bolt_run_logs', { run_id: runId }),
  )
  if (status!.isError) return `I could not look at run ${runId}: ${status!.text}`
  const lines = linesOf(status!.text)
  const run = lines.find((one) => one.run_id !== undefined)
  if (run?.state !== 'errored' && run?.state !== 'failed')
    return `Run ${runId} has not failed: there is nothing to mend.`
  if (log!.isError) return `I could not read the output of run ${runId}: ${log!.text}`
  const failed = lines.find((one) => one.command_id !== undefined && one.state === 'failed')
  return { runId, schedule: String(run.schedule ?? ''), command: String(failed?.text ?? ''), output: log!.text }
}

type Outcome =
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'mended'; readonly mends: readonly Mend[]; readonly check: string }

interface Task {
  readonly faults: readonly DbtFault[]
  readonly folder: string
  readonly profile: string
  readonly failure: Failure
}

function* mendAll(facts: PlanFacts, { faults, folder, profile, failure }: Task): Steps<Outcome> {
  const done: Mend[] = []
  let open = faults
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const mends = yield* mendsFor(open, folder)
    if ('why' in mends) return { kind: 'left', why: mends.why }
    const applied = yield* apply(mends.mends, folder)
    if (applied !== null) return { kind: 'left', why: applied }
    done.push(...mends.mends)
    const command = checkCommand({ folder, profile, output: failure.output })
    if (!facts.has('run_terminal_command') || command === null) return { kind: 'mended', mends: done, check: UNCHECKED }
    const [said] = yield asks(
      'I check the change with dbt.',
      call('run_terminal_command', { command, timeout_seconds: CHECK_SECONDS }),
    )
    const check = readCheck(said!.text)
    if (check === 'passed')
      return {
        kind: 'mended',
        mends: done,
        check: 'It was checked: `dbt build` passes on it, against DuckDB in memory.',
      }
    if (check === 'unavailable') return { kind: 'mended', mends: done, check: UNCHECKED }
    open = readFaults(said!.text)
    if (open.length === 0)
      return {
        kind: 'left',
        why: `With a change that I tried, dbt says:\n\n${block(lastLines(said!.text, SHOWN_LINES))}`,
      }
  }
  return { kind: 'left', why: 'Each change that I tried brought another fault to light.' }
}

/** One for each fault; or why there is not. Two faults may have one cause: what the first mended is not mended again. */
function* mendsFor(
  faults: readonly DbtFault[],
  folder: string,
): Steps<{ readonly mends: readonly Mend[] } | { readonly why: string }> {
  const mends: Mend[] = []
  for (const fault of faults) {
    const project = yield* readProject(folder, fault, new Map(mends.map((one) => [one.file, one.after])))
    const mend = mendOf(fault, project)
    if (mend !== null) mends.push(mend)
    else if (!mends.some((one) => one.file === fault.file && hasSameCause(fault, one)))
      return { why: `\`${fault.file}\`, \`${fault.node}\`: ${fault.said}. No rule of mine mends that for certain.` }
  }
  return { mends }
}

const hasSameCause = (fault: DbtFault, mend: Mend): boolean => 'name' in fault && mend.why.includes(`\`${fault.name}\``)

/** Null when all are applied. */
function* apply(mends: readonly Mend[], folder: string): Steps<string | null> {
  for (const mend of mends) {
    const edit = editOf(mend)
    const [said] = yield asks(
      `The cause: ${mend.why}. I change \`${folder}${mend.file}\`.`,
      call('edit_file', { path: `${folder}${mend.file}`, old_text: edit.from, new_text: edit.to }),
    )
    if (said!.isError) return `I could not change \`${folder}${mend.file}\`: ${said!.text}`
  }
  return null
}

function* propose(
  facts: PlanFacts,
  failure: Failure,
  { mends, check }: Extract<Outcome, { kind: 'mended' }>,
): Steps<string> {
  const causes = mends.map((one) => `- \`${one.file}\`: ${one.why}`).join('\n')
  const title = mends.length === 1 ? `Mend ${mends[0]!.file}: ${mends[0]!.why}` : `Mend ${mends.length} faults`
  const plain = title.replaceAll('`', '')
  const [committed] = yield asks('I commit it.', call('git_commit', { message: plain }))
  if (committed!.isError) return left(failure, `I mended it, but could not commit:\n\n${committed!.text}`)
  const [pushed] = yield asks('I push the branch.', call('git_push'))
  if (pushed!.isError) return left(failure, `I mended it, but could not push:\n\n${pushed!.text}`)
  const body = `Run ${failure.runId} of the schedule \`${failure.schedule}\` failed at \`${failure.command}\`.\n\n${causes}\n\n${check}`
  const words = [`Run ${failure.runId} failed at \`${failure.command}\`, and I mended the cause:\n\n${causes}`, check]
  if (!facts.has('open_pull_request')) return [...words, pushed!.text].join('\n\n')
  const input = { title: plain.slice(0, 200), body }
  const [opened] = yield asks('I open a pull request.', call('open_pull_request', input))
  return [...words, pushed!.text, opened!.text].join('\n\n')
}

/** Nothing is pushed. */
const left = ({ runId, schedule, command, output }: Failure, why: string): string =>
  [
    `Run ${runId} of the schedule \`${schedule}\` failed at \`${command}\`. I cannot mend it, and I pushed nothing.`,
    why,
    `The last lines of its output:\n\n${block(lastLines(output, SHOWN_LINES))}`,
  ].join('\n\n')
