// Repositories through git. A bare mirror is kept per workspace, address and credential; it is fetched under a lock and
// only when what was fetched may be too old. A checkout is a clone of one commit out of the mirror, with objects of its
// own: nothing that a job does to it reaches the mirror or the next run.
import { createHash } from 'node:crypto'
import { chmod, mkdir, open, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checkout, FileSource, Repository, Source } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'
import { parseReference, protocolOf, shownUrl } from './address.ts'
import { git } from './git-process.ts'
import { Locks } from './locks.ts'
import { patiently } from './patience.ts'
import { readTreeFiles } from './tree-files.ts'

export interface GitSourceOptions {
  /** Where mirrors are kept; made when it is missing. */
  readonly folder: string
  /** PATH for git and ssh. */
  readonly path: string
  readonly now: () => number
}

const FRESH_MS = 30_000

export function gitSource(options: GitSourceOptions): Source & FileSource {
  const locks = new Locks()

  const environmentOf = async (repository: Repository, mirror: string): Promise<Record<string, string>> => {
    const protocol = protocolOf(repository.url)
    return {
      PATH: options.path,
      HOME: mirror,
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: await settingsFile(mirror),
      GIT_ALLOW_PROTOCOL: protocol,
      GIT_PROTOCOL_FROM_USER: '0',
      ...(protocol === 'ssh' ? { GIT_SSH_COMMAND: await sshCommand(repository, mirror) } : {}),
      ...authorization(repository),
    }
  }

  /** The mirror of a repository, fetched not before `since`. */
  const fetched = async (repository: Repository, since: number, signal: AbortSignal): Promise<string> => {
    const mirror = join(options.folder, mirrorName(repository))
    return await locks.hold(mirror, async () => {
      await mkdir(mirror, { recursive: true, mode: 0o700 })
      const environment = await environmentOf(repository, mirror)
      const run = (argv: readonly string[]) => git(argv, { environment, cwd: mirror, signal })
      const bare = join(mirror, 'repository.git')
      if (!(await exists(join(bare, 'HEAD')))) {
        await rm(bare, { recursive: true, force: true })
        const made = await run(['init', '--quiet', '--bare', '--template=', bare])
        if (made.code !== 0) throw new SourceFault(`the mirror could not be made: ${lastLine(made.stderr)}`)
        await run(['--git-dir', bare, 'config', 'uploadpack.allowAnySHA1InWant', 'true'])
      }
      if ((await fetchedAt(mirror)) >= since) return bare
      const began = options.now()
      const argv = ['fetch', '--quiet', '--prune', '--force', '--no-tags', '--no-recurse-submodules', '--']
      const refs = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
      const done = await run(['--git-dir', bare, ...argv, repository.url, ...refs])
      if (done.code !== 0) throw new SourceFault(explain(done.stderr))
      await run(['--git-dir', bare, 'symbolic-ref', 'HEAD', 'refs/heads/main'])
      await writeFile(join(mirror, 'fetched'), '')
      await utimes(join(mirror, 'fetched'), began / 1000, began / 1000)
      return bare
    })
  }

  const resolve = async (bare: string, environment: Record<string, string>, reference: string, signal: AbortSignal) => {
    const name = parseReference(reference)
    if (name === null) throw new SourceFault(`"${reference.slice(0, 80)}" is not a branch, tag or commit`)
    const candidates = [`refs/heads/${name}`, `refs/tags/${name}`, ...(/^[0-9a-f]{7,40}$/i.test(name) ? [name] : [])]
    for (const candidate of candidates) {
      const argv = ['--git-dir', bare, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${candidate}^{commit}`]
      const found = await git(argv, { environment, cwd: bare, signal })
      const commit = found.stdout.toString().trim()
      if (found.code === 0 && /^[0-9a-f]{40,64}$/.test(commit)) return { commit, branch: name }
    }
    throw new SourceFault(`there is no branch, tag or commit "${name}" in the repository`)
  }
  const localEnvironment = async (mirror: string): Promise<Record<string, string>> => ({
    PATH: options.path,
    HOME: mirror,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: await settingsFile(mirror),
    GIT_ALLOW_PROTOCOL: 'file',
    GIT_TERMINAL_PROMPT: '0',
  })

  return {
    checkout: async (repository, reference, folder, report, signal): Promise<Checkout> => {
      await report(`Cloning ${shownUrl(repository)} at ${reference}`)
      const bare = await fetched(repository, options.now(), signal)
      const environment = await localEnvironment(join(bare, '..'))
      const { commit, branch } = await resolve(bare, environment, reference, signal)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const run = async (...argv: string[]): Promise<void> => {
        const done = await git(['-C', folder, ...argv], { environment, cwd: folder, signal })
        if (done.code !== 0) throw new SourceFault(`git ${argv[0]} failed: ${lastLine(done.stderr)}`)
      }
      await run('init', '--quiet', '--template=', `--initial-branch=${/^[0-9a-f]{40}$/.test(branch) ? 'main' : branch}`)
      await run('fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', bare, commit)
      await run(
        '-c',
        'core.hooksPath=/dev/null',
        '-c',
        'core.symlinks=true',
        'reset',
        '--quiet',
        '--hard',
        'FETCH_HEAD',
      )
      await run('remote', 'add', '--', 'origin', shownUrl(repository))
      await report(`HEAD is now at ${commit.slice(0, 12)}`)
      return { commit, branch }
    },

    read: async (repository, reference, path, signal) => {
      let stale = false
      let bare: string
      try {
        bare = await fetched(repository, options.now() - FRESH_MS, signal)
      } catch (error) {
        // No call waits for a git host: what was fetched last serves, and the answer says so.
        bare = join(options.folder, mirrorName(repository), 'repository.git')
        if (!(await exists(join(bare, 'FETCH_HEAD')))) throw error
        stale = true
      }
      const environment = await localEnvironment(join(bare, '..'))
      const { commit } = await resolve(bare, environment, reference, signal)
      return { commit, stale, files: await readFiles(bare, environment, commit, path, signal) }
    },

    files: async (repository, wanted, signal) => {
      const fetching = fetched(repository, options.now() - wanted.mayBeMs, signal)
      const warning = await patiently(fetching, wanted.patienceMs)
      const mirror = join(options.folder, mirrorName(repository))
      const at = await fetchedAt(mirror)
      if (!Number.isFinite(at)) throw new SourceFault(warning || 'the repository was not fetched yet')
      const bare = join(mirror, 'repository.git')
      const environment = await localEnvironment(mirror)
      const { commit } = await resolve(bare, environment, wanted.reference, signal)
      const run = (argv: readonly string[], input?: string) =>
        git(['--git-dir', bare, ...argv], { environment, cwd: bare, signal, ...(input === undefined ? {} : { input }) })
      return { commit, fetchedAt: new Date(at), warning, files: await readTreeFiles(run, commit, wanted) }
    },
  }
}

async function readFiles(
  bare: string,
  environment: Record<string, string>,
  commit: string,
  path: string,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const run = (argv: readonly string[]) => git(['--git-dir', bare, ...argv], { environment, cwd: bare, signal })
  const listed = await run(['ls-tree', '-r', '-z', '--full-tree', commit, '--', path])
  const files = new Map<string, string>()
  for (const line of listed.stdout.toString().split('\0')) {
    const match = /^100(?:644|755) blob ([0-9a-f]+)\t(.+)$/s.exec(line)
    if (match === null) continue
    const blob = await run(['cat-file', 'blob', match[1]!])
    if (blob.code === 0 && blob.stdout.length <= 1024 * 1024) files.set(match[2]!, blob.stdout.toString())
  }
  return files
}

/** Nobody reads with another one's rights: the credential is part of the mirror's name, as a hash. */
function mirrorName({ workspaceUid, url, credentials }: Repository): string {
  const { username = '', token = '', ssh_key = '' } = credentials
  return createHash('sha256')
    .update(JSON.stringify([workspaceUid, url, username, token, ssh_key]))
    .digest('hex')
    .slice(0, 40)
}

/** Through the environment, never argv; for this host alone, and no redirect may carry it to another. */
function authorization({ url, credentials }: Repository): Record<string, string> {
  const { username, token } = credentials
  if (token === undefined || !/^https?:/.test(url)) return {}
  const basic = Buffer.from(`${username ?? 'x-access-token'}:${token}`).toString('base64')
  return {
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
    GIT_CONFIG_KEY_1: 'http.followRedirects',
    GIT_CONFIG_VALUE_1: 'false',
  }
}

async function sshCommand({ credentials }: Repository, mirror: string): Promise<string> {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  const known = join(mirror, 'known_hosts')
  const base = ['ssh', '-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=accept-new']
  const argv = [...base, '-o', `UserKnownHostsFile=${known}`, '-o', 'ConnectTimeout=20']
  if (credentials.ssh_key !== undefined) {
    const key = join(mirror, 'key')
    await writePrivate(key, credentials.ssh_key.endsWith('\n') ? credentials.ssh_key : `${credentials.ssh_key}\n`)
    argv.push('-i', key, '-o', 'IdentitiesOnly=yes')
  }
  return argv.map(quoted).join(' ')
}

/** Our own settings for git: repositories of other owners are fine, because we name each one ourselves. */
async function settingsFile(mirror: string): Promise<string> {
  const path = join(mirror, 'gitconfig')
  if (!(await exists(path))) await writePrivate(path, '[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n')
  return path
}

async function writePrivate(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
  await chmod(path, 0o600)
}

async function fetchedAt(mirror: string): Promise<number> {
  return await stat(join(mirror, 'fetched')).then(
    (found) => found.mtimeMs,
    () => Number.NEGATIVE_INFINITY,
  )
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 300) ?? ''

/** What git says, in words that tell what to do, without anything that could be a credential. */
function explain(stderr: string): string {
  const text = stderr.replace(/\/\/[^/@\s]+@/g, '//')
  if (/could not read Username|Authentication failed|HTTP Basic|403|401|Permission denied \(publickey/i.test(text)) {
    return `the host refused the credentials (or there are none): ${lastLine(text)}`
  }
  if (/redirect/i.test(text))
    return `the host redirects, which is not followed with credentials: use the final address. ${lastLine(text)}`
  return `the repository could not be fetched: ${lastLine(text)}`
}
