// An executor that runs nothing: it plays what a script says, for tests of everything above it. Bytes, back-pressure,
// the ladder, time limits and ends are those of the real ones, because they are made by the same code; only the
// processes are missing.
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProcessExit } from '../../domain/return-code.ts'
import type { CommandSpec, Executor } from '../../ports/executor.ts'
import { placesOf } from './paths.ts'
import { exportLines } from './shell-words.ts'
import { supervise } from './supervise.ts'

export type Step =
  | { readonly stdout: string | Buffer }
  | { readonly stderr: string | Buffer }
  | { readonly waitMs: number }
  /** Waits to be stopped. */
  | { readonly hang: true }
  /** Waits for something that the test decides. */
  | { readonly until: Promise<unknown> }

export interface Script {
  readonly steps: readonly Step[]
  /** After the last step; 0 when neither is given. */
  readonly exit?: number
  readonly signal?: string
  /** Signals that it does not die of. */
  readonly ignores?: readonly ('SIGINT' | 'SIGTERM')[]
  /** What it exits with when it is interrupted, as dbt does; without it the signal ends it. */
  readonly interruptedExit?: number
}

export interface Delays {
  wait(ms: number, signal: AbortSignal): Promise<void>
}

const realDelays: Delays = { wait: (ms, signal) => pause(ms, undefined, { signal }) }

export interface ManualDelays extends Delays {
  /** Whoever waits for no longer than this goes on. */
  advance(ms: number): void
  readonly waiting: number
}

export function manualDelays(): ManualDelays {
  let now = 0
  const waiters = new Set<{ readonly at: number; go(): void }>()
  return {
    wait(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const waiter = { at: now + ms, go: resolve }
      waiters.add(waiter)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      return promise.finally(() => waiters.delete(waiter))
    },
    advance(ms) {
      now += ms
      for (const waiter of waiters) if (waiter.at <= now) waiter.go()
    },
    get waiting() {
      return waiters.size
    },
  }
}

export interface ScriptedExecutor extends Executor {
  readonly kind: 'scripted'
  /** Every command that was started, oldest first. */
  readonly started: readonly CommandSpec[]
  /** How many have not ended. */
  readonly running: number
}

export interface ScriptedOptions {
  /** What the command does; throwing is a start that fails. */
  play(spec: CommandSpec): Script
  readonly delays?: Delays
}

export function createScriptedExecutor({ play, delays = realDelays }: ScriptedOptions): ScriptedExecutor {
  const started: CommandSpec[] = []
  let running = 0
  return {
    kind: 'scripted',
    isolation: 'L0',
    limitsKind: { memory: 'none', processes: 'none', 'file size': 'none' },
    started,
    get running() {
      return running
    },
    async start(spec, signal) {
      signal.throwIfAborted()
      placesOf(spec)
      exportLines(spec.environment)
      const script = play(spec)
      started.push(spec)
      running++
      const actor = act(script, delays)
      const ended = supervise({
        ...actor,
        spec,
        signal,
        limitOf: () => null,
        cleanUp: () => {
          running--
        },
      })
      return { pid: started.length, ended }
    },
  }
}

function act(script: Script, delays: Delays) {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const over = new AbortController()
  const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>()
  const finish = (exit: ProcessExit): void => {
    resolve(exit)
    over.abort()
    stdout.end()
    stderr.end()
  }
  const write = async (stream: PassThrough, bytes: string | Buffer): Promise<void> => {
    if (!stream.write(bytes)) await once(stream, 'drain', { signal: over.signal })
  }
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>()
  stopped.catch(() => {})
  over.signal.addEventListener('abort', () => stop(over.signal.reason))
  const perform = async (): Promise<void> => {
    for (const step of script.steps) {
      over.signal.throwIfAborted()
      if ('stdout' in step) await write(stdout, step.stdout)
      else if ('stderr' in step) await write(stderr, step.stderr)
      else if ('waitMs' in step) await delays.wait(step.waitMs, over.signal)
      else await Promise.race([stopped, 'until' in step ? step.until : stopped])
    }
    finish(
      script.signal === undefined ? { code: script.exit ?? 0, signal: null } : { code: null, signal: script.signal },
    )
  }
  perform().catch(() => finish({ code: null, signal: 'SIGKILL' }))
  return {
    stdout,
    stderr,
    tree: {
      exited,
      send(signal: 'SIGINT' | 'SIGTERM') {
        if (script.ignores?.includes(signal)) return
        const answers = signal === 'SIGINT' && script.interruptedExit !== undefined
        finish(answers ? { code: script.interruptedExit!, signal: null } : { code: null, signal })
      },
      kill: () => finish({ code: null, signal: 'SIGKILL' }),
      lingers: async () => false,
      gone: async () => {},
    },
  }
}
