// Child processes of benchmarks: started, waited for until they say where they listen, ended again.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Listening {
  readonly url: string
  readonly pid: number
  /** Resident memory in MiB. */
  memory(): number
  /** Processor time used so far. */
  cpuMicroseconds(): number
  stop(): Promise<void>
}

/** A folder that is gone again when the work is done, however it ends. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts a script of this folder and waits for the first address that it prints. */
export async function start(
  script: string,
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Listening> {
  const node = process.env.BENCH_NODE_OPTIONS?.split(' ') ?? []
  const child = spawn(process.execPath, [...node, join(import.meta.dirname, script), ...argv], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, HOME: options.cwd, NODE_NO_WARNINGS: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk).slice(-4000)
  })
  const url = await firstAddress(child, () => errors)
  return {
    url,
    pid: child.pid!,
    memory: () => memoryOf(child.pid!),
    cpuMicroseconds: () => cpuOf(child.pid!),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

function firstAddress(child: ChildProcess, errors: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk
      const address = / at (http:\/\/[^\s]+)\n/.exec(text)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`a process of the benchmark ended with ${code}:\n${errors()}`)))
  })
}

function memoryOf(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}

// The clock tick of Linux in /proc is a hundredth of a second on every platform that Node runs on.
const TICK_MICROSECONDS = 10_000

/** The fields of /proc/<pid>/stat behind the name, from the state on; none when the process is gone. */
function statOf(pid: number | string): number[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ').map(Number)
  } catch {
    return []
  }
}

function cpuOf(pid: number | string): number {
  const [utime = 0, stime = 0] = statOf(pid).slice(11)
  return (utime + stime) * TICK_MICROSECONDS
}

/** Processor time of the PostgreSQL in a data folder: its server and the sessions that are open. */
export function postgresCpuMicroseconds(dataFolder: string): number {
  const postmaster = Number(readFileSync(join(dataFolder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  const sessions = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && statOf(pid)[1] === postmaster)
  return sessions.reduce((sum, pid) => sum + cpuOf(pid), cpuOf(postmaster))
}

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!
