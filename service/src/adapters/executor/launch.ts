// From an argv to a running command: the first stage is spawned, says `ready`, is given the environment, says `started`.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { NOT_ISOLATED } from '../../domain/return-code.ts'
import { StartFault } from '../../ports/executor.ts'
import { SYSTEM_PATH } from './host.ts'
import { READY, STARTED } from './stages.ts'
import type { Tree } from './tree.ts'

/** Making a view takes some 20 ms on an idle machine. */
const SET_UP_MS = 30_000

/** Resolves when the process exists. Node tells some faults by throwing and some by an event. */
export function spawned(
  argv: readonly string[],
  environment: Record<string, string>,
  [out, err, ...file]: readonly (number | 'pipe')[],
): Promise<ChildProcess> {
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>()
  const fault = (error: Error): void =>
    reject(new StartFault(`The command could not be started: ${error.message}.`, NOT_ISOLATED, { cause: error }))
  try {
    const child = spawn(argv[0]!, argv.slice(1), {
      detached: true,
      // Not the command's folder: from there the way up would lead past what is hidden.
      cwd: '/',
      env: { PATH: SYSTEM_PATH, ...environment },
      stdio: ['pipe', out, 'pipe', err, ...file],
    })
    // Every stream of a child can fail, and an error that nobody hears ends the service.
    for (const stream of child.stdio) stream?.on('error', () => {})
    child.once('spawn', () => resolve(child))
    child.on('error', fault)
  } catch (error) {
    fault(error as Error)
  }
  return promise
}

/** Waits for `ready`, hands over the environment, and waits for `started`. On any fault nothing is left running. */
export async function handOver(child: ChildProcess, tree: Tree, script: string, signal: AbortSignal): Promise<void> {
  const words = child.stderr!
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fault = (message: string): StartFault => new StartFault(message, NOT_ISOLATED)
  let said = ''
  let isReady = false
  const hear = (text: Buffer): void => {
    said = (said + String(text)).slice(0, 10_000)
    if (!isReady && said.includes(READY)) {
      isReady = true
      tree.ready()
      child.stdin!.end(script)
    }
    if (isReady && said.includes(STARTED)) resolve()
  }
  words.on('data', hear)
  const read = once(words, 'close').catch(() => {})
  void tree.exited.then(async ({ code, signal: by }) => {
    // A short command may be over before its `started` was read.
    await Promise.race([read, pause(1_000, undefined, { ref: false })])
    const why = said.replace(READY, '').trim() || `it ended with ${code ?? by}`
    reject(fault(`The surroundings of the command could not be set up: ${why}`))
  })
  const timer = setTimeout(() => reject(fault(`The command was not set up within ${SET_UP_MS / 1000} s.`)), SET_UP_MS)
  // From `ready` on the command may have started, and what has started is stopped by the ladder.
  const onAbort = (): void => void (isReady || reject(signal.reason))
  signal.addEventListener('abort', onAbort)
  // It may have come while the process was made, when nobody listened.
  if (signal.aborted) onAbort()
  try {
    await promise
  } catch (error) {
    tree.kill()
    await tree.exited
    await tree.gone()
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // Read on: nobody may wait for us to take its complaint.
    words.off('data', hear).resume()
  }
}
