// Schedules as code: what the files of a workspace's repository say becomes its schedules. The git host is asked before
// anything in the database is touched; the change itself is one transaction, under the lock of all references, so that
// two servers do it one after the other. The later of two looks at the host wins, whichever of them comes to it first.
import { notFound } from '../domain/errors.ts'
import type { FileReading } from '../domain/schedule-file.ts'
import { brokenFile, readScheduleFile } from '../domain/schedule-file.ts'
import type { ScheduleFileNames } from '../domain/schedule-file-names.ts'
import { isScheduleFile } from '../domain/schedule-file-names.ts'
import { hasControl } from '../domain/text.ts'
import type { FileSource, Repository, SourceFile } from '../ports/source.ts'
import { SourceFault } from '../ports/source.ts'
import type { Db } from '../store/database.ts'
import * as due from '../store/due-schedules.ts'
import * as environments from '../store/environments.ts'
import { openValues } from '../store/run-facts.ts'
import type { SyncState } from '../store/schedule-files.ts'
import * as files from '../store/schedule-files.ts'
import * as references from '../store/schedule-references.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import type { ScheduleChanges } from './schedule-changes.ts'
import { applyChanges, findChanges } from './schedule-changes.ts'

export type { SyncState } from '../store/schedule-files.ts'

/** Raised when the same file can come to mean something else. */
const READER = 1

export interface SyncOptions {
  readonly source: FileSource
  readonly names: ScheduleFileNames
  /** How old what was fetched may be; 0 asks the host. */
  readonly mayBeMs: number
  readonly patienceMs: number
  readonly signal: AbortSignal
}

export type SyncOutcome =
  | { readonly kind: 'no-repository' | 'stopped' }
  /** Nothing could be read: the git host, the branch. */
  | { readonly kind: 'unread'; readonly warning: string }
  /** The same commit as before, or an older one than somebody else has seen. */
  | { readonly kind: 'unchanged'; readonly commit: string; readonly warning: string }
  | {
      readonly kind: 'synced'
      readonly commit: string
      readonly warning: string
      readonly changes: ScheduleChanges
    }

export async function syncScheduleFiles(ctx: Context, options: SyncOptions): Promise<SyncOutcome> {
  const workspace = workspaceOf(ctx)
  const place = await findRepository(ctx, ctx.db)
  if (place === null) return { kind: 'no-repository' }
  const { repository, branch } = place
  const checked = { repositoryUrl: repository.url, branch, checkedAt: await due.now(ctx.db) }
  const { names, mayBeMs, patienceMs } = options
  let read: Awaited<ReturnType<FileSource['files']>>
  try {
    const wanted = { reference: branch, paths: [...names.folders, ...names.files], accepts: isScheduleFile(names) }
    read = await options.source.files(repository, { ...wanted, mayBeMs, patienceMs }, options.signal)
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error
    if (options.signal.aborted) return { kind: 'stopped' }
    const warning = `The files could not be read: ${error.message}.`
    await files.saveChecked(ctx.db, workspace.id, { ...checked, warning })
    return { kind: 'unread', warning }
  }
  const { commit, fetchedAt } = read
  const warning = read.warning && `What was fetched before is used: ${read.warning}.`
  const settings = JSON.stringify({ reader: READER, ...names })
  const seen = { ...checked, warning, commitHash: commit, fetchedAt, settings }
  if (isDone(await files.findSync(ctx.db, workspace.id), seen)) {
    await files.saveChecked(ctx.db, workspace.id, seen)
    return { kind: 'unchanged', commit, warning }
  }
  const readings = await readAll(read.files)
  return await mutate(ctx, async (unit) => {
    await references.lockReferences(unit.db)
    const before = await files.findSync(unit.db, workspace.id)
    if (isDone(before, seen) || isOlder(seen, before)) {
      await files.saveChecked(unit.db, workspace.id, seen)
      return { kind: 'unchanged', commit, warning }
    }
    await files.lockMany(unit.db, workspace.id, slugsOf(readings))
    const changes = await findChanges(ctx, unit.db, readings)
    await applyChanges(ctx, unit, changes)
    await files.saveSync(unit.db, workspace.id, { ...seen, files: changes.plan.files, findings: changes.plan.findings })
    recordChanges(unit, changes, commit)
    return { kind: 'synced', commit, warning, changes }
  })
}

