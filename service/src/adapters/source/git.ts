// Repositories through git. A mirror is fetched under a lock and only when what was fetched may be too old. A checkout is
// a clone of one commit out of the mirror, with objects of its own: nothing that a job does to it reaches the mirror or
// the next run.
import { mkdir } from 'node:fs/promises'
import { parseReference } from '../../domain/git-reference.ts'
import type { Checkout, FileSource, Repository, Source } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'
import { shownUrl } from './address.ts'
import { localEnvironment } from './git-environment.ts'
import { git } from './git-process.ts'
import { gist, type Mirror, Mirrors } from './mirror.ts'
import { patiently } from './patience.ts'
import { readTreeFiles } from './tree-files.ts'

export interface GitSourceOptions {
  /** Where mirrors are kept; made when it is missing. */
  readonly folder: string
  /** PATH for git and ssh. */
  readonly path: string
  /** Further variables for a fetch: proxies and certificates. */
  readonly variables?: Readonly<Record<string, string>>
  /** Folders of the service that no local address may lead into; the mirrors are among them. */
  readonly closed?: readonly string[]
  /** Repositories inside of those that may be used. */
  readonly open?: readonly string[]
  /** Of one git process. */
  readonly timeoutMs?: number
  readonly now: () => number
}

export const TIMEOUT_MS = 600_000
const FRESH_MS = 30_000
const WHOLE_COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/

export function openMirrors({ folder, path, now, timeoutMs = TIMEOUT_MS, ...options }: GitSourceOptions): Mirrors {
  const own = { closed: [folder, ...(options.closed ?? [])], open: options.open ?? [] }
  return new Mirrors({ folder, path, variables: options.variables ?? {}, own, timeoutMs, now })
}

export function gitSource(options: GitSourceOptions): Source & FileSource {
  const { folder, path, now, timeoutMs = TIMEOUT_MS } = options
  const mirrors = openMirrors(options)

  return {
    checkout: async (repository, reference, target, report, signal): Promise<Checkout> => {
      const name = parsed(reference)
      await report(`Cloning ${shownUrl(repository)} at ${reference}`)
      const { mirror, commit } = await mirrored(mirrors, repository, { reference, now: now() }, signal)
      await mkdir(target, { recursive: true, mode: 0o700 })
      const environment = await localEnvironment(path, folder)
      const run = async (...argv: string[]): Promise<void> => {
        const done = await git(['-C', target, ...argv], { environment, cwd: target, signal, timeoutMs })
        if (done.code !== 0) throw new SourceFault(`git ${argv[0]} failed: ${gist(done.stderr)}`)
      }
      await run('init', '--quiet', '--template=', `--initial-branch=${WHOLE_COMMIT.test(name) ? 'main' : name}`)
      await run('fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', mirror.bare, commit)
      await run('reset', '--quiet', '--hard', 'FETCH_HEAD')
      await run('remote', 'add', '--', 'origin', shownUrl(repository))
      await report(`HEAD is now at ${commit.slice(0, 12)}`)
      return { commit, branch: name }
    },

    read: async (repository, reference, within, signal) => {
      const name = parsed(reference)
      let stale = false
      let mirror: Mirror
      try {
        mirror = await mirrors.fetched(repository, now() - FRESH_MS, signal)
      } catch (error) {
        // No call waits for a git host: what was fetched last serves, and the answer says so.
        const last = signal.aborted ? null : await mirrors.find(repository)
        if (last === null) throw error
        mirror = last
        stale = true
      }
      const commit = await resolve(mirror, name, signal)
      return { commit, stale, files: await readFiles(mirror, commit, within, signal) }
    },

    files: async (repository, wanted, signal) => {
      const name = parsed(wanted.reference)
      const fetching = mirrors.fetched(repository, now() - wanted.mayBeMs, signal)
      const warning = await patiently(fetching, wanted.patienceMs)
      const mirror = await mirrors.find(repository)
      if (mirror === null) throw new SourceFault(warning || 'the repository was not fetched yet')
      const commit = await resolve(mirror, name, signal)
      const run = (argv: readonly string[], input?: string) => mirror.run(argv, signal, input)
      const files = await readTreeFiles(run, commit, wanted)
      return { commit, fetchedAt: new Date(mirror.fetchedAt), warning, files }
    },
  }
}

/** The mirror with the commit of a reference in it, asked for at the host unless it is a commit that is there already. */
export async function mirrored(
  mirrors: Mirrors,
  repository: Repository,
  { reference, now }: { readonly reference: string; readonly now: number },
  signal: AbortSignal,
): Promise<{ readonly mirror: Mirror; readonly commit: string }> {
  const name = parsed(reference)
  // A whole commit that is there already is what it will ever be.
  const known = WHOLE_COMMIT.test(name) ? await mirrors.find(repository) : null
  const there = known && (await commitOf(known, name, signal)) === name ? known : null
  const mirror = there ?? (await mirrors.fetched(repository, now, signal))
  if (WHOLE_COMMIT.test(name) && (await commitOf(mirror, name, signal)) === null)
    await mirrors.fetchCommit(repository, name, signal)
  return { mirror, commit: await resolve(mirror, name, signal) }
}

function parsed(reference: string): string {
  const name = parseReference(reference)
  if (name === null) throw new SourceFault(`${JSON.stringify(reference.slice(0, 80))} is not a branch, tag or commit`)
  return name
}

async function commitOf(mirror: Mirror, candidate: string, signal: AbortSignal): Promise<string | null> {
  const argv = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${candidate}^{commit}`]
  const found = await mirror.run(argv, signal)
  const commit = found.stdout.toString().trim()
  return found.code === 0 && WHOLE_COMMIT.test(commit) ? commit : null
}

/** A branch before a tag before a commit. */
async function resolve(mirror: Mirror, name: string, signal: AbortSignal): Promise<string> {
  const candidates = [`refs/heads/${name}`, `refs/tags/${name}`, ...(/^[0-9a-f]{7,64}$/i.test(name) ? [name] : [])]
  for (const candidate of candidates) {
    const commit = await commitOf(mirror, candidate, signal)
    if (commit !== null) return commit
  }
  throw new SourceFault(`there is no branch, tag or commit "${name}" in the repository`)
}

const MOST_BYTES = 1024 * 1024

async function readFiles(
  mirror: Mirror,
  commit: string,
  path: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const listed = await mirror.run(['ls-tree', '-r', '-z', '--long', '--full-tree', commit, '--', path], signal)
  const files = new Map<string, string>()
  for (const line of listed.stdout.toString().split('\0')) {
    const match = /^100(?:644|755) blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line)
    if (match === null || Number(match[2]) > MOST_BYTES) continue
    const blob = await mirror.run(['cat-file', 'blob', match[1]!], signal)
    if (blob.code === 0) files.set(match[3]!, blob.stdout.toString())
  }
  return files
}
