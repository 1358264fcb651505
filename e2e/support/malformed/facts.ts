import type { Random } from '../random.ts'

/** What somebody who means harm and holds a good key knows. */
export interface Facts {
  readonly key: string
  readonly workspaceUid: string
  readonly origin: string
}

export interface Malformed {
  /** The family, for the count at the end. */
  readonly family: string
  readonly bytes: Buffer
  readonly end?: boolean
  /** Closing the connection without a word is an answer too: what came was no request. */
  readonly mayBeSilent?: boolean
  /** Pages answer in HTML. */
  readonly page?: boolean
}

export type Family = (random: Random, facts: Facts) => Omit<Malformed, 'family'>

export type HeaderList = (readonly [name: string, value: string | Buffer])[]

export const goodHeaders = ({ key, workspaceUid }: Facts): HeaderList => [
  ['Content-Type', 'application/json'],
  ['Authorization', `Bearer ${key}`],
  ['X-Service-Workspace', workspaceUid],
]

export const GOOD_DOCUMENTS = [
  '{ listUsers { ok activeUsers { uid email name accountType } invitedUsers { email } } }',
  '{ listWorkspaces { ok workspaces { name uid } } apiKeyIdentity { isValid capabilities } }',
  'query Q($limit: Int, $from: String) { getAuditLogs(limit: $limit, from: $from) { ok auditLogs { id metadataJson } } }',
  '{ environments(environmentType: SCHEDULER) { ok environments { ...e } } } fragment e on Environment { slug isDefault }',
  'mutation ($name: String!) { renameWorkspace(name: $name) @include(if: true) { ok } }',
  '{ __schema { types { name fields { name type { name ofType { name } } } } } }',
]

/** A text with some of it taken out, doubled, swapped or replaced. */
export function mangled(random: Random, text: string): string {
  let result = text
  for (let times = random.between(1, 4); times > 0; times--) {
    const at = random.between(0, result.length)
    const to = Math.min(result.length, at + random.between(0, 6))
    const other = random.pick([
      '',
      '{',
      '}',
      '"',
      '\\',
      '(',
      ')',
      '...',
      '@',
      '$',
      '\u0000',
      ':',
      ',',
      '\n',
      '\u{1f600}',
      '-',
      '0x',
      '[',
      '!',
    ])
    result = random.pick([
      result.slice(0, at) + other + result.slice(to),
      result.slice(0, at) + result.slice(at, to).repeat(2) + result.slice(to),
      result.slice(0, at),
      result.slice(at) + result.slice(0, at),
    ])
  }
  return result
}

export const randomBytesOf = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.between(0, 255)))
