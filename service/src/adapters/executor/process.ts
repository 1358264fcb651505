// Commands as processes of this host: at L1 each in namespaces of its own, at L0 in a session of its own that is swept
// by a mark. How a command comes to be is told in stages.ts, what it sees in view.ts.
//
// Start commands from the main thread: the death signal comes when the thread that started them ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Readable } from 'node:stream'
import { NOT_FOUND, NOT_ISOLATED } from '../../domain/return-code.ts'
import {
  type CommandSpec,
  type Executor,
  type LimitKind,
  type RunningCommand,
  StartFault,
} from '../../ports/executor.ts'
import { type CommandGroup, type ControlGroups, openControlGroups } from './cgroup.ts'
import { type Guard, startGuard } from './guard.ts'
import { type Host, lookAtHost, missingForNamespaces, SYSTEM_PATH } from './host.ts'
import { handOver, spawned } from './launch.ts'
import { type Places, placesOf, viewOf } from './paths.ts'
import { openPipes, openText } from './pipes.ts'
import { makeProbeFolder, removeProbeFolder } from './probe-folder.ts'
import { threadsOf } from './process-tree.ts'
import { exportLines } from './shell-words.ts'
import {
  argvOf,
  launchScript,
  type Preparation,
  type Root,
  rlimits,
  type Sealed,
  type Stage,
  type User,
} from './stages.ts'
import { supervise } from './supervise.ts'
import { groupTree, namespaceTree, type Tree } from './tree.ts'

export interface ProcessExecutorOptions {
  /** What the host allows when it is not given. L1 where the host refuses it rejects. */
  readonly isolation?: 'L0' | 'L1'
  /**
   * Whom commands run as when the service is root; without it as root, without rights but as the owner of root's files.
   * The folders that a command may write are handed over to that user.
   */
  readonly user?: User | null
  /** Hidden from every command, beside what the command itself names. */
  readonly hidden?: readonly string[]
  /** A control group (version 2) that is delegated to us and has no processes in it. */
  readonly cgroupFolder?: string | null
  /** False: rlimits only. */
  readonly cgroups?: boolean
  /** Commands get a root of their own and no network; nothing is hidden from them, because only what is named is there. */
  readonly sealed?: Sealed
}

export interface ProcessExecutor extends Executor {
  readonly kind: 'process'
  /** Why it is not L1, for `doctor` and the log; empty when it is. */
  readonly isolationNote: string
  /** Call it when no command is running. */
  close(): void
}

/** Longer texts, and longer variables, are refused by the kernel as one argument. */
const LONGEST_ARGUMENT = 100_000
/** How many commands at their limit a shared limit leaves room for. */
const SIDE_BY_SIDE = 4
const MARK = 'YARDMASTER_COMMAND_MARK'

export async function createProcessExecutor(options: ProcessExecutorOptions = {}): Promise<ProcessExecutor> {
  const host = lookAtHost()
  if (host === null) throw new StartFault('This host has no shell in any of the usual folders.', NOT_FOUND)
  const user = host.uid === 0 ? (options.user ?? null) : null
  const nested = user !== null && (await mayNest(host, user))
  const { sealed } = options
  const wanted: Stage = {
    host,
    isolation: options.isolation ?? 'L1',
    user,
    nested,
    mapped: host.uid !== 0,
    ...(sealed !== undefined && { sealed }),
  }
  const { stage, note } = await bestOf(wanted, options.isolation === undefined && sealed === undefined)
  const groups = options.cgroups === false ? null : openControlGroups(options.cgroupFolder ?? null)
  return processExecutor(stage, { groups, hidden: options.hidden ?? [], note })
}

/** What the host allows of what is wanted, tried out. */
async function bestOf(wanted: Stage, mayFallBack: boolean): Promise<{ stage: Stage; note: string }> {
  if (wanted.isolation === 'L0') return { stage: wanted, note: 'set to L0' }
  const note = await whyNotIsolated(wanted)
  if (note === null) return { stage: wanted, note: '' }
  // In a container root may lack the right to mount, and still may make a user namespace in which it has it.
  const mapped: Stage = { ...wanted, mapped: true }
  if (wanted.user === null && !wanted.mapped && (await whyNotIsolated(mapped)) === null)
    return { stage: mapped, note: '' }
  if (!mayFallBack) throw new StartFault(`This host does not allow commands in namespaces (L1): ${note}`, NOT_ISOLATED)
  return { stage: { ...wanted, isolation: 'L0' }, note }
}

