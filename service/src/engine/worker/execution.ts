// What the execution of one run knows and works with.
import type { RunFacts, RunValues } from '../../store/run-facts.ts'
import type { InstallCommand } from './dependencies.ts'
import type { GivenExtras, RunFolders, RunPorts, RunSettings } from './ports.ts'

/** What becomes of the rows. Each throws when the run is not ours any more. */
export interface RunRecorder {
  start(command: { readonly id: number; readonly text: string }): Promise<'started' | 'canceled'>
  end(command: {
    readonly id: number
    readonly state: 'succeeded' | 'failed' | 'stopped'
    readonly returnCode: number
  }): Promise<void>
  setCommit(commit: string): Promise<void>
}

export interface Execution {
  readonly facts: RunFacts
  readonly values: RunValues & { readonly schedule: Readonly<Record<string, string>> }
  readonly folders: RunFolders
  readonly ports: RunPorts
  readonly settings: RunSettings
  readonly recorder: RunRecorder
  readonly now: () => Date
  /** A fault that the log of the service should know of and that does not change the run. */
  readonly warn: (error: unknown, message: string) => void
  /** Aborted with a StopRun. */
  readonly stop: AbortSignal
  /** Aborted when the run is not ours any more. */
  readonly lost: AbortSignal
  /** Aborted when its processes are not to be asked any longer. */
  readonly killNow: AbortSignal
}

/** What earlier commands of the run brought about. */
export interface Progress {
  commit: string
  installed: InstallCommand | null
  /** Variables that name the secret files. */
  files: Readonly<Record<string, string>>
  extras: GivenExtras
}
