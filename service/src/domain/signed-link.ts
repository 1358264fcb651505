// A link that works by itself for a while, to one thing of one workspace. What it says is signed as it stands in the
// address, character by character: there is no second way to write it, so nothing in it can be altered.

export type Linked =
  | { readonly kind: 'file'; readonly id: number; readonly name: string }
  | { readonly kind: 'log'; readonly commandId: number; readonly stream: 'stdout' | 'stderr' }

export interface Link {
  readonly to: Linked
  readonly workspaceUid: string
  /** Seconds since 1970. */
  readonly expires: number
  /** Which master key signed it. */
  readonly kid: string
}

const FILE = /^\/files\/([1-9]\d{0,9})\/([A-Za-z0-9_-][A-Za-z0-9._-]{0,99})$/
const LOG = /^\/logs\/([1-9]\d{0,9})\/(stdout|stderr)$/
const QUERY = /^w=([a-z0-9]{16})&e=([1-9]\d{9,11})&k=([0-9a-f]{16})&s=([A-Za-z0-9_-]{43})$/

const pathOf = (to: Linked): string =>
  to.kind === 'file' ? `/files/${to.id}/${to.name}` : `/logs/${to.commandId}/${to.stream}`

/** What is signed. HEAD is a GET without its body. */
export const signedText = (link: Link): string =>
  ['yardmaster link v1', 'GET', pathOf(link.to), link.workspaceUid, link.expires, link.kid].join('\n')

/** The path and query; `signature` in base64url. */
export const formatLink = (link: Link, signature: string): string =>
  `${pathOf(link.to)}?w=${link.workspaceUid}&e=${link.expires}&k=${link.kid}&s=${signature}`

/** Null for anything that `formatLink` would not have written. */
export function parseLink(address: string): { readonly link: Link; readonly signature: string } | null {
  const [path = '', query = ''] = address.split(/\?(.*)/s)
  const parts = QUERY.exec(query)
  const to = parseTarget(path)
  if (parts === null || to === null) return null
  const [, workspaceUid, expires, kid, signature] = parts
  return {
    link: { to, workspaceUid: workspaceUid!, expires: Number(expires), kid: kid! },
    signature: signature!,
  }
}

function parseTarget(path: string): Linked | null {
  const file = FILE.exec(path)
  if (file !== null) return { kind: 'file', id: Number(file[1]), name: file[2]! }
  const log = LOG.exec(path)
  return log === null ? null : { kind: 'log', commandId: Number(log[1]), stream: log[2] as 'stdout' | 'stderr' }
}

/** The name of a file as it stands in an address, where nothing needs an escape. */
export function linkName(path: string): string {
  const name = path
    .slice(path.lastIndexOf('/') + 1)
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-99)
  return name === '' || name.startsWith('.') ? `_${name}` : name
}
