// The variables of what a query of an agent executes: those of a run of the same environment, without a schedule.
import { join } from 'node:path'
import type { AgentSession } from '../../domain/agent-session.ts'
import { commandEnvironment } from '../../domain/command-environment.ts'
import type { RunValues } from '../../store/run-facts.ts'
import type { RunFolders, RunSettings } from '../worker/ports.ts'

export interface QueryCommand {
  readonly kind: 'infrastructure' | 'user'
  readonly venv: string | null
  readonly further: Readonly<Record<string, string>>
}

export interface QueryEnvironment extends QueryCommand {
  readonly settings: RunSettings
  readonly session: AgentSession
  readonly workspaceUid: string
  readonly values: RunValues
  readonly folders: RunFolders
  /** Variables that name the secret files. */
  readonly files: Readonly<Record<string, string>>
}

export function queryEnvironment(of: QueryEnvironment): Record<string, string> {
  const { kind, venv, further, settings, session, values, folders } = of
  return commandEnvironment({
    worker: settings.workerEnvironment,
    allowList: settings.allowList,
    workspace: values.workspace,
    environment: values.environment,
    schedule: {},
    service: {
      commandKind: kind,
      runId: 0,
      commandId: 0,
      attempt: 0,
      scheduleSlug: '',
      scheduleName: '',
      workspaceUid: of.workspaceUid,
      branch: session.baseBranch,
      commit: session.baseCommit,
      prNumber: null,
      actor: `agent ${session.agent}`,
      reason: '',
      resourcesDirectory: folders.resources,
      deferStateDir: null,
      schemaPrefix: null,
      pathPrefix: venv === null ? [] : [join(venv, 'bin')],
      further: {
        HOME: folders.home,
        TMPDIR: folders.temporary,
        ...(venv !== null && { VIRTUAL_ENV: venv }),
        ...of.files,
        ...further,
      },
    },
  })
}