/** The level that this host allows, found by starting a command in a view with something hidden and something fixed. */
export async function probeIsolation(): Promise<'L1' | 'L0'> {
  const host = lookAtHost()
  if (host === null) return 'L0'
  const wanted: Stage = { host, isolation: 'L1', user: null, nested: false, mapped: host.uid !== 0 }
  return (await bestOf(wanted, true)).stage.isolation
}

function processExecutor(
  stage: Stage,
  { groups, hidden, note }: { groups: ControlGroups | null; hidden: readonly string[]; note: string },
): ProcessExecutor {
  const { host, isolation, user } = stage
  const family = randomBytes(12).toString('hex')
  let guard: Guard | null = null
  let count = 0
  const rlimit: LimitKind = host.tools.prlimit === null ? 'none' : 'prlimit'
  // The kernel counts no processes of its root user, in whatever namespace.
  const isRoot = host.uid === 0 && user === null
  return {
    kind: 'process',
    isolation,
    isolationNote: note,
    limitsKind: {
      memory: groups?.memory ? 'cgroup' : rlimit,
      processes: groups?.processes ? 'cgroup' : isRoot ? 'none' : rlimit,
      'file size': rlimit,
    },
    async start(spec, signal) {
      signal.throwIfAborted()
      const places = placesOf(spec)
      if (isolation === 'L0') guard ??= startGuard(host.sh, `${MARK}=${family}.`)
      const mark: Record<string, string> = isolation === 'L0' ? { [MARK]: `${family}.${++count}` } : {}
      const exports = exportLines({ ...spec.environment, ...mark })
      const { view, wrap } = rootOf(stage, places, [...hidden, ...spec.hidden])
      const group = groups === null ? null : made(groups, spec)
      try {
        const limits = limitsFor(stage, spec, groups)
        const begun = await begin(stage, { spec, signal, group, places, view, wrap, limits, mark, exports })
        return running(begun, { spec, signal, group })
      } catch (error) {
        group?.remove()
        if (error instanceof StartFault || signal.aborted) throw error
        const { message } = error as Error
        throw new StartFault(`The command could not be started: ${message}`, NOT_ISOLATED, { cause: error })
      }
    },
    close() {
      guard?.end()
      guard = null
      groups?.close()
    },
  }
}

function rootOf(stage: Stage, places: Places, hidden: readonly string[]): Root {
  const { host, isolation, user, sealed } = stage
  if (isolation === 'L0') return { view: [], wrap: [] }
  if (sealed !== undefined) return sealed.root(places.kept)
  return { view: viewOf(places, hidden, { user, stages: host.stages }), wrap: [] }
}

function made(groups: ControlGroups, { limits }: CommandSpec): CommandGroup {
  try {
    return groups.make(limits)
  } catch (cause) {
    const message = `No control group could be made for the command: ${(cause as Error).message}.`
    throw new StartFault(message, NOT_ISOLATED, { cause })
  }
}

function limitsFor(stage: Stage, { limits: wanted }: CommandSpec, groups: ControlGroups | null): Preparation['limits'] {
  const limits = rlimits(wanted, { memory: groups?.memory ?? false, processes: groups?.processes ?? false })
  const { host, isolation, user, nested } = stage
  // Without a user namespace the kernel counts all processes of the user together: those of the service, and those of
  // commands side by side, which must not starve one another.
  const isShared = isolation === 'L0' || (user !== null && !nested)
  if (limits.nproc === null || !isShared) return limits
  return { ...limits, nproc: threadsOf(user?.uid ?? host.uid) + limits.nproc * SIDE_BY_SIDE }
}

