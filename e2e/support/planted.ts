/** Secrets that a test sends through the service and then looks for, and what it takes to send and to look. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { openDatabase } from '../../service/src/store/database.ts'
import { startEmbeddedPostgres } from '../../service/src/store/embedded-postgres.ts'
import type { TestSmtp } from '../../service/test/support/smtp.ts'
import type { Found, Needle } from './needles.ts'

/** Letters that each encoding writes differently. */
export const awkward = (word: string): string => `${word} "é\\/+&%=?ü${randomBytes(9).toString('base64')}`
export const plain = (word: string): string => `${word}-${randomBytes(15).toString('hex')}`

/** The part of a key that is secret: what stands before it is its kind and the id of its row, behind it a checksum. */
export const secretOf = (key: string): string => key.slice(-(43 + 6), -6)

export class Planted {
  readonly needles: Needle[] = []

  add<T extends string | Buffer>(name: string, value: T): T {
    this.needles.push({ name: `${name} ${this.needles.length + 1}`, value })
    return value
  }

  key(name: string, key: string): string {
    this.add(name, secretOf(key))
    return key
  }

  /** The token of the session that an answer opens. */
  session(response: Response): string {
    const token = /yardmaster_session=(ymt_\w+)/.exec(response.headers.get('set-cookie') ?? '')?.[1]
    assert.ok(token, `no session in an answer with status ${response.status}`)
    return this.add('session', token)
  }
}

/** What a browser does with the pages. */
export async function postForm(
  url: string,
  path: string,
  fields: Record<string, string>,
  session?: string,
): Promise<Response> {
  return await fetch(`${url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      origin: url,
      'content-type': 'application/x-www-form-urlencoded',
      ...(session !== undefined && { cookie: `yardmaster_session=${session}` }),
    },
    body: new URLSearchParams(fields),
  })
}

const quietLog = { info: () => {}, warn: () => {}, error: () => {} }

/** Every row of every table, as text. */
export async function dump(dataFolder: string): Promise<Buffer> {
  const postgres = await startEmbeddedPostgres({ dataFolder, purpose: 'command', log: quietLog })
  const database = openDatabase(postgres.owner, { poolSize: 1, queryTimeoutMs: 30_000, applicationName: 'dump' })
  try {
    const tables = await sql<{ name: string }>`select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`.execute(database.kysely)
    const parts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.raw(name)} t`.execute(
        database.kysely,
      )
      parts.push(...rows.map((one) => `${name} ${one.row}`))
    }
    const running = await sql<{ row: string }>`select a::text as row from pg_stat_activity a`.execute(database.kysely)
    return Buffer.from([...parts, ...running.rows.map((one) => one.row)].join('\n'))
  } finally {
    await database.close()
    await postgres.stop()
  }
}

export const report = (found: readonly Found[]): string[] => [
  ...new Set(found.map((one) => `${one.name} as ${one.form} in ${one.place}`)),
]

/** The token of the n-th mail to an address. */
export async function linkIn(smtp: TestSmtp, email: string, path: string, which: number): Promise<string> {
  for (;;) {
    const mails = smtp.received.filter((one) => one.recipients.includes(email) && one.text.includes(`/${path}/`))
    const mail = mails[which - 1]
    if (mail !== undefined) return new RegExp(`/${path}/(ymt_\\w+)`).exec(mail.text)![1]!
    await pause(5)
  }
}
