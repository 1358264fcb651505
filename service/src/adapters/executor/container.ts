// Commands in containers, by the command line of docker or podman.
//
// The container sees the folders of the command at their own paths and nothing else of the host, so there is nothing to
// hide. Variables of the image stay, those of the command go over them. The environment goes in over standard input, as for processes: neither `--env` (argv) nor an env file (no line
// breaks) can carry it. Standard input then stays open as a life line: when it closes, because the service or the
// engine's client was killed, a watcher inside kills everything in the container; engines let a container live on.
//
// The script is handed over only when the shell inside has said that it is there, so that a start that is called off
// before ends by itself: an engine's client that is killed while it makes a container leaves half of one behind.
//
// Signals of the ladder go to every process in the container, not to its first one: that would pass them on to the
// shell alone, and dbt below the shell would not hear of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { NOT_EXECUTABLE, NOT_ISOLATED, type ProcessExit } from '../../domain/return-code.ts'
import { type CommandSpec, type Executor, StartFault } from '../../ports/executor.ts'
import { lookAtHost } from './host.ts'
import { type Places, placesOf } from './paths.ts'
import { exportLines, quote } from './shell-words.ts'
import { OPEN_FILES } from './stages.ts'
import { supervise } from './supervise.ts'
import type { Tree } from './tree.ts'

export interface ContainerOptions {
  /** The program: `docker`, `podman`, or a path. */
  readonly engine: string
  readonly image: string
  /** `none`, `bridge`, `host`, or a network of the engine's. */
  readonly network: string
  /** `uid:gid` inside; by default who we are, so that files in the checkout stay ours. */
  readonly user?: string
  /** Of the engine's client, not of the command: PATH, HOME, DOCKER_HOST and the like. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  /** Before the engine's own command, such as `--runtime=runc`. */
  readonly engineFlags?: readonly string[]
  /** Further flags of `run`, such as `--userns=keep-id` for podman without root. */
  readonly flags?: readonly string[]
}

export interface ContainerExecutor extends Executor {
  readonly kind: 'container'
  /** Rejects with the reason when the engine or the image is not there. */
  verify(): Promise<void>
}

const LONGEST_ARGUMENT = 100_000
/** Pulling an image takes its time. */
const START_MS = 600_000
const CALL_MS = 30_000
/** For a start that was called off to end by itself. */
const UNHURRIED_MS = 10_000

