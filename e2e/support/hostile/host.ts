// What the hostile model works with on this host: real checkouts, the real sandbox where this host has one, real git.
import { join } from 'node:path'
import { agentGit } from '../../../service/src/adapters/agent-git/agent-git.ts'
import { openFilesystemBlobs } from '../../../service/src/adapters/blob/filesystem.ts'
import { probeSandbox } from '../../../service/src/adapters/sandbox/probe.ts'
import { repositoryOf, type SessionPortsDeps } from '../../../service/src/engine/agent/session-ports.ts'
import { checkoutTools } from '../../../service/src/engine/agent/tools/checkout-tools.ts'
import type { Tool } from '../../../service/src/engine/agent/tools/tool.ts'
import type { HostileScene } from './scene.ts'

export interface HostileHost extends AsyncDisposable {
  readonly ports: Pick<SessionPortsDeps, 'git' | 'blobs' | 'place'>
  readonly checkoutTools: readonly Tool[]
  /** Whether there is a sandbox here, and so a shell. */
  readonly hasShell: boolean
  readonly why: string
}

export async function openHostileHost({ t, folder }: HostileScene): Promise<HostileHost> {
  const data = join(folder, 'data')
  const git = agentGit({
    folder: join(data, 'mirrors'),
    path: process.env.PATH ?? '/usr/bin:/bin',
    timeoutMs: 60_000,
    now: () => Date.now(),
  })
  const probed = await probeSandbox({
    wanted: 'auto',
    hidden: [data],
    outgoing: { allow: [] },
    container: null,
  })
  return {
    ports: { git, blobs: await openFilesystemBlobs(join(data, 'blobs')), place: join(data, 'agents') },
    checkoutTools: checkoutTools({
      git,
      sandbox: probed.sandbox,
      author: { name: 'Agent', email: 'agent@example.com' },
      repositoryOf: (session) => repositoryOf(t.app, session),
      egressHosts: [],
      venv: null,
    }),
    hasShell: probed.sandbox !== null,
    why: probed.why,
    [Symbol.asyncDispose]: async () => probed.close(),
  }
}
