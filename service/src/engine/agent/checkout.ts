// The files that a session works on. `folder` is the work tree; the git folder lies beside it, outside of what a sandbox
// can write. After each step that changed something the tree is kept as a bundle in the blob store, so that any host can
// go on from it: base commit plus bundle give the same tree and the same commits. Files that git ignores are not kept.
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type AgentSession, branchPrefixOf } from '../../domain/agent-session.ts'
import type { AgentGit } from '../../ports/agent-git.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import { type Repository, SourceFault } from '../../ports/source.ts'

export interface AgentCheckout {
  /** Private to the session and the attempt; holds everything below. */
  readonly root: string
  /** The work tree, by its real path. */
  readonly folder: string
  readonly gitFolder: string
  /** The commit of the base that it began from. */
  readonly baseCommit: string
  /** The session's own branch, `agent/<session>/<word>`; commits go there. */
  readonly branch: string
}

export interface CheckoutPorts {
  readonly git: AgentGit
  readonly blobs: BlobStore
  /** For the folders of all sessions of this host, such as `<data>/agents`. */
  readonly place: string
}

export interface WantedCheckout {
  readonly session: Pick<AgentSession, 'id' | 'attempt' | 'baseBranch' | 'baseCommit' | 'branch' | 'treeKey'>
  readonly workspaceUid: string
  readonly repository: Repository
}

export interface Kept {
  /** For the row of the session; empty: nothing differs from the base. */
  readonly key: string
  /** What is not kept, and why: for the journal, and for the model. */
  readonly notes: readonly string[]
}

export interface OpenedCheckout extends AgentCheckout {
  /** Keeps the tree and the branch. The same key again when nothing changed since. */
  keep(signal: AbortSignal): Promise<Kept>
  /** Takes away what an earlier `keep` stored. Call it when the row of the session names another key. */
  forget(key: string): Promise<void>
  /** Removes the folders; what was kept stays. Safe to call twice. */
  drop(): Promise<void>
}

/** Where commits of a session go when nobody says otherwise. */
const WORD = 'work'
const KEY = /^[0-9a-f]{64}$/
const PRIVATE = 0o700

/** At the base, or where the session was kept last. Rejects with a SourceFault for what a person can mend. */
export async function openCheckout(
  ports: CheckoutPorts,
  wanted: WantedCheckout,
  signal: AbortSignal,
): Promise<OpenedCheckout> {
  const { git, blobs } = ports
  const { session, workspaceUid, repository } = wanted
  await mkdir(ports.place, { recursive: true, mode: PRIVATE })
  const root = join(await realpath(ports.place), `${session.id}-${session.attempt}`)
  await removeTree(root)
  await mkdir(root, { mode: PRIVATE })
  const place = { folder: join(root, 'tree'), gitFolder: join(root, 'git') }
  const bundle = join(root, 'bundle')
  const branch = session.branch || `${branchPrefixOf(session.id)}${WORD}`
  try {
    const reference = session.baseCommit || session.baseBranch
    const { commit } = await git.open(place, { repository, reference, branch }, signal)
    if (session.treeKey !== '') {
      await fetchBundle(blobs, { workspaceUid, key: session.treeKey, bundle }, signal)
      await git.restore(place, bundle, signal)
      await rm(bundle)
    }
    let last: { readonly head: string; readonly tree: string; readonly key: string } | null = null
    return {
      root,
      ...place,
      baseCommit: commit,
      branch,
      keep: async (until) => {
        const { head, tree, made, notes } = await git.bundle(place, bundle, until)
        try {
          const isSame = last !== null && last.head === head && last.tree === tree
          const key = isSame ? last!.key : made ? await store(blobs, { workspaceUid, bundle }, until) : ''
          last = { head, tree, key }
          return { key, notes }
        } finally {
          await rm(bundle, { force: true })
        }
      },
      forget: async (key) => {
        if (KEY.test(key)) await blobs.delete(workspaceUid, Buffer.from(key, 'hex'))
      },
      drop: () => removeTree(root),
    }
  } catch (error) {
    await removeTree(root)
    throw error
  }
}

async function store(
  blobs: BlobStore,
  { workspaceUid, bundle }: { readonly workspaceUid: string; readonly bundle: string },
  signal: AbortSignal,
): Promise<string> {
  const { sha256 } = await blobs.put(workspaceUid, createReadStream(bundle), signal)
  return sha256.toString('hex')
}

async function fetchBundle(
  blobs: BlobStore,
  { workspaceUid, key, bundle }: { readonly workspaceUid: string; readonly key: string; readonly bundle: string },
  signal: AbortSignal,
): Promise<void> {
  const content = KEY.test(key) ? await blobs.get(workspaceUid, Buffer.from(key, 'hex')) : null
  if (content === null) throw new SourceFault('what the session had changed is not in the blob store any more')
  await pipeline(content, createWriteStream(bundle, { flags: 'wx', mode: 0o600 }), { signal })
}

/** Folders that a command took its own rights from are given them back, so that they can be removed. */
export async function removeTree(folder: string): Promise<void> {
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 })
  try {
    await remove()
  } catch {
    await openUp(folder)
    await remove()
  }
}

async function openUp(folder: string): Promise<void> {
  // Of a link the target would be changed.
  if (!(await lstat(folder)).isDirectory()) return
  await chmod(folder, PRIVATE)
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await openUp(join(folder, entry.name))
}

/** Removes what killed workers of this host left; `isHeld` says which attempts are going. Gives how many. */
export async function removeDeadCheckouts(
  place: string,
  isHeld: (sessionId: string, attempt: number) => boolean,
): Promise<number> {
  let count = 0
  for (const name of await readdir(place).catch(() => [])) {
    const [, id, attempt] = /^([a-z0-9]{16})-(\d{1,10})$/.exec(name) ?? []
    if (id === undefined || isHeld(id, Number(attempt))) continue
    await removeTree(join(place, name))
    count++
  }
  return count
}
