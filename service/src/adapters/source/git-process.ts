// One git process: argv only, an environment of our own, a time limit, nothing of the user's or the machine's settings.
import { spawn } from 'node:child_process'
import { SourceFault } from '../../ports/source.ts'
import { findProgram } from '../executor/host.ts'

export interface GitOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** What git reads from its standard input; nothing is an empty one. */
  readonly input?: string | Buffer
}

export interface GitResult {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
}

const MOST_OUTPUT = 64 * 1024 * 1024
const MOST_ERRORS = 64 * 1024
/** How long something that left git's group may hold its output after the kill. */
const LAST_WORDS_MS = 1_000

/** Only git itself writes to a mirror: when the service is killed it must not go on beside the next one. */
const setpriv = findProgram('setpriv')
const DIES_WITH_US = setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL']

/** Resolves with any exit code; rejects when git cannot be run, takes too long, says too much or is aborted. */
export function git(argv: readonly string[], options: GitOptions): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const [program, ...rest] = [...DIES_WITH_US, 'git', ...argv]
    // Its own group, so that helpers of git (ssh, remote-https) end with it.
    const child = spawn(program!, rest, {
      cwd: options.cwd,
      env: options.environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    // A git that ends before it has read everything breaks the pipe; its exit code tells.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
    const out: Buffer[] = []
    let size = 0
    let errors = ''
    let fault: Error | null = null
    const end = (error: Error): void => {
      fault ??= error
      if (child.pid !== undefined) killGroup(child.pid)
    }
    const onAbort = (): void => end(new SourceFault('stopped'))
    const timer = setTimeout(
      () => end(new SourceFault(`git ${verbOf(argv)} took longer than ${options.timeoutMs / 1000} s`)),
      options.timeoutMs,
    )
    if (options.signal.aborted) onAbort()
    options.signal.addEventListener('abort', onAbort)
    child.stdout.on('data', (bytes: Buffer) => {
      size += bytes.length
      if (size > MOST_OUTPUT) end(new SourceFault('git gave more output than is read'))
      else out.push(bytes)
    })
    child.stderr.on('data', (bytes: Buffer) => {
      if (errors.length < MOST_ERRORS) errors += bytes.toString()
    })
    const done = (settle: () => void): void => {
      clearTimeout(timer)
      options.signal.removeEventListener('abort', onAbort)
      settle()
    }
    child.on('error', (error) =>
      done(() => reject(new SourceFault('git cannot be run on this machine', { cause: error }))),
    )
    child.on('exit', () => {
      if (fault === null) return
      const streams = [child.stdout, child.stderr]
      setTimeout(() => streams.forEach((stream) => void stream.destroy()), LAST_WORDS_MS).unref()
    })
    child.on('close', (code, signal) =>
      done(() => {
        if (fault !== null) reject(fault)
        else resolve({ code: code ?? (signal === null ? 1 : 128), stdout: Buffer.concat(out), stderr: errors })
      }),
    )
  })
}

/** `fetch` of `--git-dir x fetch …`. */
const verbOf = (argv: readonly string[]): string =>
  argv.find((word, at) => !word.startsWith('-') && !['-C', '--git-dir', '-c'].includes(argv[at - 1] ?? '')) ?? ''

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