export function createContainerExecutor(options: ContainerOptions): ContainerExecutor {
  const openFiles = lookAtHost()?.openFiles ?? OPEN_FILES
  const call = (...args: string[]): Promise<void> => callEngine(options, args)
  return {
    kind: 'container',
    isolation: 'L2',
    limitsKind: { memory: 'engine', processes: 'engine', 'file size': 'engine' },
    async verify() {
      await call('version')
      await call('image', 'inspect', options.image)
    },
    async start(spec, signal) {
      signal.throwIfAborted()
      const places = placesOf(spec)
      const name = `yardmaster-${randomBytes(8).toString('hex')}`
      const token = randomBytes(16).toString('hex')
      const argv = runArguments(name, places, spec, { ...options, openFiles, token })
      const script = containerScript(exportLines(spec.environment), spec.text, token)
      const child = spawn(options.engine, argv, {
        detached: true,
        cwd: '/',
        env: { ...options.clientEnvironment },
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      for (const stream of child.stdio) stream?.on('error', () => {})
      const tree = containerTree(child, name, call)
      await begun(child, tree, { token, script, signal })
      const ended = supervise({
        tree,
        stdout: child.stdout,
        stderr: child.stderr,
        spec,
        signal,
        limitOf: (by) => (by === 'SIGXFSZ' ? 'file size' : null),
        cleanUp: () => child.stdin.destroy(),
      })
      return { pid: child.pid!, ended }
    },
  }
}

/** One value of a list that the engine reads as CSV. */
const mount = (path: string, readOnly: boolean): string =>
  ['type=bind', `source=${path}`, `target=${path}`, ...(readOnly ? ['readonly'] : [])]
    .map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',')

export function runArguments(
  name: string,
  places: Places,
  spec: CommandSpec,
  options: ContainerOptions & { readonly openFiles: number; readonly token: string },
): string[] {
  const { memoryBytes, processes, fileBytes } = spec.limits
  const user = options.user ?? `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`
  // Outer folders first, so that an inner one is mounted into them.
  const kept = new Map(places.kept.toSorted((a, b) => a.path.length - b.path.length).map((one) => [one.path, one]))
  return [
    ...(options.engineFlags ?? []),
    'run',
    '--rm',
    '--interactive',
    '--init',
    `--name=${name}`,
    `--network=${options.network}`,
    `--workdir=${places.folder}`,
    `--user=${user}`,
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    // What it writes is ours to keep; the engine would keep it a second time.
    '--log-driver=none',
    '--ulimit=core=0',
    `--ulimit=nofile=${Math.min(OPEN_FILES, options.openFiles)}`,
    ...(fileBytes === null ? [] : [`--ulimit=fsize=${fileBytes}`]),
    ...(memoryBytes === null ? [] : [`--memory=${memoryBytes}b`, `--memory-swap=${memoryBytes}b`]),
    // The init and the watcher are not the command's.
    ...(processes === null ? [] : [`--pids-limit=${processes + 3}`]),
    ...[...kept.values()].map(({ path, readOnly }) => `--mount=${mount(path, readOnly)}`),
    ...(options.flags ?? []),
    '--entrypoint=sh',
    options.image,
    '-c',
    `printf ${options.token}; exec sh -s "$@"`,
    'yardmaster',
    ...(Buffer.byteLength(spec.text) > LONGEST_ARGUMENT ? [] : [spec.text]),
  ]
}

/**
 * For `sh -s` in the container. The last line starts the watcher and runs the command: by then the shell has read all
 * that is ours from standard input, and nothing but its end comes after. As for processes, once a signal came the shell
 * waits for all that it went to, because the container ends with it. What that shell itself has to say of signals is
 * not for the command's log.
 */
export function containerScript(exports: string, text: string, token: string): string {
  const isLong = Buffer.byteLength(text) > LONGEST_ARGUMENT
  const file = `/tmp/yardmaster-${token}`
  return [
    'exec 4<&0',
    ...(isLong ? [`printf '%s' ${quote(text)} > ${file} || exit ${NOT_EXECUTABLE}`] : []),
    'ym_shell=$(command -v bash || command -v sh)',
    isLong ? `set -- "$ym_shell" ${file}` : 'set -- "$ym_shell" -c "$1"',
    'ym_others() { for ym_stat in /proc/[0-9]*/stat; do',
    '  case $ym_stat in /proc/1/stat | /proc/$$/stat | /proc/$ym_watch/stat) continue ;; esac',
    '  read -r ym_line 2>/dev/null <"$ym_stat" || continue',
    `  case \${ym_line##*) } in Z*) ;; *) return 0 ;; esac`,
    'done; return 1; }',
    "ym_stopped=; trap 'ym_stopped=1' INT TERM",
    exports,
    `printf '%s' ${token}`,
    '{ trap "" INT TERM; while read -r ym_line; do :; done; kill -KILL -1; } <&4 >/dev/null 2>&1 & ' +
      'ym_watch=$!; exec 5>&2 2>/dev/null; (exec "$@" 2>&5 5>&- 4<&- </dev/null); ym_code=$?; ' +
      'while [ -n "$ym_stopped" ] && ym_others; do sleep 0.05; done; exit $ym_code',
    '',
  ].join('\n')
}

interface Beginning {
  readonly token: string
  readonly script: string
  readonly signal: AbortSignal
}

/** The token comes twice: when the shell is there, and from the script when the command starts. */
async function begun(child: ChildProcess, tree: Tree, { token, script, signal }: Beginning): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stdout = child.stdout!
  const fault = (why: string): StartFault => new StartFault(`The container could not be started: ${why}`, NOT_ISOLATED)
  let heard = 0
  const look = (): void => {
    while (heard < 2) {
      const head = stdout.read(token.length) as Buffer | null
      if (head === null) return
      if (head.toString('latin1') !== token) {
        reject(fault('it did not start as it should'))
        return
      }
      heard++
      // Not ended after the script: it is the life line.
      if (heard === 1 && !signal.aborted) child.stdin!.write(script)
    }
    resolve()
  }
  stdout.on('readable', look)
  void tree.exited.then(async ({ code, signal: by }) => {
    // What it said may come after its end.
    const streams = [stdout, child.stderr!].filter((one) => !one.readableEnded)
    await Promise.race([Promise.all(streams.map((one) => once(one, 'readable').catch(() => {}))), pause(500)])
    look()
    const complaint = heard === 2 ? '' : String(child.stderr!.read() ?? '').trim()
    reject(signal.aborted ? signal.reason : fault(complaint || `the engine ended with ${code ?? by}`))
  })
  child.once('error', (error) => reject(fault(error.message)))
  const timer = setTimeout(() => reject(fault(`not within ${START_MS / 1000} s`)), START_MS)
  let hurry: NodeJS.Timeout | undefined
  const onAbort = (): void => {
    if (heard > 0) return
    // The shell finds nothing to do and ends. An engine that is still fetching an image is told to stop after a while.
    child.stdin!.end()
    hurry = setTimeout(() => child.kill('SIGTERM'), UNHURRIED_MS)
  }
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    await promise
  } catch (error) {
    child.stdin!.destroy()
    if (!signal.aborted) tree.kill()
    await tree.exited
    await tree.gone()
    for (const stream of child.stdio) (stream as Readable | null)?.destroy()
    throw error
  } finally {
    stdout.off('readable', look)
    clearTimeout(timer)
    clearTimeout(hurry)
    signal.removeEventListener('abort', onAbort)
  }
}

