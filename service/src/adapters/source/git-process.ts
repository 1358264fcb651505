// One git process: argv only, an environment of our own, a time limit, nothing of the user's or the machine's settings.
import { spawn } from 'node:child_process'
import { SourceFault } from '../../ports/source.ts'

export interface GitOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  /** What git reads from its standard input; nothing is an empty one. */
  readonly input?: string
}

export interface GitResult {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
}

const TIMEOUT_MS = 600_000
const MOST_OUTPUT = 64 * 1024 * 1024
const MOST_ERRORS = 64 * 1024

/** Resolves with any exit code; rejects when git cannot be run, takes too long, says too much or is aborted. */
export function git(argv: readonly string[], options: GitOptions): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    // Its own group, so that helpers of git (ssh, remote-https) end with it.
    const child = spawn('git', argv, {
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
      () => end(new SourceFault(`git ${argv[0]} took longer than ${(options.timeoutMs ?? TIMEOUT_MS) / 1000} s`)),
      options.timeoutMs ?? TIMEOUT_MS,
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
    child.on('close', (code, signal) =>
      done(() => {
        if (fault !== null) reject(fault)
        else resolve({ code: code ?? (signal === null ? 1 : 128), stdout: Buffer.concat(out), stderr: errors })
      }),
    )
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
