// Files that commands leave: kept by a worker, listed, and handed out by links that work for five minutes.
import type { Readable } from 'node:stream'
import { notFound } from '../domain/errors.ts'
import { linkName } from '../domain/signed-link.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Artifact, ArtifactOwner, StoredArtifact } from '../store/artifacts.ts'
import * as artifacts from '../store/artifacts.ts'
import type { Db } from '../store/database.ts'
import * as workspaces from '../store/workspaces.ts'
import type { App, Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { openLink, signLink } from './links.ts'

export type { Artifact, ArtifactOwner } from '../store/artifacts.ts'

export const listArtifacts = (
  ctx: Context,
  of: { readonly runId: number } | { readonly commandId: number },
): Promise<Artifact[]> => artifacts.list(ctx.db, workspaceOf(ctx).id, of)

const noFile = (id: number) => notFound(`No resource ${id} in this workspace.`)

/** `boltResourceUrl`. */
export async function resourceUrl(ctx: Context, id: number): Promise<string> {
  const workspace = workspaceOf(ctx)
  const artifact = await artifacts.find(ctx.db, workspace.id, id)
  if (artifact === null) throw noFile(id)
  return signLink(ctx, { kind: 'file', id, name: linkName(artifact.path) }, workspace.uid)
}

export interface OpenedFile {
  /** The name of the file, without its folders. */
  readonly name: string
  readonly size: number
  /** Both ends included. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>
}

/** @param address path and query of the request, as they came */
export async function openSignedFile(app: App, blobs: BlobStore, address: string): Promise<OpenedFile> {
  const { to, workspaceUid } = openLink(app, address)
  if (to.kind !== 'file') throw noFile(0)
  const workspace = await workspaces.findByUid(app.db, workspaceUid)
  const artifact = workspace && (await artifacts.find(app.db, workspace.id, to.id))
  if (artifact === null || !(await blobs.has(workspaceUid, artifact.sha256))) throw noFile(to.id)
  return {
    name: artifact.path.slice(artifact.path.lastIndexOf('/') + 1),
    size: artifact.size,
    open: async (range) => await contentOf(blobs, workspaceUid, artifact, range),
  }
}

async function contentOf(
  blobs: BlobStore,
  workspaceUid: string,
  { id, sha256 }: StoredArtifact,
  range?: { readonly start: number; readonly end: number },
): Promise<Readable> {
  const content = await blobs.get(workspaceUid, sha256, range)
  if (content === null) throw noFile(id)
  return content
}

export interface FileToKeep {
  readonly path: string
  readonly listed: boolean
  /** Null when the file is not there any more. */
  open(): Promise<Readable | null>
}

/** `gone`: the file changed into something else meanwhile; `lost`: the run is not this worker's any more. */
export type Kept = { readonly id: number; readonly size: number } | 'gone' | 'lost'

export async function keepFile(
  db: Db,
  blobs: BlobStore,
  of: ArtifactOwner,
  file: FileToKeep,
  signal: AbortSignal,
): Promise<Kept> {
  // Twice where the bytes were taken away between finding them there and writing down that they are needed.
  for (let tries = 1; ; tries++) {
    const content = await file.open()
    if (content === null) return 'gone'
    const blob = await blobs.put(of.workspaceUid, content, signal)
    const id = await artifacts.insert(db, of, { path: file.path, listed: file.listed, ...blob })
    if (id === null) return 'lost'
    if (tries === 3 || (await blobs.has(of.workspaceUid, blob.sha256))) return { id, size: blob.size }
  }
}
