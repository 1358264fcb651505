// One run from its first command to its last. Pure orchestration: rows are written through `recorder`, everything else
// goes through ports, so that the order of things can be tested without a machine.
//
// A command is started in three steps that never change places: its row goes from waiting to running (which refuses
// when somebody did that before, when the run is lost, or when a cancel is recorded), its log is opened, the executor is
// called. So no command is ever started twice, whatever is delivered twice.

import { cloneText, installText } from '../../app/runs.ts'
import { withoutState, withState } from '../../domain/dbt-deferral.ts'
import type { RunOutcome } from '../../domain/run.ts'
import type { CommandEnd, CommandSpec } from '../../ports/executor.ts'
import { StartFault } from '../../ports/executor.ts'
import { SourceFault } from '../../ports/source.ts'
import type { CommandRow } from '../../store/commands.ts'
import type { InstallCommand } from './dependencies.ts'
import type { Execution, Progress } from './execution.ts'
import type { CommandLog } from './ports.ts'
import { environmentOf, secretsOf } from './run-environment.ts'
import { graceOf, outcomeOf, StopRun } from './stop-run.ts'

/** 128 + SIGINT: stopped before there was a process. */
const NEVER_BEGAN = 130
const GIT_FAILED = 128

type Ended = { readonly code: number; readonly stopped: boolean }

/** The output of a command could not be stored: the run cannot tell the truth about it. */
class OutputLost extends Error {
  override readonly name = 'OutputLost'
}

export async function executeRun(run: Execution): Promise<RunOutcome> {
  try {
    return await executeCommands(run)
  } catch (error) {
    if (error instanceof StopRun) return outcomeOf(error)
    if (run.stop.aborted && run.stop.reason instanceof StopRun) return outcomeOf(run.stop.reason)
    if (error instanceof OutputLost) return { kind: 'failed', detail: error.message }
    throw error
  }
}

async function executeCommands(run: Execution): Promise<RunOutcome> {
  const { facts } = run
  const [clone, install, ...users] = facts.commands
  if (clone === undefined || install === undefined) return { kind: 'failed', detail: 'it has no commands' }
  const state: Progress = {
    commit: '',
    installed: null,
    files: {},
    extras: { deferredTo: null, schemaPrefix: null },
  }
  if (!(await one(run, clone, cloneText(facts.repositoryUrl), (log) => checkOut(run, state, log)))) {
    return { kind: 'errored' }
  }
  state.files = await run.ports.dependencies.laySecretFiles(run.folders.secretFiles, run.values.files)
  if (!(await one(run, install, installText(facts.installStep), (log) => installStep(run, state, install, log)))) {
    return { kind: 'errored' }
  }
  if (run.ports.extras !== undefined) state.extras = await run.ports.extras(facts, run.folders)
  let failed = false
  for (const command of users) {
    const succeeded = await one(run, command, command.text, (log) => userCommand(run, state, command, log))
    failed ||= !succeeded
    if (!succeeded && !command.continueOnError) break
  }
  return failed ? { kind: 'errored' } : { kind: 'succeeded' }
}

/** True when it succeeded. Throws when the run is to stop, after the command's end was written. */
async function one(
  run: Execution,
  command: CommandRow,
  text: string,
  body: (log: CommandLog) => Promise<Ended>,
): Promise<boolean> {
  run.stop.throwIfAborted()
  if ((await run.recorder.start({ id: command.id, text })) === 'canceled') throw new StopRun({ kind: 'canceled' })
  const log = await run.ports.openLog(command.id, { secrets: secretsOf(run.values), lost: run.lost })
  let ended: Ended
  try {
    ended = await body(log)
    await log.finish()
  } catch (error) {
    await log.finish().catch(() => {})
    if (run.stop.aborted) await run.recorder.end({ id: command.id, state: 'stopped', returnCode: NEVER_BEGAN })
    throw error
  }
  const { code, stopped } = ended
  await run.recorder.end({
    id: command.id,
    state: stopped ? 'stopped' : code === 0 ? 'succeeded' : 'failed',
    returnCode: code,
  })
  run.stop.throwIfAborted()
  return code === 0
}

const say = (log: CommandLog, stream: 'stdout' | 'stderr', text: string): Promise<void> =>
  log.write(stream, Buffer.from(text.endsWith('\n') ? text : `${text}\n`))

async function checkOut(run: Execution, state: Progress, log: CommandLog): Promise<Ended> {
  const { facts, folders, stop } = run
  if (facts.repositoryUrl === '') {
    await say(log, 'stderr', 'fatal: the environment has no repository: set its repositoryUrl first.')
    return { code: GIT_FAILED, stopped: false }
  }
  const repository = {
    workspaceUid: facts.workspaceUid,
    url: facts.repositoryUrl,
    credentials: run.values.credentials,
  }
  try {
    const report = (line: string): Promise<void> => say(log, 'stdout', line)
    const { commit } = await run.ports.source.checkout(
      repository,
      facts.wantedCommit ?? facts.branch,
      folders.checkout,
      report,
      stop,
    )
    state.commit = commit
    await run.recorder.setCommit(commit)
    return { code: 0, stopped: false }
  } catch (error) {
    if (stop.aborted) return { code: NEVER_BEGAN, stopped: true }
    if (!(error instanceof SourceFault)) throw error
    await say(log, 'stderr', error.message)
    return { code: GIT_FAILED, stopped: false }
  }
}

