// A sandbox on an executor, with a door to named hosts where somebody allowed some: a proxy of the service on a unix
// socket that is mounted in, and a small forwarder inside that makes a port of it, because programs know proxies by ports.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { AgentSandbox, SandboxCommand, SandboxResult } from '../../ports/agent-sandbox.ts'
import type { Executor } from '../../ports/executor.ts'
import { quote } from '../executor/shell-words.ts'
import { type OutgoingRules, startEgressProxy } from './egress-proxy.ts'
import { runIn, type SandboxLimits } from './run-in.ts'

export interface SandboxParts {
  readonly executor: Executor
  readonly limits: SandboxLimits
  /** Why no host can be reached from it, also where some are allowed; null: they can. */
  readonly noEgress: string | null
  readonly outgoing: OutgoingRules
}

const PORT = 3128

/** For `node -e`, inside: says a line when it listens. */
const FORWARDER = `const net = require('node:net')
net.createServer((near) => {
  const far = net.connect(process.argv[1])
  near.on('error', () => far.destroy()).on('close', () => far.destroy())
  far.on('error', () => near.destroy()).on('close', () => near.destroy())
  near.pipe(far).pipe(near)
}).listen(${PORT}, '127.0.0.1', () => process.stdout.write('up\\n', () => {}))
process.stdout.on('error', () => {})`

export function sandboxOn(kind: AgentSandbox['kind'], parts: SandboxParts): AgentSandbox {
  const { executor, limits, noEgress, outgoing } = parts
  return {
    kind,
    noEgress,
    run: async (command, signal): Promise<SandboxResult> => {
      if (command.egressHosts.length === 0 || noEgress !== null)
        return { ...(await runIn({ executor, limits }, command, signal)), blocked: [] }
      const folder = await mkdtemp(join(await realpath(tmpdir()), 'yardmaster-egress-'))
      // Others may pass, to the one socket in it: the command may be another user.
      await chmod(folder, 0o755)
      const socket = join(folder, 'proxy')
      const proxy = await startEgressProxy(socket, command.egressHosts, outgoing)
      try {
        const runtime = dirname(await realpath(process.execPath))
        const environment = proxyVariables(`http://127.0.0.1:${PORT}`)
        const text = forwarded(command, join(runtime, 'node'), socket)
        const done = await runIn(
          { executor, limits, environment, readOnly: [folder, runtime] },
          { ...command, text },
          signal,
        )
        return { ...done, blocked: proxy.blocked() }
      } finally {
        await proxy.close()
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

const proxyVariables = (url: string): Record<string, string> => {
  const names = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()])
  const none = { no_proxy: 'localhost,127.0.0.1', NO_PROXY: 'localhost,127.0.0.1' }
  return { ...Object.fromEntries(names.map((name) => [name, url])), ...none }
}

/** The forwarder has no variables of the command: NODE_OPTIONS would be obeyed by it. */
function forwarded({ text }: SandboxCommand, node: string, socket: string): string {
  return [
    'ym_up=/tmp/.egress-$$; mkfifo "$ym_up"',
    `env -i ${quote(node)} -e ${quote(FORWARDER)} ${quote(socket)} </dev/null >"$ym_up" 2>/dev/null &`,
    'read -r ym_line <"$ym_up"; rm -f "$ym_up"; unset ym_up ym_line',
    // A shell of its own: jobs and variables of this one are not the command's.
    `exec "\${BASH:-/bin/sh}" -c ${quote(text)}`,
  ].join('\n')
}
