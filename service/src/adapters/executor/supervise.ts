// From the start of a command to its end: the bytes, the ladder, the time limit, and the one answer of what became of it.
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { exitCode, type ProcessExit, signalOf, stoppedCode } from '../../domain/return-code.ts'
import type { CommandEnd, CommandSpec, LimitName } from '../../ports/executor.ts'
import { after, makeLadder, type Reason } from './ladder.ts'
import { drain, pump } from './pump.ts'
import type { Tree } from './tree.ts'

export interface Supervised {
  readonly tree: Pick<Tree, 'exited' | 'send' | 'kill' | 'lingers' | 'gone'>
  readonly stdout: Readable
  readonly stderr: Readable
  readonly spec: CommandSpec
  readonly signal: AbortSignal
  /** Which limit a signal speaks for. */
  limitOf(signal: string): LimitName | null
  /** A limit that refused something without ending anybody. */
  ranInto?(): LimitName | null
  cleanUp(): void
}

/** Who still holds a pipe when the whole tree is gone is a stranger that was given it. */
const HELD_PIPE_MS = 1_000
/** Between two looks at what lingers: each goes through all processes of the host. */
const LONGEST_LOOK_MS = 100

export async function supervise(supervised: Supervised): Promise<CommandEnd> {
  const { tree, spec, signal } = supervised
  const ladder = makeLadder(spec.grace, tree)
  let refusal: Reason | null = null
  const lost = (cause: unknown): void => {
    refusal ??= { kind: 'output-lost', cause }
    ladder.begin(refusal)
  }
  const pumps = [
    pump(supervised.stdout, (bytes) => spec.output('stdout', bytes), lost),
    pump(supervised.stderr, (bytes) => spec.output('stderr', bytes), lost),
  ]
  const abort = (): void => ladder.begin({ kind: 'aborted' })
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const killNow = (): void => ladder.kill({ kind: 'aborted' })
  spec.killNow?.addEventListener('abort', killNow)
  if (spec.killNow?.aborted) killNow()
  const { seconds } = spec.limits
  const cancelTimer = seconds === null ? () => {} : after(seconds, () => ladder.begin({ kind: 'timed-out' }))

  const exit = await tree.exited
  cancelTimer()
  signal.removeEventListener('abort', abort)
  // The ladder goes on: what the shell left behind when it was interrupted may be cleaning up, or may ignore us.
  for (let ms = 10; ladder.reason !== null && (await tree.lingers()); ms = Math.min(ms * 2, LONGEST_LOOK_MS))
    await pause(ms)
  const { reason, lastSignal } = ladder
  ladder.end()
  spec.killNow?.removeEventListener('abort', killNow)
  await tree.gone()
  await drain(pumps, HELD_PIPE_MS)
  // Output that was refused after the exit was refused all the same.
  const end = endOf(exit, reason ?? refusal, lastSignal, supervised)
  supervised.cleanUp()
  return end
}

function endOf(exit: ProcessExit, reason: Reason | null, last: string, supervised: Supervised): CommandEnd {
  if (reason !== null) return { ...reason, code: stoppedCode(exit, last) }
  const code = exitCode(exit)
  const signal = signalOf(code)
  if (signal !== null) return { kind: 'signaled', signal, code, limit: supervised.limitOf(signal) }
  // What went well did without what was refused.
  const ranInto = code === 0 ? null : (supervised.ranInto?.() ?? null)
  return ranInto === null ? { kind: 'exited', code } : { kind: 'exited', code, ranInto }
}
