// One command of an agent on an executor whose commands see nothing of the host: from a text to what it said.

import type { SandboxCommand, SandboxResult } from '../../ports/agent-sandbox.ts'
import type { CommandEnd, Executor, Limits } from '../../ports/executor.ts'
import { SYSTEM_PATH } from '../executor/host.ts'
import { type DiskLimits, watchDisk } from './disk-guard.ts'
import { OutputWindow } from './output-window.ts'
import { SANDBOX_HOME } from './root.ts'

export type SandboxLimits = Omit<Limits, 'seconds'> & { readonly disk: DiskLimits }

const MIB = 1024 * 1024
export const SANDBOX_LIMITS: SandboxLimits = {
  memoryBytes: 4096 * MIB,
  processes: 512,
  fileBytes: 1024 * MIB,
  disk: { mostBytes: 8192 * MIB, floorBytes: 512 * MIB },
}

/** Reading it away costs us as much as it costs them. */
const FLOOD_BYTES = 64 * MIB
const GRACE = { interruptMs: 500, terminateMs: 500 }

export interface RunIn {
  readonly executor: Executor
  readonly limits: SandboxLimits
  /** Over the command's own. */
  readonly environment?: Readonly<Record<string, string>>
  readonly readOnly?: readonly string[]
}

export async function runIn(
  { executor, limits, environment = {}, readOnly = [] }: RunIn,
  command: SandboxCommand,
  signal: AbortSignal,
): Promise<Omit<SandboxResult, 'blocked'>> {
  const output = new OutputWindow(command.outputBytes)
  // Why it was stopped by us.
  const wild = new AbortController()
  const kill = AbortSignal.any([signal, wild.signal])
  const running = await executor.start(
    {
      text: command.text,
      folder: command.folder,
      environment: {
        PATH: SYSTEM_PATH,
        HOME: SANDBOX_HOME,
        TMPDIR: '/tmp',
        LANG: 'C.UTF-8',
        ...command.environment,
        ...environment,
      },
      writable: [],
      readOnly: [...command.readOnly, ...readOnly],
      hidden: [],
      limits: { ...limits, seconds: command.seconds },
      grace: GRACE,
      killNow: kill,
      output: async (_stream, bytes) => {
        output.add(bytes)
        if (output.total > FLOOD_BYTES) wild.abort(`it wrote more than ${FLOOD_BYTES / MIB} MiB`)
      },
    },
    signal,
  )
  const unwatch = watchDisk(command.folder, limits.disk, () => wild.abort('it filled the disk'))
  const end = await running.ended.finally(unwatch)
  const said = [output.text(), ...remarks(end, wild.signal)].filter((part) => part !== '').join('\n')
  const isKilled = end.kind === 'aborted' || end.kind === 'timed-out' || end.kind === 'output-lost'
  return { code: isKilled ? null : end.code, timedOut: end.kind === 'timed-out', output: said, dropped: output.dropped }
}

function remarks(end: CommandEnd, wild: AbortSignal): string[] {
  if (wild.aborted) return [`[stopped: ${wild.reason}]`]
  const limit = end.kind === 'signaled' ? end.limit : end.kind === 'exited' ? (end.ranInto ?? null) : null
  return limit === null ? [] : [`[it ran into the limit of ${limit}]`]
}