function containerTree(child: ChildProcess, name: string, call: (...args: string[]) => Promise<void>): Tree {
  const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>()
  child.once('exit', (code, signal) => resolve({ code, signal }))
  child.once('error', () => resolve({ code: NOT_ISOLATED, signal: null }))
  let isKilled = false
  return {
    exited: exited.then((exit) => (isKilled ? { code: null, signal: 'SIGKILL' } : exit)),
    ready() {},
    send(signal) {
      const word = signal.slice('SIG'.length)
      call('exec', name, 'sh', '-c', `kill -${word} -1; kill -CONT -1`).catch(() => {})
    },
    kill() {
      isKilled = true
      call('kill', '--signal=KILL', name)
        .catch(() => call('rm', '--force', name))
        .catch(() => {
          // The engine does not answer: closing the life line ends it from the inside.
          child.stdin!.destroy()
          child.kill('SIGKILL')
        })
    },
    // The launcher inside has waited for the others.
    lingers: async () => false,
    // `run` ends when the container has, and that is a PID namespace of its own; what can be left is its name, or a
    // container that was never started.
    async gone() {
      for (let tries = 0; tries < 5; tries++) {
        const said = await call('rm', '--force', name).catch((error: Error) => error.message)
        if (said === undefined || /no such container|no container with/i.test(said)) return
        await pause(200)
      }
    },
  }
}

async function callEngine(options: ContainerOptions, args: readonly string[]): Promise<void> {
  const { engine, engineFlags = [], clientEnvironment } = options
  const child = spawn(engine, [...engineFlags, ...args], {
    cwd: '/',
    env: { ...clientEnvironment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Not spawn's own, which goes on when there was no program to start.
  const timer = setTimeout(() => child.kill('SIGKILL'), CALL_MS)
  let complaint = ''
  child.stderr.on('data', (text: Buffer) => {
    complaint = (complaint + String(text)).slice(-2_000)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  // Not `close`: what an engine leaves in the background may hold the pipe.
  child.once('exit', resolve)
  const code = await promise.finally(() => clearTimeout(timer))
  if (code !== 0 && !child.stderr.readableEnded) await Promise.race([once(child.stderr, 'end'), pause(500)])
  child.stderr.destroy()
  if (code !== 0) throw new Error(`${engine} ${args[0]}: ${complaint.trim() || `ended with ${code}`}`)
}
