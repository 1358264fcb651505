// A checkout of an agent's session over a real repository, as tests need it: git, blobs and folders are real.
import { spawnSync } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentGit } from '../../src/adapters/agent-git/agent-git.ts'
import { openFilesystemBlobs } from '../../src/adapters/blob/filesystem.ts'
import { type CheckoutPorts, type OpenedCheckout, openCheckout } from '../../src/engine/agent/checkout.ts'
import type { Repository } from '../../src/ports/source.ts'

export const SESSION = 'a1b2c3d4e5f6a7b8'
export const AUTHOR = { name: 'Agent', email: 'agent@example.com' }
export const UID = 'w'.repeat(16)
export const never = new AbortController().signal

export interface CheckoutScene extends AsyncDisposable {
  /** Gone after the test. */
  readonly folder: string
  readonly ports: CheckoutPorts
  readonly repository: Repository
  open(session?: Partial<Parameters<typeof openCheckout>[1]['session']>): Promise<OpenedCheckout>
}

/** `path`: of a repository on this machine. */
export async function checkoutScene(path: string): Promise<CheckoutScene> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'yardmaster-checkout-')))
  const git = agentGit({
    folder: join(folder, 'mirrors'),
    path: process.env.PATH ?? '/usr/bin:/bin',
    timeoutMs: 60_000,
    now: () => Date.now(),
  })
  const ports = { git, blobs: await openFilesystemBlobs(join(folder, 'blobs')), place: join(folder, 'agents') }
  const repository = { workspaceUid: UID, url: path, credentials: {} }
  const base = { id: SESSION, attempt: 1, baseBranch: 'main', baseCommit: '', branch: '', treeKey: '' }
  return {
    folder,
    ports,
    repository,
    open: (session = {}) =>
      openCheckout(ports, { session: { ...base, ...session }, workspaceUid: UID, repository }, never),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Every file with its mode and content, links with their targets; `.git` left out. */
export function treeOf(folder: string): string {
  const script =
    "find . -path ./.git -prune -o -type f -printf '%m ' -exec sha256sum '{}' ';' -o -type l -printf '%p -> %l\\n' | sort"
  return String(spawnSync('sh', ['-c', script], { cwd: folder }).stdout)
}
