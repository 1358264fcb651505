// Names of blobs and markers, made from nothing but checked parts.

export function blobKey(workspaceUid: string, sha256: Buffer): string {
  const hex = sha256.toString('hex')
  if (!/^[a-z0-9]{16}$/.test(workspaceUid)) throw new Error('not the uid of a workspace')
  if (!/^[0-9a-f]{64}$/.test(hex)) throw new Error('not a SHA-256')
  return `${workspaceUid}/${hex.slice(0, 2)}/${hex.slice(2, 4)}/${hex}`
}

export function markerKey(name: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) throw new Error('not the name of a marker')
  return `markers/${name}`
}

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
