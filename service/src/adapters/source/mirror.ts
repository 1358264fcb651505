// Bare mirrors, one per workspace, address and credential: nobody reads with another one's rights. A mirror is made
// whole or not at all, and one that a killed fetch left with locks, or that is damaged, is mended by the next fetch.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'
import { protocolOf } from './address.ts'
import { exists, KEYS, localEnvironment, withCredentials } from './git-environment.ts'
import { type GitResult, git } from './git-process.ts'
import { type OwnFolders, refuseOwnFolders } from './local-repository.ts'
import { Locks, removeLeftBehind } from './locks.ts'

export interface MirrorOptions {
  readonly folder: string
  readonly path: string
  readonly variables: Readonly<Record<string, string>>
  readonly own: OwnFolders
  readonly timeoutMs: number
  readonly now: () => number
}

export interface Mirror {
  /** Of the bare repository. */
  readonly bare: string
  /** `input` is what git reads from its standard input. */
  run(argv: readonly string[], signal: AbortSignal, input?: string): Promise<GitResult>
  /** When the host last answered. */
  readonly fetchedAt: number
}

export class Mirrors {
  readonly #options: MirrorOptions
  readonly #locks = new Locks()
  #cleaned: Promise<void> | null = null

  constructor(options: MirrorOptions) {
    this.#options = options
  }

  /** The mirror as it is, without a fetch; null when there is none. Throws for an address that git may not be given. */
  async find(repository: Repository): Promise<Mirror | null> {
    await this.#admit(repository)
    const home = join(this.#options.folder, mirrorName(repository))
    return (await exists(join(home, FETCHED))) ? await this.#mirror(home) : null
  }

  /** The mirror, fetched after `since`: what was pushed before it is there. */
  async fetched(repository: Repository, since: number, signal: AbortSignal): Promise<Mirror> {
    await this.#admit(repository)
    const home = join(this.#options.folder, mirrorName(repository))
    const work = async (): Promise<Mirror> => {
      await mkdir(home, { recursive: true, mode: 0o700 })
      if ((await fetchedAt(home)) <= since) {
        const began = this.#options.now()
        await this.#bringUpToDate(repository, home, signal)
        await replaceFile(join(home, FETCHED), String(began))
      }
      return await this.#mirror(home)
    }
    try {
      return await this.#locks.hold(home, work, signal)
    } catch (error) {
      if (signal.aborted) throw new SourceFault('stopped', { cause: error })
      throw error
    }
  }

  /** A commit that is on no branch of ours, such as that of a fork: hosts give it by its name. False when they do not. */
  async fetchCommit(repository: Repository, commit: string, signal: AbortSignal): Promise<boolean> {
    const home = join(this.#options.folder, mirrorName(repository))
    return await this.#locks.hold(
      home,
      async () => {
        // Named, so that it stays: what no name leads to may be thrown away.
        const done = await this.#fetch(repository, home, signal, [`+${commit}:refs/commits/${commit}`])
        return done.code === 0
      },
      signal,
    )
  }

  /**
   * Sends a commit of another repository on this machine to a branch of the host, never forced. Under the mirror's lock:
   * a fetch puts the key of the same credentials at the same place.
   */
  async push(
    repository: Repository,
    from: { readonly gitFolder: string; readonly commit: string; readonly branch: string },
    signal: AbortSignal,
  ): Promise<GitResult> {
    await this.#admit(repository)
    const { folder, path, variables, timeoutMs } = this.#options
    const home = join(folder, mirrorName(repository))
    const flags = ['--porcelain', '--no-verify', '--no-signed', '--no-follow-tags', '--recurse-submodules=no']
    // The hooks of a repository on this machine would run with the rights of the service.
    const local = protocolOf(repository.url) === 'file' ? [`--receive-pack=${RECEIVE_LOCALLY}`] : []
    const refs = `${from.commit}:refs/heads/${from.branch}`
    const argv = ['--git-dir', from.gitFolder, 'push', ...flags, ...local, '--', repository.url, refs]
    const work = async (): Promise<GitResult> => {
      await mkdir(home, { recursive: true, mode: 0o700 })
      return await withCredentials(repository, { path, home, variables: { ...variables } }, (environment) =>
        git(argv, { environment, cwd: home, signal, timeoutMs }),
      )
    }
    return await this.#locks.hold(home, work, signal)
  }

  async #mirror(home: string): Promise<Mirror> {
    const { path, timeoutMs } = this.#options
    const bare = join(home, BARE)
    const environment = await localEnvironment(path, home)
    return {
      bare,
      fetchedAt: await fetchedAt(home),
      run: (argv, signal, input) =>
        git(['--git-dir', bare, ...argv], {
          environment,
          cwd: home,
          signal,
          timeoutMs,
          ...(input !== undefined && { input }),
        }),
    }
  }

  async #admit({ url }: Repository): Promise<void> {
    if (protocolOf(url) === 'file') await refuseOwnFolders(url, this.#options.own)
    this.#cleaned ??= this.#removeKeys()
    await this.#cleaned
  }

  /** What a process that was killed in the middle of a fetch left. */
  async #removeKeys(): Promise<void> {
    const { folder } = this.#options
    for (const name of await readdir(folder).catch(() => [])) await removeLeftBehind(join(folder, name), KEYS)
  }

