// Which sandbox this host offers: bubblewrap, else namespaces by util-linux, else a container where an image is set, else
// none. Each is tried out by starting a command in it that looks for what it must not find. There is no way from here to
// a command without a sandbox.
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentSandbox } from '../../ports/agent-sandbox.ts'
import { type ContainerOptions, createContainerExecutor } from '../executor/container.ts'
import { findProgram, lookAtHost } from '../executor/host.ts'
import { makeProbeFolder, removeProbeFolder } from '../executor/probe-folder.ts'
import { createProcessExecutor } from '../executor/process.ts'
import { quote } from '../executor/shell-words.ts'
import type { User } from '../executor/stages.ts'
import { mountFlags, mountsWithin } from '../executor/view.ts'
import type { OutgoingRules } from './egress-proxy.ts'
import { rootOf, SANDBOX_HOME } from './root.ts'
import { SANDBOX_LIMITS, type SandboxLimits } from './run-in.ts'
import { sandboxOn } from './sandbox.ts'

export type SandboxKind = AgentSandbox['kind']

export interface SandboxOptions {
  /** `auto`: the first that works. `none`: agents get no shell. */
  readonly wanted: SandboxKind | 'auto' | 'none'
  /** Of the service and of the person it runs as; never visible, wherever they lie. */
  readonly hidden: readonly string[]
  readonly outgoing: OutgoingRules
  readonly limits?: SandboxLimits
  /** Null: no image is set, and containers are not tried. */
  readonly container: ContainerOptions | null
  /** The program; null: not there. Found by its name when it is not given. */
  readonly bubblewrap?: string | null
}

export interface ProbedSandbox {
  readonly sandbox: AgentSandbox | null
  /** Why it is not a better one, or none: for `doctor` and the log. */
  readonly why: string
  close(): void
}

/**
 * When the service is root. Never root itself, not even without rights: the kernel's own settings (/proc/sys) and files of
 * root are open to that user alone.
 */
const NOBODY: User = { uid: 65_534, gid: 65_534 }

const ORDER: readonly SandboxKind[] = ['bubblewrap', 'namespaces', 'container']

export async function probeSandbox(options: SandboxOptions): Promise<ProbedSandbox> {
  const reasons: string[] = []
  if (options.wanted === 'none') return { sandbox: null, why: 'set to none', close() {} }
  for (const kind of options.wanted === 'auto' ? ORDER : [options.wanted]) {
    try {
      const made = await MAKERS[kind](options)
      const fault = await tryOut(made.sandbox).catch((error: Error) => error.message)
      if (fault === null) return { ...made, why: reasons.join('; ') }
      made.close()
      reasons.push(`${kind}: ${fault}`)
    } catch (error) {
      reasons.push(`${kind}: ${(error as Error).message}`)
    }
  }
  return { sandbox: null, why: reasons.join('; '), close() {} }
}

type Made = { readonly sandbox: AgentSandbox; close(): void }

const MAKERS: Readonly<Record<SandboxKind, (options: SandboxOptions) => Promise<Made>>> = {
  bubblewrap: async (options) => {
    const program = options.bubblewrap === undefined ? findProgram('bwrap') : options.bubblewrap
    if (program === null) throw new Error('it is not installed')
    return await onProcesses('bubblewrap', program, options)
  },
  namespaces: (options) => onProcesses('namespaces', null, options),
  container: async (options) => {
    if (options.container === null) throw new Error('no image is set')
    const flags = [
      '--read-only',
      '--tmpfs=/tmp:rw,nosuid,size=512m',
      `--tmpfs=${SANDBOX_HOME}:rw,nosuid,mode=1777,size=256m`,
    ]
    const executor = createContainerExecutor({
      ...options.container,
      network: 'none',
      flags: [...(options.container.flags ?? []), ...flags, '--hostname=sandbox'],
    })
    await executor.verify()
    const limits = options.limits ?? SANDBOX_LIMITS
    const noEgress = 'a container has no way to the hosts that are allowed; bubblewrap and namespaces do'
    return { sandbox: sandboxOn('container', { executor, limits, noEgress, outgoing: options.outgoing }), close() {} }
  },
}

async function onProcesses(
  kind: 'bubblewrap' | 'namespaces',
  bubblewrap: string | null,
  { hidden, outgoing, limits = SANDBOX_LIMITS }: SandboxOptions,
): Promise<Made> {
  const [umount, pivotRoot, ip] = ['umount', 'pivot_root', 'ip'].map(findProgram) as [string, string, string | null]
  const stages = lookAtHost()?.stages ?? []
  if (bubblewrap === null && (umount === null || pivotRoot === null))
    throw new Error('the program pivot_root is missing')
  const executor = await createProcessExecutor({
    isolation: 'L1',
    user: NOBODY,
    sealed: {
      bubblewrap,
      root: (kept) => {
        const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
        const [flagsOf, mountsIn] = [mountFlags(mounts), mountsWithin(mounts)]
        return rootOf({ kept, hidden, ip, stages, umount, pivotRoot, flagsOf, mountsIn })
      },
    },
  })
  const noEgress =
    kind === 'namespaces' && ip === null ? 'the program ip is missing, without which there is no loopback' : null
  return {
    sandbox: sandboxOn(kind, { executor, limits, noEgress, outgoing }),
    close: () => executor.close(),
  }
}

/** Null when all is as it should be. */
async function tryOut(sandbox: AgentSandbox): Promise<string | null> {
  const folder = makeProbeFolder()
  const other = makeProbeFolder()
  try {
    const canary = join(other, 'canary')
    writeFileSync(canary, randomBytes(8).toString('hex'))
    const checks: readonly (readonly [string, string])[] = [
      ['the folder cannot be written', ': > file'],
      ['folders of others can be seen', `! test -e ${quote(canary)}`],
      ['the system can be written', '! (: > /usr/.probe) 2>/dev/null'],
      ['its root can be written', '! (: > /.probe) 2>/dev/null'],
      ['it has no place for temporary files', ': > /tmp/file'],
      ['it has no home', ': > "$HOME/file"'],
      ['there are processes of others', 'set -- /proc/[0-9]*; test "$#" -lt 10'],
      ['there is a network', '! grep -qv -e "|" -e " lo:" /proc/net/dev'],
    ]
    const text = checks.map(([what, check]) => `{ ${check}; } || { echo ${quote(what)}; exit 1; }`).join('\n')
    const done = await sandbox.run(
      { text, folder, readOnly: [], environment: {}, seconds: 30, outputBytes: 10_000, egressHosts: [] },
      new AbortController().signal,
    )
    return done.code === 0 ? null : done.output.trim() || `a probe ended with ${done.code}`
  } finally {
    for (const one of [folder, other]) removeProbeFolder(one)
  }
}
