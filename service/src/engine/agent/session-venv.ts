// The Python packages that a shell command of an agent finds: those that a run of the same environment has installed on
// this host, to read. Nothing is installed for an agent.
import { join } from 'node:path'
import type { App } from '../../app/context.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import { findAgentPlace } from '../../store/agent-place.ts'
import { findKeptVenv } from '../worker/dependencies.ts'
import type { RunPorts } from '../worker/ports.ts'
import type { WorkPlace } from '../worker/work-folder.ts'
import type { AgentCheckout } from './checkout.ts'

export interface SessionVenvDeps {
  readonly app: App
  readonly ports: Pick<RunPorts, 'executor' | 'dependencies'>
  readonly place: Pick<WorkPlace, 'cache'>
}

/** The folder of a virtual environment; null where there is none. */
export async function sessionVenv(
  { app, ports, place }: SessionVenvDeps,
  session: Pick<AgentSession, 'workspaceId' | 'environmentId'>,
  checkout: Pick<AgentCheckout, 'root' | 'folder' | 'baseCommit'>,
): Promise<string | null> {
  const at = await findAgentPlace(app.db, session.workspaceId, session.environmentId)
  if (at === null || ports.dependencies.python === null) return null
  const cache = {
    folder: join(place.cache, at.workspaceUid),
    run: checkout.root,
    isOpenToCommands: ports.executor.isolation === 'L0',
    now: app.clock.now(),
  }
  return await findKeptVenv({
    cache,
    checkout: checkout.folder,
    commit: checkout.baseCommit,
    installStep: at.installStep,
    pythonPackages: at.pythonPackages,
    python: ports.dependencies.python,
  })
}
