// The real `yardmaster` as a child process, in an environment of its own: nothing of whoever runs the tests reaches it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const BIN = join(import.meta.dirname, '..', '..', 'bin', 'yardmaster.mjs')

/** Makes the Node that runs the launcher say that it is Node 20, so that it looks for another one. */
export const OLD_NODE = [
  '--import',
  `data:text/javascript,${encodeURIComponent("Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})")}`,
]

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CommandLine {
  readonly folder: string
  readonly data: string
  /** Waits for the end. `input` is its standard input, empty without. */
  run(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** Runs it with --json, expects success, and gives the value. */
  json<T>(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<T>
  start(args: readonly string[], options?: { env?: Record<string, string>; node?: readonly string[] }): Started
  remove(): void
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** The text once standard output holds it. Rejects, with what was written, when it ends before. */
  says(text: RegExp): Promise<RegExpExecArray>
}

export function commandLine(env: Record<string, string> = {}): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'yardmaster-cli-'))
  const data = join(folder, 'data')
  const start: CommandLine['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [...(options.node ?? []), BIN, ...args], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: process.env.TMPDIR,
        YARDMASTER_DATA: data,
        ...env,
        ...options.env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    return watch(child)
  }
  const run: CommandLine['run'] = async (args, options = {}) => {
    const { child, ended } = start(args, options)
    // A command that reads nothing may be gone before its input is written.
    child.stdin?.on('error', () => {})
    child.stdin?.end(options.input ?? '')
    return await ended
  }
  return {
    folder,
    data,
    start,
    run,
    json: async <T>(args: readonly string[], options = {}) => {
      const { code, out, err } = await run([...args, '--json'], options)
      if (code !== 0) throw new Error(`yardmaster ${args.join(' ')} ended with ${code}: ${err}`)
      return JSON.parse(out) as T
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

function watch(child: ChildProcess): Started {
  const text = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text.err += chunk
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
  return {
    child,
    ended,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(text.out)
          if (found !== null) resolve(found)
        }
        look()
        child.stdout?.on('data', look)
        ended.then(({ code }) => reject(new Error(`ended with ${code}: ${text.out}${text.err}`)), reject)
      }),
  }
}
