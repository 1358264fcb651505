// Where an agent's shell commands run. Nothing secret is in it: no environment of the service, no credentials, no data
// folder, no git folder that can be written. The network is closed, or open to named hosts through a proxy.
//
// `run` resolves when the command has ended, whatever became of it, and no process of its tree is alive. Output beyond
// the limit is dropped and said. Aborting `signal` kills the tree. It rejects with a StartFault (ports/executor.ts) when no
// process came to be.

export interface SandboxCommand {
  /** A shell text. */
  readonly text: string
  /** The one folder that can be written, the checkout; its git folder is elsewhere. */
  readonly folder: string
  /** Can be read, not written. */
  readonly readOnly: readonly string[]
  /** All of it. */
  readonly environment: Readonly<Record<string, string>>
  readonly seconds: number
  readonly outputBytes: number
  /** Hosts that the proxy lets through; empty: no network at all. */
  readonly egressHosts: readonly string[]
}

export interface SandboxResult {
  /** Null: killed by the time limit or by `signal`. */
  readonly code: number | null
  readonly timedOut: boolean
  /** Both streams, in the order in which they came. */
  readonly output: string
  readonly dropped: number
  /** Hosts that were asked for and refused. */
  readonly blocked: readonly string[]
}

export interface AgentSandbox {
  readonly kind: 'bubblewrap' | 'namespaces' | 'container'
  /** Why no host can be reached from it, also where some are allowed; null: they can. */
  readonly noEgress: string | null
  run(command: SandboxCommand, signal: AbortSignal): Promise<SandboxResult>
}
