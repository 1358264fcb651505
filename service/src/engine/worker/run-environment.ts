// The variables of a command, from everything that the run knows.
import { join } from 'node:path'
import { commandEnvironment } from '../../domain/command-environment.ts'
import type { CommandRow } from '../../store/commands.ts'
import type { Execution, Progress } from './execution.ts'

export function environmentOf(run: Execution, state: Progress, command: CommandRow): Record<string, string> {
  const { facts, folders, values, settings } = run
  const venv = command.kind === 'user' ? (state.installed?.venv ?? null) : null
  return commandEnvironment({
    worker: settings.workerEnvironment,
    allowList: settings.allowList,
    workspace: values.workspace,
    environment: values.environment,
    schedule: values.schedule,
    service: {
      commandKind: command.kind,
      runId: facts.runId,
      commandId: command.id,
      attempt: facts.attempt,
      scheduleSlug: facts.scheduleSlug,
      scheduleName: facts.scheduleName,
      workspaceUid: facts.workspaceUid,
      branch: facts.branch,
      commit: state.commit,
      prNumber: facts.prNumber,
      actor: facts.actor,
      reason: facts.reason,
      resourcesDirectory: folders.resources,
      deferStateDir: state.extras.deferredTo?.folder ?? null,
      schemaPrefix: state.extras.schemaPrefix,
      pathPrefix: venv === null ? [] : [join(venv, 'bin')],
      further: {
        HOME: folders.home,
        TMPDIR: folders.temporary,
        ...(venv !== null && { VIRTUAL_ENV: venv }),
        ...state.files,
      },
    },
  })
}

/** Shorter values would mask half of ordinary output; secrets are refused below this length when they are set. */
const SHORTEST_SECRET = 6

export const secretsOf = (values: Execution['values']): string[] =>
  [...values.secrets, ...Object.values(values.schedule)].filter((value) => value.length >= SHORTEST_SECRET)
