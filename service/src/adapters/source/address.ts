// What git may be given. Everything here is said again to git itself (`--`, a protocol allow-list); this is the first
// of two doors.
import type { Repository } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'

export type Protocol = 'https' | 'http' | 'ssh' | 'file'

/** The protocol that git is allowed for this address, and no other. */
export function protocolOf(url: string): Protocol {
  if (url.includes('::') || url.startsWith('-') || hasControl(url) || /\s/.test(url)) throw hostile()
  if (url.startsWith('/')) return 'file'
  if (SCP_FORM.test(url)) return 'ssh'
  const parsed = parse(url)
  // git decodes an ssh address before it hands its parts to ssh: what is written as %2d is the beginning of an option.
  for (const part of [parsed.hostname, parsed.username, parsed.password]) refusePart(part)
  if (parsed.hostname === '') throw hostile()
  if (/^\/*-/.test(decoded(parsed.pathname))) throw hostile()
  if (parsed.protocol === 'https:') return 'https'
  if (parsed.protocol === 'http:') return 'http'
  if (parsed.protocol === 'ssh:') return 'ssh'
  throw hostile()
}

// `git@host:path`; neither part may look like an option.
const SCP_FORM = /^[A-Za-z0-9_.][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:(?!-|\/\/)\S+$/

const hostile = (): SourceFault => new SourceFault('the repository address is not one that git may be given')

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch {
    throw hostile()
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw hostile()
  }
}

function refusePart(text: string): void {
  const plain = decoded(text)
  if (plain.startsWith('-') || hasControl(plain) || /[\s/\\]/.test(plain)) throw hostile()
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 32 || text.charCodeAt(at) === 127) return true
  return false
}

/** How the address is shown: credentials never stand in it, and if they did, not here. */
export function shownUrl({ url }: Pick<Repository, 'url'>): string {
  return url.replace(/^([a-z]+:\/\/)([^/]*)@/i, (_, scheme: string, user: string) =>
    scheme.toLowerCase() === 'ssh://' ? `${scheme}${user.split(':')[0]}@` : scheme,
  )
}
