// What a value must look like, beyond its type. Each rule takes the text and says what is wrong with it, as the end of
// a sentence that begins with the value ("… has a path"), or nothing. No rule repeats the value: it may be a secret.
import { isIP, isIPv4 } from 'node:net'
import { hasControl } from '../domain/text.ts'

export type Rule = (text: string) => string | undefined

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)*$/i

export const hostRule: Rule = (text) => {
  if (isIP(text) || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text))) return undefined
  return 'is neither an IP address nor a host name'
}

export const publicUrlRule: Rule = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'is not an http:// or https:// URL'
  if (url.username || url.password) return 'holds credentials, which would be in every link'
  if (url.pathname !== '/') return 'has a path; Yardmaster is served at the root of its address'
  if (url.search || url.hash || /[?#]/.test(text)) return 'has a query or a fragment'
  // Port 0 is how an address that is not known yet is told apart (see public-url.ts).
  if (url.port === '0') return 'has port 0'
  return undefined
}

export const networkRule: Rule = (text) => {
  const [address = '', bits, ...more] = text.split('/')
  if (!isIP(address) || more.length > 0) return 'is not an IP address or a network such as 10.0.0.0/8'
  if (bits === undefined) return undefined
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (isIPv4(address) ? 32 : 128)) return 'has a bad network length'
  if (Number(bits) === 0) return 'trusts everybody, so that anyone could choose the address they are seen under'
  return undefined
}

/** A host, an address or a network that calls may go to. */
export const targetRule: Rule = (text) => {
  const [address = '', bits, ...more] = text.split('/')
  if (bits === undefined) return hostRule(text)
  if (!isIP(address) || more.length > 0) return 'is neither a host nor a network such as 10.0.0.0/8'
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128) ? undefined : 'has a bad network length'
}

// A header that already has a meaning must not also choose the workspace.
const TAKEN_HEADERS = new Set(
  'authorization cookie host connection content-type content-length idempotency-key transfer-encoding x-api-key x-api-secret'.split(
    ' ',
  ),
)

export const headerRule: Rule = (text) => {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(text)) return 'is not the name of a header'
  if (TAKEN_HEADERS.has(text.toLowerCase())) return 'is a header with a meaning of its own'
  return undefined
}

export const pathRule: Rule = (text) => {
  if (text.trim() === '') return 'is empty'
  if (text.includes('\0')) return 'holds a NUL character'
  if (/^~(\/|$)/.test(text)) return 'begins with ~, which only a shell turns into a home folder'
  return undefined
}