async function installStep(run: Execution, state: Progress, command: CommandRow, log: CommandLog): Promise<Ended> {
  const { facts, folders, ports } = run
  let plan: InstallCommand
  try {
    plan = await ports.dependencies.plan({
      cache: {
        folder: folders.cache,
        run: folders.root,
        isOpenToCommands: ports.executor.isolation === 'L0',
        now: run.now(),
      },
      checkout: folders.checkout,
      commit: state.commit,
      installStep: facts.installStep,
      pythonPackages: facts.pythonPackages,
      python: ports.dependencies.python,
    })
  } catch (error) {
    await say(log, 'stderr', error instanceof Error ? error.message : String(error))
    return { code: 1, stopped: false }
  }
  state.installed = plan
  if (plan.script === null) {
    await say(log, 'stdout', 'Nothing to install: everything is there already.')
    return { code: 0, stopped: false }
  }
  const ended = await execute(run, log, {
    text: plan.script,
    environment: environmentOf(run, state, command),
    writable: [folders.home, folders.temporary, ...plan.writable],
    readOnly: [folders.secretFiles, ...plan.readOnly],
  })
  if (ended.code === 0 && !ended.stopped) await plan.keep()
  else await plan.discard()
  return ended
}

async function userCommand(run: Execution, state: Progress, command: CommandRow, log: CommandLog): Promise<Ended> {
  const { facts, folders, ports } = run
  const text = await deferred(state, await putBack(run, command, log), log)
  const before = await ports.files.snapshot(folders.checkout, facts.excludedFiles)
  const venv = state.installed?.venv ?? null
  const ended = await execute(run, log, {
    text,
    environment: environmentOf(run, state, command),
    writable: [folders.home, folders.temporary],
    readOnly: [folders.secretFiles, folders.resources, ...(venv === null ? [] : [venv])],
  })
  await collect(run, before, command, log)
  return ended
}

/** What is executed: `dbt retry` only where the state that it needs is there. */
async function putBack(run: Execution, command: CommandRow, log: CommandLog): Promise<string> {
  const { facts, folders, ports } = run
  if (command.stateFrom === null) return command.text
  try {
    await ports.files.putBack(command.stateFrom, { facts, checkout: folders.checkout })
    return command.text
  } catch (error) {
    run.warn(error, 'the state of a failed command was not put back')
    await log.note('the results of the failed command could not be put back; the original command runs instead.')
    return command.originalText
  }
}

/** What is executed where the run defers: dbt is told where the state is, or builds everything while there is none. */
async function deferred(state: Progress, text: string, log: CommandLog): Promise<string> {
  const { deferredTo } = state.extras
  if (deferredTo === null) return text
  if (deferredTo.folder !== null) {
    const stated = withState(text)
    if (stated !== text) {
      await log.note(`defers to run ${deferredTo.runId} of ${deferredTo.schedule}, executed as: ${stated}`)
    }
    return stated
  }
  if (!/\bdbt\b/.test(text)) return text
  const full = withoutState(text)
  const found = `there is no state of ${deferredTo.schedule} to defer to yet`
  await log.note(full === text ? `${found}.` : `${found}; everything is built, executed as: ${full}`)
  return full
}

/** Files that could not be kept do not change what the command did: its log says so. */
async function collect(run: Execution, before: unknown, command: CommandRow, log: CommandLog): Promise<void> {
  const { facts, folders } = run
  if (run.stop.reason instanceof StopRun && ['lost', 'fenced'].includes(run.stop.reason.reason.kind)) return
  try {
    const notes = await run.ports.files.collect(before, {
      facts,
      command,
      checkout: folders.checkout,
      excluded: facts.excludedFiles,
      secrets: secretsOf(run.values),
      resources: `${folders.resources}/${command.position}`,
      signal: AbortSignal.any([run.lost, AbortSignal.timeout(COLLECT_MS)]),
    })
    for (const note of notes) await log.note(note)
  } catch (error) {
    run.warn(error, 'the files of a command were not kept')
    await log.note('the files of this command could not be kept.')
  }
}

const COLLECT_MS = 600_000

async function execute(
  run: Execution,
  log: CommandLog,
  what: Pick<CommandSpec, 'text' | 'environment' | 'writable' | 'readOnly'>,
): Promise<Ended> {
  const { settings, folders } = run
  const spec: CommandSpec = {
    ...what,
    folder: folders.checkout,
    hidden: settings.hidden,
    limits: settings.limits,
    grace: graceOf(run.facts.stopSeconds),
    killNow: run.killNow,
    output: (stream, bytes) => log.write(stream, bytes),
  }
  try {
    const running = await run.ports.executor.start(spec, run.stop)
    return await endOf(await running.ended, log)
  } catch (error) {
    if (error instanceof StartFault) {
      await log.note(error.message)
      return { code: error.code, stopped: false }
    }
    if (run.stop.aborted && !(error instanceof OutputLost)) return { code: NEVER_BEGAN, stopped: true }
    throw error
  }
}

async function endOf(end: CommandEnd, log: CommandLog): Promise<Ended> {
  switch (end.kind) {
    case 'exited':
      if (end.ranInto !== undefined) await log.note(`it ran into the limit of ${end.ranInto}.`)
      return { code: end.code, stopped: false }
    case 'signaled':
      if (end.limit !== null) await log.note(`ended by the limit of ${end.limit}.`)
      return { code: end.code, stopped: false }
    case 'aborted':
      return { code: end.code, stopped: true }
    case 'timed-out':
      await log.note('ended by the time limit of a command.')
      return { code: end.code, stopped: true }
    case 'output-lost':
      throw new OutputLost('its output could not be stored', { cause: end.cause })
  }
}
