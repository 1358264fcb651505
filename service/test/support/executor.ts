// What tests of executors share: a command with everything in it that a test does not care about, and a look at the
// processes of the host from outside.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { CommandEnd, CommandSpec, Executor, RunningCommand, Stream } from '../../src/ports/executor.ts'

export const NO_LIMITS: CommandSpec['limits'] = {
  seconds: null,
  memoryBytes: null,
  processes: null,
  fileBytes: null,
}

export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Gone when the test is over. */
export function freshFolder(): Disposable & { readonly path: string } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'yardmaster-executor-')))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Long enough to be nobody else's, short enough for a number of seconds. */
export const uniqueNumber = (): string => String(100_000_000 + (randomBytes(4).readUInt32BE() % 900_000_000))

export interface Begun {
  readonly running: RunningCommand
  readonly controller: AbortController
  readonly text: Readonly<Record<Stream, string>>
  readonly bytes: Readonly<Record<Stream, number>>
  /** Resolves when standard output holds the words. */
  said(words: string): Promise<void>
  readonly ended: Promise<CommandEnd>
}

export type SpecFields = Partial<CommandSpec> & Pick<CommandSpec, 'text' | 'folder'>

export const specOf = (fields: SpecFields): CommandSpec => ({
  environment: { PATH: SYSTEM_PATH },
  writable: [],
  readOnly: [],
  hidden: [],
  // A test that hangs is a fault; this way it says so.
  limits: { ...NO_LIMITS, seconds: 30 },
  grace: { interruptMs: 150, terminateMs: 150 },
  output: async () => {},
  ...fields,
})

export async function begin(executor: Executor, fields: SpecFields): Promise<Begun> {
  const controller = new AbortController()
  const chunks: Record<Stream, Buffer[]> = { stdout: [], stderr: [] }
  const bytes = { stdout: 0, stderr: 0 }
  const listeners = new Set<() => void>()
  const running = await executor.start(
    specOf({
      ...fields,
      output: async (stream, chunk) => {
        bytes[stream] += chunk.length
        chunks[stream].push(chunk)
        await fields.output?.(stream, chunk)
        for (const listener of listeners) listener()
      },
    }),
    controller.signal,
  )
  const textOf = (stream: Stream): string => Buffer.concat(chunks[stream]).toString()
  return {
    running,
    controller,
    bytes,
    text: {
      get stdout() {
        return textOf('stdout')
      },
      get stderr() {
        return textOf('stderr')
      },
    },
    async said(words) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = (): void => void (textOf('stdout').includes(words) && resolve())
      listeners.add(look)
      look()
      void running.ended.then((end) =>
        reject(new Error(`ended with ${end.code} before it said ${words}: ${textOf('stdout')}${textOf('stderr')}`)),
      )
      await promise
      listeners.delete(look)
    },
    ended: running.ended,
  }
}

export interface Finished {
  readonly end: CommandEnd
  readonly stdout: string
  readonly stderr: string
}

export async function finish(executor: Executor, fields: SpecFields): Promise<Finished> {
  const begun = await begin(executor, fields)
  const end = await begun.ended
  return { end, stdout: begun.text.stdout, stderr: begun.text.stderr }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Live processes of the host whose arguments or environment hold the word; zombies are not alive. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => `${read(`/proc/${name}/cmdline`)}\0${read(`/proc/${name}/environ`)}`.includes(word))
    .filter((name) => !/\) [ZX] /.test(read(`/proc/${name}/stat`)))
    .map(Number)
}

/** Looks until it holds. What is asked for is a fact of the kernel, which tells nobody when it comes true. */
export async function eventually(holds: () => boolean, what: string, withinMs = 10_000): Promise<number> {
  const began = performance.now()
  while (!holds()) {
    if (performance.now() - began > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`)
    await pause(5)
  }
  return performance.now() - began
}
