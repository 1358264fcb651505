// <work folder>/<run>-<attempt>: private to the run, gone with it. What a killed worker left is removed by the next start.
import { chown, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../../store/database.ts'
import { MAX_ID } from '../../store/expected-errors.ts'
import { listHeldAttempts } from '../../store/run-hold.ts'
import type { RunFolders } from './ports.ts'

const PRIVATE = 0o700

export interface WorkPlace {
  /** For the folders of runs. */
  readonly work: string
  /** For what outlives them, a folder for each workspace. */
  readonly cache: string
  /** Whom commands run as, when not as the service. */
  readonly owner?: { readonly uid: number; readonly gid: number } | null
}

/** Made anew: an attempt never finds what another one left. */
export async function makeRunFolders(
  place: WorkPlace,
  of: { readonly runId: number; readonly attempt: number; readonly workspaceUid: string },
): Promise<RunFolders> {
  return await makeFolders(place, `${of.runId}-${of.attempt}`, of.workspaceUid)
}

/** For whatever else is executed like a command of a run. */
export async function makeFolders(place: WorkPlace, name: string, workspaceUid: string): Promise<RunFolders> {
  const root = join(place.work, name)
  const folders: RunFolders = {
    root,
    checkout: join(root, 'checkout'),
    home: join(root, 'home'),
    temporary: join(root, 'tmp'),
    resources: join(root, 'resources'),
    secretFiles: join(root, 'secrets'),
    cache: join(place.cache, workspaceUid),
  }
  await mkdir(place.work, { recursive: true, mode: PRIVATE })
  await removeFolder(root)
  for (const folder of [root, folders.home, folders.temporary, folders.resources, folders.secretFiles])
    await mkdir(folder, { mode: PRIVATE })
  // The others are handed over when a command starts; these it may only read.
  if (place.owner) {
    for (const folder of [folders.resources, folders.secretFiles]) await chown(folder, place.owner.uid, place.owner.gid)
  }
  await mkdir(folders.cache, { recursive: true, mode: PRIVATE })
  return folders
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 })

/** Removes the folders of attempts that nobody holds any more; gives how many. */
export async function removeDeadFolders(db: Db, place: WorkPlace): Promise<number> {
  const names = await readdir(place.work).catch(() => [])
  const found = names.flatMap((name) => {
    const match = /^(\d{1,10})-(\d{1,10})$/.exec(name)
    const [runId, attempt] = [Number(match?.[1]), Number(match?.[2])]
    return match === null || runId > MAX_ID ? [] : [{ name, runId, attempt }]
  })
  if (found.length === 0) return 0
  const held = await listHeldAttempts(
    db,
    found.map((one) => one.runId),
  )
  const dead = found.filter((one) => !held.some((hold) => hold.runId === one.runId && hold.attempt === one.attempt))
  for (const { name } of dead) await removeFolder(join(place.work, name))
  return dead.length
}