/** What git is given as a path: nothing that it could take for an option, a pattern or a way out. */
export const repositoryPathRule: Rule = (text) => {
  if (!/^(?![-:/])[^\\*?[]{1,200}$/.test(text) || hasControl(text)) return 'is not a path inside a repository'
  if (text.split('/').some((part) => part === '' || part === '.' || part === '..'))
    return 'has an empty part, a dot or two dots in it'
  return undefined
}

export const postgresRule: Rule = (text) => {
  if (!/^postgres(ql)?:\/\//.test(text)) return 'does not begin with postgres:// or postgresql://'
  // A socket folder is given as ?host=, with nothing between @ and /, which a URL parser refuses.
  if (!URL.canParse(text.replace('@/', '@localhost/')))
    return 'is not a URL (characters such as @ : / # in a password must be percent-encoded)'
  return undefined
}

export const smtpRule: Rule = (text) => {
  if (!/^smtps?:\/\//.test(text)) return 'does not begin with smtp:// or smtps://'
  if (!URL.canParse(text)) return 'is not a URL (characters such as @ : / # in a password must be percent-encoded)'
  const url = new URL(text)
  if (url.hostname === '') return 'names no host'
  const known = [...url.searchParams].every(
    ([name, value]) => /^(requireTLS|verifyCertificate)$/.test(name) && /^(true|false)$/.test(value),
  )
  return known ? undefined : 'has options behind its ? other than requireTLS and verifyCertificate, true or false'
}

const OWN_MACHINE = new Set(['localhost', '127.0.0.1', '[::1]'])

export const issuerRule: Rule = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'is not an https:// URL'
  if (url.protocol === 'http:' && !OWN_MACHINE.has(url.hostname)) return 'is not encrypted: only https:// is believed'
  if (url.username || url.password) return 'holds credentials'
  if (url.search || url.hash || /[?#]/.test(text)) return 'has a query or a fragment'
  return undefined
}

/** RFC 6749 allows printable ASCII. */
export const clientRule: Rule = (text) =>
  /^[\x20-\x7e]{1,1024}$/.test(text) && text.trim() === text
    ? undefined
    : 'is empty or holds what no client id or secret may'

export const buttonRule: Rule = (text) => {
  if (text.trim() === '' || text.length > 60) return 'is empty or longer than 60 characters'
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) ? 'holds a line break or another control character' : undefined
}

const ADDRESS = /^[^\s<>"@,;]+@[^\s<>"@,;]+$/

export const mailboxRule: Rule = (text) => {
  if (/[\r\n\0]/.test(text)) return 'holds a line break'
  const named = /^[^<>]*<([^<>]*)>$/.exec(text)
  return ADDRESS.test(named ? named[1]! : text) ? undefined : 'is not a mail address'
}

/** git reads what stands between < and > as the address. */
export const commitNameRule: Rule = (text) =>
  text.trim() === text && text.length >= 1 && text.length <= 128 && !/[<>\p{Cc}]/u.test(text)
    ? undefined
    : 'is empty, too long, or holds <, > or a control character'

export const commitEmailRule: Rule = (text) => (text.includes('<') ? 'is more than a mail address' : mailboxRule(text))

export const tokenRule: Rule = (text) => {
  if (text.length < 16) return 'is shorter than 16 characters'
  return /^[\x21-\x7e]+$/.test(text) ? undefined : 'holds a space or a character that a header cannot carry'
}

export const masterKeyRule: Rule = (text) => {
  const keys = splitKeys(text)
  const bad = keys.findIndex((key) => decodeKey(key) === undefined)
  if (keys.length === 0) return 'holds no key'
  return bad < 0 ? undefined : `has a key (number ${bad + 1} of ${keys.length}) that is not 32 bytes in base64`
}

/** The keys of a master key setting or file, the current one first. The text must have passed `masterKeyRule`. */
export function parseMasterKeys(text: string): readonly Buffer[] {
  return splitKeys(text).map((key) => {
    const bytes = decodeKey(key)
    if (!bytes) throw new Error('A master key is not 32 bytes in base64')
    return bytes
  })
}

function splitKeys(text: string): string[] {
  return text
    .trim()
    .split(/\s*,\s*/)
    .filter((key) => key !== '')
}

// Buffer.from skips what is not base64, so the alphabet and the length are checked first. It reads both alphabets.
function decodeKey(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 ? bytes : undefined
}

export const labelRule: Rule = (text) =>
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(text) ? undefined : 'is not a word of letters, digits, "_", "." and "-"'

/** What other programs call their own things by: no space, nothing that could be taken for an option. */
export const nameRule: Rule = (text) =>
  /^[!-,.-~][!-~]{0,254}$/.test(text) ? undefined : 'is empty, too long, begins with "-" or holds a space'

export const bucketRule: Rule = (text) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) ? undefined : 'is not the name of a bucket'

export const prefixRule: Rule = (text) =>
  /^[A-Za-z0-9!_.*'()-]+(\/[A-Za-z0-9!_.*'()-]+)*$/.test(text) && text.length <= 200
    ? undefined
    : 'is not made of words joined by single slashes'

export const endpointRule: Rule = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'is not an http:// or https:// URL'
  if (url.username || url.password) return 'holds credentials'
  return url.pathname !== '/' || url.search || url.hash ? 'has a path, a query or a fragment' : undefined
}

export const variablePatternRule: Rule = (text) =>
  /^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(text) ? undefined : 'is not the name of a variable'
