/** Everything that must be there before a server can run: the folder, its passwords, the libraries, the cluster. */
import { chown, mkdir, readdir, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Passwords,
  placeCluster,
  prepareDataFolder,
  readOrMakePasswords,
  removeUnfinishedClusters,
  unless,
} from './embedded-postgres-files.ts'
import { SUPERUSER } from './embedded-postgres-locks.ts'
import { type Binaries, findBinaries, linkLibraries } from './embedded-postgres-package.ts'
import { chooseLaunch, type Launch, runInitdb } from './embedded-postgres-process.ts'

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface EmbeddedPostgresOptions {
  readonly dataFolder: string
  /** `serve` for the one process that serves from this folder; `command` for everything short beside it. */
  readonly purpose: 'serve' | 'command'
  readonly log: Log
  /** While its server was down, another process began to serve from the folder: this one must stop. */
  readonly onLost?: (error: Error) => void
}

/** What only tests reach: a cluster without durability, and the way round user namespaces. */
export interface Internals {
  readonly settings?: Readonly<Record<string, string>>
  readonly userNamespaces?: boolean
}

export interface Site {
  readonly data: string
  readonly cluster: string
  readonly passwords: Passwords
  readonly binaries: Binaries
  readonly launch: Launch
  readonly settings: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly purpose: 'serve' | 'command'
  readonly log: Log
}

export async function prepareSite(
  options: EmbeddedPostgresOptions,
  internals: Internals,
  signal: AbortSignal,
): Promise<Site> {
  const { purpose, log } = options
  const binaries = findBinaries()
  const launch = await chooseLaunch(internals)
  if (launch.switchesUser) log.warn({ user: launch.owner }, 'no user namespaces here: PostgreSQL runs as another user')
  const data = await prepareDataFolder(options.dataFolder, launch.switchesUser ? 0o711 : 0o700)
  await removeUnfinishedClusters(data)
  const cluster = join(data, 'postgres')
  const exists = (await stat(cluster).catch(unless('ENOENT'))) !== undefined
  const passwords = await readOrMakePasswords(data, exists)
  await linkLibraries(data, binaries)
  const { settings = {} } = internals
  const site = { data, cluster, passwords, binaries, launch, settings, signal, purpose, log }
  if (!exists) await makeCluster(site)
  await giveCluster(cluster, launch.owner)
  return site
}

/** Made beside its place and moved there when finished: a crash leaves no half cluster, and of two makers one wins. */
async function makeCluster(site: Site): Promise<void> {
  const made = `${site.cluster}.${process.pid}`
  const passwordFile = `${made}.password`
  const { owner } = site.launch
  await mkdir(made, { mode: 0o700 })
  await writeFile(passwordFile, site.passwords.owner, { mode: 0o600 })
  if (site.launch.switchesUser) for (const path of [made, passwordFile]) await chown(path, owner, owner)
  try {
    await runInitdb(site, { folder: made, superuser: SUPERUSER, passwordFile, durable: site.settings.fsync !== 'off' })
  } finally {
    await unlink(passwordFile)
  }
  if (await placeCluster(made, site.cluster)) site.log.info({ folder: site.cluster }, 'database made')
}

/** Where the way of running PostgreSQL has changed, the cluster may still belong to another user. */
async function giveCluster(cluster: string, owner: number): Promise<void> {
  if ((await stat(cluster)).uid === owner || process.getuid?.() !== 0) return
  for (const path of await readdir(cluster, { recursive: true })) await chown(join(cluster, path), owner, owner)
  await chown(cluster, owner, owner)
}
