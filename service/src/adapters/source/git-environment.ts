// What git is told by its environment: settings of ours that stand above those of any repository, the one protocol that
// it may speak, and credentials, which are never in its arguments.
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../ports/source.ts'
import { type Protocol, protocolOf } from './address.ts'
import { identityOf } from './locks.ts'

type Variables = Record<string, string>

// As variables, because those are stronger than what a repository's own file says.
const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.symlinks', 'true'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['submodule.recurse', 'false'],
  // What tidies up a mirror is part of the fetch, under its lock.
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  // A redirect could carry credentials, or a request with our address, to another host.
  ['http.followRedirects', 'false'],
]

function settings(pairs: readonly (readonly [string, string])[]): Variables {
  const numbered = pairs.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(pairs.length), ...Object.fromEntries(numbered) }
}

/** For work on this machine alone. `home` holds our settings file, and nothing of a user's. */
export async function localEnvironment(path: string, home: string, protocol: Protocol = 'file'): Promise<Variables> {
  return {
    PATH: path,
    HOME: home,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: await settingsFile(home),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_PROTOCOL_FROM_USER: '0',
    ...settings(SETTINGS),
  }
}

/** For a fetch, with credentials. What it put on the disk is gone when `work` has ended. */
export async function withCredentials<T>(
  repository: Repository,
  { path, home, variables }: { readonly path: string; readonly home: string; readonly variables: Variables },
  work: (environment: Variables) => Promise<T>,
): Promise<T> {
  const protocol = protocolOf(repository.url)
  const environment = { ...variables, ...(await localEnvironment(path, home, protocol)) }
  if (protocol === 'https' || protocol === 'http')
    return await work({ ...environment, ...settings([...SETTINGS, ...authorization(repository)]) })
  if (protocol !== 'ssh') return await work(environment)
  const folder = join(home, `${KEYS}${(await identityOf(process.pid)).replace(' ', '-')}`)
  try {
    return await work({ ...environment, GIT_SSH_COMMAND: await sshCommand(repository, home, folder) })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The beginning of the names of folders that hold a key for the time of a fetch; then the process. */
export const KEYS = 'key-'

/** For this host alone. */
function authorization({ url, credentials }: Repository): [string, string][] {
  const { username, token } = credentials
  if (token === undefined) return []
  const basic = Buffer.from(`${username ?? 'x-access-token'}:${token}`).toString('base64')
  return [[`http.${new URL(url).origin}/.extraHeader`, `Authorization: Basic ${basic}`]]
}

async function sshCommand({ credentials }: Repository, home: string, folder: string): Promise<string> {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  const base = ['ssh', '-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=accept-new']
  const argv = [...base, '-o', `UserKnownHostsFile=${join(home, 'known_hosts')}`, '-o', 'ConnectTimeout=20']
  // A host that falls silent is given up, also by an ssh whose git was killed.
  argv.push('-o', 'ServerAliveInterval=30', '-o', 'ServerAliveCountMax=4')
  // Not those of whoever runs the service, nor of an agent that listens for them.
  argv.push('-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none')
  if (credentials.ssh_key === undefined) argv.push('-o', 'IdentityFile=none')
  else {
    const key = join(folder, 'key')
    await mkdir(folder, { mode: 0o700 })
    await writePrivate(key, credentials.ssh_key.endsWith('\n') ? credentials.ssh_key : `${credentials.ssh_key}\n`)
    argv.push('-i', key)
  }
  return argv.map(quoted).join(' ')
}

/** Repositories of other owners are fine, because we name each one ourselves. Only a file can say so to upload-pack. */
async function settingsFile(home: string): Promise<string> {
  const path = join(home, 'gitconfig')
  if (await exists(path)) return path
  // Others may be about to read it: it comes into its place whole.
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await mkdir(home, { recursive: true, mode: 0o700 })
  await writePrivate(draft, '[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n')
  await rename(draft, path)
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

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
