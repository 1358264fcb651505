// Runs one command of a run in a process tree of its own.
//
//   1. `start` spawns a shell with the given text, folder and environment. Nothing of the service's own environment
//      reaches it. It rejects only when no process came to be (then nothing runs): with a StartFault, whose message is
//      for people and whose code is the command's return code, or with the reason of `signal` when that came first.
//   2. Bytes of both streams go to `output`, in order per stream; the executor waits for each returned promise before it
//      reads on, so a slow store slows the command and memory stays bounded. If `output` rejects, nothing more is handed
//      to it, the command is stopped by the ladder, and `ended` says so.
//   3. Aborting `signal` begins the ladder: SIGINT, after `grace.interruptMs` SIGTERM, after `grace.terminateMs` kill of
//      the whole tree, what called setsid among it. Aborting twice changes nothing. Aborting `killNow` kills it at once,
//      however far the ladder has come.
//   4. `ended` resolves once, after the last byte was handed over and no process of the tree is alive. It never rejects.
//
// An executor that is killed takes its commands with it: nothing survives a `kill -9` of the service.

export type Stream = 'stdout' | 'stderr'

export interface CommandSpec {
  /** One text for a shell, handed over whole: nothing of ours is ever put into it. */
  readonly text: string
  /** Where it begins: the root of the checkout. The command may write here. */
  readonly folder: string
  /** All of it: a name that is not here is not set. Names are those that a shell can export. */
  readonly environment: Readonly<Record<string, string>>
  /** Further folders that the command may write, such as its home and its temporary files. */
  readonly writable: readonly string[]
  /** Folders that the command may read and not write, such as caches of dependencies and secret files. */
  readonly readOnly: readonly string[]
  /**
   * Folders and files that the command must not see, such as the data folder and the folders of other runs. What
   * `folder`, `writable` and `readOnly` name inside of them stays where it is and stays visible. Held from L1 on.
   */
  readonly hidden: readonly string[]
  readonly limits: Limits
  readonly grace: Grace
  readonly killNow?: AbortSignal
  output(stream: Stream, bytes: Buffer): Promise<void>
}

/** Null is no limit. */
export interface Limits {
  readonly seconds: number | null
  /** Of the whole tree where a control group holds it, of each process otherwise: see `limitsKind`. */
  readonly memoryBytes: number | null
  /** Processes and threads together, as the kernel counts them. */
  readonly processes: number | null
  /** Of one file. */
  readonly fileBytes: number | null
}

export interface Grace {
  readonly interruptMs: number
  readonly terminateMs: number
}

export type LimitName = 'memory' | 'processes' | 'file size'

export type CommandEnd =
  /** `ranInto`: by itself, and not well, after a limit had refused it something. */
  | { readonly kind: 'exited'; readonly code: number; readonly ranInto?: LimitName }
  /** By somebody else's signal, or by a limit that the machine holds with one: 128 + its number on the wire. */
  | { readonly kind: 'signaled'; readonly signal: string; readonly code: number; readonly limit: LimitName | null }
  /** By `signal`: a cancel, a stop or a time limit of the run; the caller knows which. */
  | { readonly kind: 'aborted'; readonly code: number }
  /** By `limits.seconds`. */
  | { readonly kind: 'timed-out'; readonly code: number }
  /** `output` rejected: what it rejected with. */
  | { readonly kind: 'output-lost'; readonly code: number; readonly cause: unknown }

export interface RunningCommand {
  /** The process that stands for the whole tree on this host. */
  readonly pid: number
  readonly ended: Promise<CommandEnd>
}

/** What holds a limit: a control group (the tree as a whole), rlimits (each process, or the user), the engine, nobody. */
export type LimitKind = 'cgroup' | 'prlimit' | 'engine' | 'none'

export interface Executor {
  readonly kind: 'process' | 'container' | 'scripted'
  /** L0: same view of the host, process group. L1: own PID and mount namespaces. L2: container. */
  readonly isolation: 'L0' | 'L1' | 'L2'
  readonly limitsKind: Readonly<Record<LimitName, LimitKind>>
  start(spec: CommandSpec, signal: AbortSignal): Promise<RunningCommand>
}

/** No process came to be. */
export class StartFault extends Error {
  override readonly name = 'StartFault'
  /** From domain/return-code.ts. */
  readonly code: number

  constructor(message: string, code: number, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}