type Seen = Pick<SyncState, 'repositoryUrl' | 'branch' | 'commitHash' | 'settings'> & { readonly fetchedAt: Date }

/** What had faults or warnings is looked at again: an environment, a schedule or a person may be there by now. */
const isDone = (before: SyncState | null, seen: Seen): boolean =>
  before !== null &&
  before.findings.length === 0 &&
  before.syncedAt !== null &&
  (['repositoryUrl', 'branch', 'commitHash', 'settings'] as const).every((field) => before[field] === seen[field])

/** Another server has seen the host later than this one: it cannot be reached from here, or was slow. */
const isOlder = (seen: Seen, before: SyncState | null): boolean =>
  before?.fetchedAt != null &&
  before.repositoryUrl === seen.repositoryUrl &&
  before.branch === seen.branch &&
  before.commitHash !== seen.commitHash &&
  before.fetchedAt > seen.fetchedAt

const slugsOf = (readings: readonly FileReading[]): string[] =>
  readings.flatMap((one) => one.schedules).map((one) => one.slug)

/** The default scheduler environment's; its deployment branch, else its default branch. */
async function findRepository(ctx: Context, db: Db): Promise<{ repository: Repository; branch: string } | null> {
  const workspace = workspaceOf(ctx)
  const all = await environments.list(db, workspace.id)
  const found = all.find((one) => one.type === 'scheduler' && one.isDefault)
  if (found === undefined || found.repositoryUrl === '') return null
  const { credentials } = await openValues(db, ctx.vault, { workspaceId: workspace.id, environmentId: found.id })
  return {
    repository: { workspaceUid: workspace.uid, url: found.repositoryUrl, credentials },
    branch: found.deploymentBranch ?? found.defaultBranch,
  }
}

/** One file after the other, with room for requests between them. */
export async function readAll(all: readonly SourceFile[]): Promise<FileReading[]> {
  const readings: FileReading[] = []
  for (const { path, content } of all) {
    await new Promise(setImmediate)
    if (hasControl(path)) readings.push(brokenFile(JSON.stringify(path), 'has a name with control characters'))
    else if ('refused' in content) readings.push(brokenFile(path, `${content.refused}.`))
    else readings.push(readScheduleFile(path, content.text))
  }
  return readings
}

function recordChanges(unit: Unit, changes: ScheduleChanges, commit: string): void {
  const slugs = {
    created: changes.created.map((one) => one.wanted.slug),
    restored: changes.restored.map((one) => one.wanted.slug),
    changed: changes.changed.map((one) => one.wanted.slug),
    removed: changes.removed.map((one) => one.slug),
  }
  if (Object.values(slugs).some((list) => list.length > 0)) unit.record('schedule_files_synced', { commit, ...slugs })
}

/** What would change if these files were the repository's: nothing is written. */
export async function planScheduleFiles(ctx: Context, all: readonly SourceFile[]): Promise<ScheduleChanges> {
  return await findChanges(ctx, ctx.db, await readAll(all))
}

/**
 * The files are looked at as soon as the transaction is there; nobody waits for the git host here. For whoever knows that
 * the branch has moved: a person, a hook of the git host.
 */
export async function askForSync(unit: Pick<Unit, 'db' | 'queue'>, workspaceId: number): Promise<void> {
  await unit.queue.send(unit.db, 'schedule-files', { workspaceId })
}

/** When, as an ISO time: the answer may be given again from what was stored. */
export async function requestScheduleSync(ctx: Context): Promise<{ requestedAt: string }> {
  return await mutate(ctx, async (unit) => {
    if ((await findRepository(ctx, unit.db)) === null) {
      throw notFound(
        'This workspace has no repository that could hold files: set repositoryUrl of its default scheduler environment.',
      )
    }
    const requestedAt = (await due.now(unit.db)).toISOString()
    await askForSync(unit, workspaceOf(ctx).id)
    unit.record('schedule_sync_requested', {})
    return { requestedAt }
  })
}

/** Null before the first look. */
export async function getScheduleFiles(ctx: Context): Promise<SyncState | null> {
  return await files.findSync(ctx.db, workspaceOf(ctx).id)
}