interface Beginning {
  readonly spec: CommandSpec
  readonly signal: AbortSignal
  readonly group: CommandGroup | null
  readonly places: Places
  readonly view: readonly string[]
  readonly wrap: readonly string[]
  readonly limits: Preparation['limits']
  readonly mark: Readonly<Record<string, string>>
  readonly exports: string
}

interface Begun {
  readonly child: ChildProcess
  readonly tree: Tree
  readonly output: readonly [Readable, Readable]
}

async function begin(stage: Stage, beginning: Beginning): Promise<Begun> {
  const { spec, signal, group, places, mark } = beginning
  const isLong = Buffer.byteLength(spec.text) > LONGEST_ARGUMENT
  const argv = argvOf(stage, {
    folder: places.folder,
    joins: group?.joins ?? [],
    view: beginning.view,
    wrap: beginning.wrap,
    owned: [places.folder, ...places.writable],
    limits: beginning.limits,
    text: isLong ? null : spec.text,
  })
  const file = isLong ? [openText(places.folder, spec.text)] : []
  const pipes = await openPipes(stage.host.tools.mkfifo, places.folder)
  try {
    signal.throwIfAborted()
    const child = await spawned(argv, mark, [...pipes.ends, ...file])
    const output = pipes.take(child, [1, 3])
    const marked = Object.entries(mark).map((pair) => pair.join('='))
    const tree =
      stage.isolation === 'L1' ? namespaceTree(child, group) : groupTree(child, { mark: marked.join(), group })
    await handOver(child, tree, launchScript(stage.host, beginning.exports), signal).catch((error: unknown) => {
      for (const stream of [...child.stdio, ...output]) stream?.destroy()
      throw error
    })
    return { child, tree, output }
  } finally {
    pipes.close()
    for (const one of file) closeSync(one)
  }
}

function running(
  { child, tree, output: [stdout, stderr] }: Begun,
  { spec, signal, group }: Pick<Beginning, 'spec' | 'signal' | 'group'>,
): RunningCommand {
  const ended = supervise({
    tree,
    stdout,
    stderr,
    spec,
    signal,
    limitOf: (name) => (name === 'SIGXFSZ' ? 'file size' : group?.outOfMemory() ? 'memory' : null),
    ranInto: () => (group?.outOfProcesses() ? 'processes' : null),
    cleanUp: () => void group?.remove(),
  })
  return { pid: child.pid!, ended }
}

/** Null when it works. */
async function whyNotIsolated(stage: Stage): Promise<string | null> {
  const missing = missingForNamespaces(stage.host)
  if (missing !== null) return missing
  const folder = makeProbeFolder()
  const executor = processExecutor(stage, { groups: null, hidden: [], note: '' })
  let said = ''
  try {
    const { ended } = await executor.start(
      {
        // A root of its own takes many processes to make.
        text: `${stage.sealed === undefined ? 'test "$$" -lt 20 && ' : ''}test -r . && ! (: > file) 2>/dev/null`,
        folder,
        environment: { PATH: SYSTEM_PATH },
        writable: [],
        readOnly: [folder],
        hidden: [tmpdir()],
        limits: { seconds: 10, memoryBytes: null, processes: null, fileBytes: null },
        grace: { interruptMs: 0, terminateMs: 0 },
        output: async (_stream, bytes) => {
          said += bytes.toString()
        },
      },
      new AbortController().signal,
    )
    const end = await ended
    return end.kind === 'exited' && end.code === 0 ? null : `a probe ended with ${end.code} ${said}`.trim()
  } catch (error) {
    return (error as Error).message
  } finally {
    executor.close()
    removeProbeFolder(folder)
  }
}

/** Whether the other user may make a user namespace of its own; distributions differ. */
function mayNest({ tools }: Host, { uid, gid }: User): Promise<boolean> {
  const { setpriv, unshare } = tools
  if (setpriv === null || unshare === null) return Promise.resolve(false)
  const as = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--no-new-privs']
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const child = spawn(setpriv, [...as, unshare, '--user', '--map-current-user', '/bin/sh', '-c', ':'], {
    cwd: '/',
    env: {},
    stdio: 'ignore',
  })
  child.on('error', () => resolve(false))
  child.on('exit', (code) => resolve(code === 0))
  return promise
}
