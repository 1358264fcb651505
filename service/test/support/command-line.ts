// The real `yardmaster` as a child process, in an environment of its own: nothing of whoever runs the tests reaches it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cli } from '../../src/cli/io.ts'
import { runProgram } from '../../src/cli/program.ts'

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
  /** The same without a process of its own, for the many that only differ in what they say: each costs half a second. */
  here(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** Waits for the end. `input` is its standard input, empty without. */
  run(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** `run` and `here` with --json: expects success, and gives the value. */
  json<T>(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<T>
  jsonHere<T>(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<T>
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
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: process.env.TMPDIR,
    YARDMASTER_DATA: data,
    ...env,
  }
  const start: CommandLine['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [...(options.node ?? []), BIN, ...args], {
      cwd: folder,
      env: { ...environment, ...options.env },
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
  const here: CommandLine['here'] = (args, options = {}) =>
    runHere(args, { env: { ...environment, ...options.env }, cwd: folder }, options.input)
  return {
    folder,
    data,
    start,
    run,
    here,
    json: async (args, options) => parsed(await run([...args, '--json'], options)),
    jsonHere: async (args, options) => parsed(await here([...args, '--json'], options)),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

function parsed<T>({ code, out, err }: Ended): T {
  if (code !== 0) throw new Error(`it ended with ${code}: ${out}${err}`)
  return JSON.parse(out) as T
}

async function runHere(args: readonly string[], where: Omit<Cli, 'io'>, input = ''): Promise<Ended> {
  const text = { out: '', err: '' }
  const code = await runProgram(args, {
    ...where,
    io: {
      out: (more) => {
        text.out += more
      },
      err: (more) => {
        text.err += more
      },
      isRead: true,
      read: async () => input,
    },
  })
  return { code, ...text }
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

// --- what commands print with --json

export interface Created {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly key: string
  readonly secret?: string
  readonly capabilities: readonly string[]
  readonly expiresAt: string | null
}

export interface Checks {
  readonly ok: boolean
  readonly checks: readonly { readonly name: string; readonly status: string; readonly message: string }[]
}

export const codeOf = (err: string): string => (JSON.parse(err) as { error: { code: string } }).error.code
