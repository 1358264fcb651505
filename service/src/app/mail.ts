// Mail leaves through the queue: written in the transaction that causes it, tried again while the server is down. The
// message is sealed in the job, because its link is worth as much as a password.
import { randomUUID } from 'node:crypto'
import type { Mail } from '../ports/mailer.ts'
import type { Db } from '../store/database.ts'
import type { App } from './context.ts'

interface MailJob {
  readonly id: string
  readonly kid: string
  readonly wrappedKey: string
  readonly sealed: string
}

export async function queueMail(app: App, tx: Db, mail: Omit<Mail, 'id'>): Promise<void> {
  const id = randomUUID()
  const sealed = app.vault.seal(JSON.stringify({ ...mail, id }), ['mail', id])
  const job: MailJob = {
    id,
    kid: sealed.kid,
    wrappedKey: sealed.wrappedKey.toString('base64'),
    sealed: sealed.sealed.toString('base64'),
  }
  await app.queue.send(tx, 'mail', job)
}

export function openMail(app: App, data: unknown): Mail {
  const job = data as MailJob
  const sealed = {
    kid: job.kid,
    wrappedKey: Buffer.from(job.wrappedKey, 'base64'),
    sealed: Buffer.from(job.sealed, 'base64'),
  }
  return JSON.parse(app.vault.open(sealed, ['mail', job.id]).toString()) as Mail
}
