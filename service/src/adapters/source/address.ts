// What git may be given. Everything here is said again to git itself (`--`, a protocol allow-list); this is the first
// of two doors.
import type { Repository } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'

/** The protocol that git is allowed for this address, and no other. */
export function protocolOf(url: string): 'https' | 'http' | 'ssh' | 'file' {
  if (url.includes('::') || url.startsWith('-') || hasControl(url)) throw hostile()
  if (url.startsWith('/')) return 'file'
  if (/^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^/-]/.test(url)) return 'ssh'
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    throw hostile()
  }
  if (parsed.hostname === '' || parsed.hostname.startsWith('-')) throw hostile()
  if (parsed.pathname.startsWith('/-') || /%2d/i.test(parsed.pathname.slice(0, 5))) throw hostile()
  if (parsed.protocol === 'https:') return 'https'
  if (parsed.protocol === 'http:') return 'http'
  if (parsed.protocol === 'ssh:') return 'ssh'
  throw hostile()
}

const hostile = (): SourceFault => new SourceFault('the repository address is not one that git may be given')

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 32 || text.charCodeAt(at) === 127) return true
  return false
}

/** A branch, tag or commit; null for a text that could mean anything else to git. */
export function parseReference(text: string): string | null {
  if (text === '' || text.length > 255 || hasControl(text) || /[\s~^:?*[\\]/.test(text)) return null
  if (text.startsWith('-') || text.includes('..') || text.includes('@{') || text === '@') return null
  if (text.startsWith('/') || text.endsWith('/') || text.endsWith('.') || text.endsWith('.lock')) return null
  return text.split('/').some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock')) ? null : text
}

/** How the address is shown: credentials never stand in it, and if they did, not here. */
export function shownUrl({ url }: Repository): string {
  return url.replace(/^([a-z]+:\/\/)[^/@]*@/i, (_, scheme: string) => (scheme === 'ssh://' ? `${scheme}git@` : scheme))
}
