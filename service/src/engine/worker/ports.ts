// What executing a run needs from the other parts of the service, as narrow as it uses it. The composition passes them.
import type { Executor, Limits, Stream } from '../../ports/executor.ts'
import type { Source } from '../../ports/source.ts'
import type { CommandRow } from '../../store/commands.ts'
import type { RunFacts } from '../../store/run-facts.ts'
import type { DependencyRequest, InstallCommand } from './dependencies.ts'
import type { SecretFile } from './secret-files.ts'

/** The output of one command on its way into the store: redacted, with back-pressure. */
export interface CommandLog {
  write(stream: Stream, bytes: Buffer): Promise<void>
  /** A line of the service's own on stderr, which no cap cuts off. */
  note(text: string): Promise<void>
  /** After it everything is readable. */
  finish(): Promise<void>
}

export type OpenLog = (
  commandId: number,
  options: {
    readonly secrets: readonly string[]
    /** Aborted when the run is not ours any more: nothing is written then, and nobody waits. */
    readonly lost: AbortSignal
  },
) => Promise<CommandLog>

/** Where a run works; everything in it is gone with the run. */
export interface RunFolders {
  readonly root: string
  readonly checkout: string
  readonly home: string
  readonly temporary: string
  /** One folder per earlier command, by its position, with the files that it left. */
  readonly resources: string
  readonly secretFiles: string
  /** What outlives the run: a cache per workspace. */
  readonly cache: string
}

/** The files that commands leave. */
export interface RunFiles {
  /** What the checkout holds before a command. `excluded` as in a CollectRequest: folders that nobody needs to look into. */
  snapshot(checkout: string, excluded: readonly string[] | null): Promise<unknown>
  /** Keeps what the command created or changed, also in its folder of `resources`; gives what to say in its stderr. */
  collect(before: unknown, of: CollectRequest): Promise<readonly string[]>
  /** Before a `dbt retry`: puts back the target folder that the named command of the old run left. */
  putBack(stateFrom: number, of: { readonly facts: RunFacts; readonly checkout: string }): Promise<void>
}

export interface CollectRequest {
  readonly facts: RunFacts
  readonly command: CommandRow
  readonly checkout: string
  /** Null is the default list. */
  readonly excluded: readonly string[] | null
  /** Masked in what is read out of dbt's results. */
  readonly secrets: readonly string[]
  /** Where later commands find them; made by whoever writes there. */
  readonly resources: string
  readonly signal: AbortSignal
}

export interface Dependencies {
  plan(request: DependencyRequest): Promise<InstallCommand>
  /** Python's version and the platform; null where there is none. */
  readonly python: string | null
  laySecretFiles(folder: string, files: readonly SecretFile[]): Promise<Record<string, string>>
}

/** Whose results the run defers to, and where they were laid; no folder: there are none yet. */
export type DeferredTo =
  | { readonly schedule: string; readonly runId: number; readonly folder: string }
  | { readonly schedule: string; readonly runId: null; readonly folder: null }

/** Further things that a run is given: deferral and schema prefixes of pull requests. */
export interface GivenExtras {
  readonly deferredTo: DeferredTo | null
  readonly schemaPrefix: string | null
}

export type RunExtras = (facts: RunFacts, folders: RunFolders) => Promise<GivenExtras>

export interface RunPorts {
  readonly source: Source
  readonly executor: Executor
  readonly dependencies: Dependencies
  readonly openLog: OpenLog
  readonly files: RunFiles
  readonly extras?: RunExtras
}

export interface RunSettings {
  /** The worker's own variables, and the names of those that commands may see. */
  readonly workerEnvironment: Readonly<Record<string, string | undefined>>
  readonly allowList: readonly string[]
  /** What no command may see, such as the data folder. */
  readonly hidden: readonly string[]
  readonly limits: Limits
  /** For a run whose schedule has no limit of its own. */
  readonly timeLimitSeconds: number
}