  async #bringUpToDate(repository: Repository, home: string, signal: AbortSignal): Promise<void> {
    await this.#make(home, signal)
    await removeStaleLocks(join(home, BARE))
    const first = await this.#fetch(repository, home, signal)
    if (first.code === 0) return
    if (!DAMAGED.test(first.stderr)) throw new SourceFault(explain(first.stderr))
    // A mirror holds nothing that the host does not have.
    await rm(join(home, BARE), { recursive: true, force: true })
    await this.#make(home, signal)
    const second = await this.#fetch(repository, home, signal)
    if (second.code !== 0) throw new SourceFault(explain(second.stderr))
  }

  async #make(home: string, signal: AbortSignal): Promise<void> {
    const { path, timeoutMs } = this.#options
    const bare = join(home, BARE)
    if (await exists(join(bare, 'HEAD'))) return
    const draft = join(home, 'draft.git')
    for (const folder of [bare, draft]) await rm(folder, { recursive: true, force: true })
    const environment = await localEnvironment(path, home)
    for (const argv of [
      ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', draft],
      // A checkout asks for a commit by its name.
      ['--git-dir', draft, 'config', 'uploadpack.allowAnySHA1InWant', 'true'],
    ]) {
      const made = await git(argv, { environment, cwd: home, signal, timeoutMs })
      if (made.code !== 0) throw new SourceFault(`the mirror could not be made: ${gist(made.stderr)}`)
    }
    await rename(draft, bare)
  }

  async #fetch(
    repository: Repository,
    home: string,
    signal: AbortSignal,
    refs: readonly string[] = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'],
  ): Promise<GitResult> {
    const { path, variables, timeoutMs } = this.#options
    const flags = ['--quiet', '--prune', '--force', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head']
    const argv = ['--git-dir', join(home, BARE), 'fetch', ...flags, '--', repository.url, ...refs]
    return await withCredentials(repository, { path, home, variables: { ...variables } }, (environment) =>
      git(argv, { environment, cwd: home, signal, timeoutMs }),
    )
  }
}

const BARE = 'repository.git'
const RECEIVE_LOCALLY =
  'git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c receive.denyCurrentBranch=refuse -c gc.auto=0 receive-pack'
const FETCHED = 'fetched'

const DAMAGED =
  /not a git repository|bad object|corrupt|unable to read (tree|sha1)|loose object|index-pack died|missing (blob|tree|commit)|bad (signature|config|tree)|unresolved delta|does not match index|invalid (sha1|object|index-pack)|Failed to traverse|did not send all necessary|unable to (parse|map)|object file .* is empty|packfile .* (cannot|is far too short)|cannot be (accessed|mapped)|bad config line|fatal: (bad|broken)/i

/** The credential is part of the mirror's name, as a hash. */
function mirrorName({ workspaceUid, url, credentials }: Repository): string {
  const { username = '', token = '', ssh_key = '' } = credentials
  return createHash('sha256')
    .update(JSON.stringify([workspaceUid, url, username, token, ssh_key]))
    .digest('hex')
    .slice(0, 40)
}

/** Of a git that was killed; a living one dies with its service, and another service waits for the turn. */
async function removeStaleLocks(bare: string): Promise<void> {
  const names = await readdir(bare, { recursive: true }).catch(() => [])
  for (const name of names) {
    if (name.endsWith('.lock') || /(^|\/)tmp_(obj|pack|idx|rev)_|(^|\/)incoming-/.test(name))
      await rm(join(bare, name), { recursive: true, force: true })
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.draft`, text, { mode: 0o600 })
  await rename(`${path}.draft`, path)
}

const fetchedAt = async (home: string): Promise<number> =>
  Number((await readFile(join(home, FETCHED), 'utf8').catch(() => '')) || Number.NEGATIVE_INFINITY)

/** What went wrong, out of all that git says: its last words are often only advice. */
export function gist(stderr: string): string {
  const lines = stderr.trim().split('\n')
  const faults = lines.filter((line) => /^(error|fatal|remote): /.test(line))
  return (faults.length === 0 ? lines.slice(-1) : faults).slice(0, 3).join(' ').slice(0, 300)
}

/** What git says, in words that tell what to do, without anything that could be a credential. */
export function explain(stderr: string): string {
  const text = stderr.replace(/\/\/[^/@\s]+@/g, '//')
  const said = gist(text)
  if (/could not read Username|Authentication failed|HTTP Basic|\b40[13]\b|Permission denied \(publickey/i.test(text))
    return `the host refused the credentials (or there are none): ${said}`
  if (/redirect|\b30[1278]\b/i.test(text))
    return `the host redirects, which is not followed: use the final address. ${said}`
  return `the repository could not be fetched: ${said}`
}
