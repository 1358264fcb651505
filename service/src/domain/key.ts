// How a key looks. `<prefix>_<kind>_` + 12 characters that find its row + 43 that are its secret + 6 of checksum: a
// mistyped or made-up key is refused before the database is asked, and a scanner can recognise a leaked one.
//
//   bearer    ym_acc_ <id 12> <secret 43> <crc 6>
//   pair      ym_key_ <id 12> <crc 6>   and   ym_sec_ <secret 43> <crc 6>
import { crc32 } from 'node:zlib'
import type { KeyClient, KeyKind } from './actor.ts'
import { base62 } from './ids.ts'

const ID_LENGTH = 12
const SECRET_LENGTH = 43
const CRC_LENGTH = 6

// Existing clients recognise a key by its prefix.
const PREFIXES: Readonly<Record<'account' | 'workspace' | 'personal', Readonly<Record<'own' | 'paradime', string>>>> = {
  account: { own: 'ym_acc_', paradime: 'prdm_cmp_' },
  workspace: { own: 'ym_wsp_', paradime: 'prdm_wsp_' },
  personal: { own: 'ym_usr_', paradime: 'ym_usr_' },
}
const PAIR_KEY = 'ym_key_'
const PAIR_SECRET = 'ym_sec_'
const BEARER_PREFIXES = [...new Set(Object.values(PREFIXES).flatMap((one) => Object.values(one)))]

const checked = (text: string): string => text + base62(BigInt(crc32(text)), CRC_LENGTH)

export interface IssuedKey {
  /** What goes into the Authorization header, or X-API-KEY for a pair. */
  readonly key: string
  /** X-API-SECRET of a pair, empty otherwise. */
  readonly secret: string
}

export function formatKey(kind: KeyKind, client: KeyClient, publicId: string, secret: string): IssuedKey {
  if (kind === 'pair') return { key: checked(PAIR_KEY + publicId), secret: checked(PAIR_SECRET + secret) }
  return { key: checked(PREFIXES[kind][client ?? 'own'] + publicId + secret), secret: '' }
}

/** What a list may show of a key: enough to tell one from another, nothing that helps to use it. */
export function keyStart(kind: KeyKind, client: KeyClient, publicId: string): string {
  return (kind === 'pair' ? PAIR_KEY : PREFIXES[kind][client ?? 'own']) + publicId.slice(0, 6)
}

export interface ParsedKey {
  readonly publicId: string
  readonly secret: string
}

function unchecked(text: string, prefix: string, bodyLength: number): string | null {
  if (text.length !== prefix.length + bodyLength + CRC_LENGTH || !text.startsWith(prefix)) return null
  const body = text.slice(0, -CRC_LENGTH)
  return checked(body) === text ? body.slice(prefix.length) : null
}

export function parseBearer(text: string): ParsedKey | null {
  const prefix = BEARER_PREFIXES.find((one) => text.startsWith(one))
  const body = prefix === undefined ? null : unchecked(text, prefix, ID_LENGTH + SECRET_LENGTH)
  return body === null ? null : { publicId: body.slice(0, ID_LENGTH), secret: body.slice(ID_LENGTH) }
}

export function parsePair(key: string, secret: string): ParsedKey | null {
  const publicId = unchecked(key, PAIR_KEY, ID_LENGTH)
  const secretPart = unchecked(secret, PAIR_SECRET, SECRET_LENGTH)
  return publicId === null || secretPart === null ? null : { publicId, secret: secretPart }
}

export const TOKEN_PREFIX = 'ymt_'

/** Tokens of links and sessions: recognisable, so that the log can mask them. */
export const formatToken = (secret: string): string => TOKEN_PREFIX + secret

export const isToken = (text: string): boolean =>
  text.length === TOKEN_PREFIX.length + SECRET_LENGTH && /^ymt_[A-Za-z0-9]+$/.test(text)
