// One connection per mail: there are few, and a connection that is kept is one more thing to find broken.
//
// nodemailer's connection is used below its transport, because only there can a send be cut short: a server that
// answers a byte a second would pass every limit of inactivity, so each call has a limit of its own as well.
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import type { Mail, Mailer } from '../../ports/mailer.ts'
import { MailRefused } from '../../ports/mailer.ts'

export interface SmtpOptions {
  /** smtp://user:password@host:587, or smtps:// for TLS from the first byte. */
  readonly url: string
  readonly from: string
  readonly limits?: Partial<SmtpLimits>
}

export interface SmtpLimits {
  /** For connecting, for the greeting, and for each answer after it. */
  readonly phaseMs: number
  /** For the whole of one send or verify. */
  readonly wholeMs: number
}

const LIMITS: SmtpLimits = { phaseMs: 10_000, wholeMs: 30_000 }

interface Server {
  readonly connection: SMTPConnectionOptions
  readonly credentials: { readonly user: string; readonly pass: string } | null
}

export function smtpMailer(options: SmtpOptions): Mailer {
  const limits = { ...LIMITS, ...options.limits }
  const server = serverOf(options.url, limits)
  const sender = senderOf(options.from)
  const closed = new AbortController()

  /** Connects, signs in, does the work. Whatever the outcome, the connection is gone at the end. */
  const converse = async <T>(signal: AbortSignal | null, work: (to: SMTPConnection) => Promise<T>): Promise<T> => {
    const ends = [AbortSignal.timeout(limits.wholeMs), closed.signal, ...(signal === null ? [] : [signal])]
    const end = AbortSignal.any(ends)
    end.throwIfAborted()
    const connection = new SMTPConnection(server.connection)
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => {})
    const onAbort = (): void => failed.reject(abortReason(end, limits))
    end.addEventListener('abort', onAbort, { once: true })
    // Also after the end: an error without a listener would end the process.
    connection.on('error', (error) => failed.reject(error))
    connection.once('end', () => failed.reject(new Error('The mail server closed the connection.')))
    const spoken = (async () => {
      await step<undefined>((done) => connection.connect(done))
      const { credentials } = server
      // Asked for also where the server offers none: sending without them could go to the wrong server.
      if (credentials !== null) await step<unknown>((done) => connection.login({ credentials }, done))
      return await work(connection)
    })()
    spoken.catch(() => {})
    try {
      return await Promise.race([spoken, failed.promise])
    } catch (error) {
      // close() alone would wait for the other side to close too.
      const socket = connection._socket
      connection.close()
      if (socket) socket.destroy()
      throw error
    } finally {
      end.removeEventListener('abort', onAbort)
      connection.close()
    }
  }

  return {
    kind: 'smtp',
    send: async (mail, signal) => {
      const message = await compose(mail, sender)
      await converse(signal, (to) =>
        step<unknown>((done) => to.send({ from: sender.address, to: [mail.to] }, message, done)),
      ).catch((error: unknown) => {
        throw isRefusal(error) ? new MailRefused(error.message, { cause: error }) : error
      })
    },
    verify: () => converse(null, async () => {}),
    close: () => closed.abort(new Error('The service is stopping.')),
  }
}

/** A 5xx for the receiver or the message. One for the sign-in is about the server's own account, and is mended there. */
const isRefusal = (error: unknown): error is Error => {
  if (!(error instanceof Error)) return false
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && typeof responseCode === 'number' && responseCode >= 500
}

const step = <T>(call: (done: (error?: Error | null, value?: T) => void) => void): Promise<T | undefined> =>
  new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))))

function abortReason(end: AbortSignal, limits: SmtpLimits): Error {
  const reason: unknown = end.reason
  if (reason instanceof DOMException && reason.name === 'TimeoutError') {
    return new Error(`The mail server was not done within ${limits.wholeMs / 1000} s.`)
  }
  return reason instanceof Error ? reason : new Error('Sending was called off.')
}

interface Sender {
  readonly name: string
  readonly address: string
}

function senderOf(from: string): Sender {
  const named = /^([^<>]*)<([^<>]*)>$/.exec(from)
  return named === null ? { name: '', address: from.trim() } : { name: named[1]!.trim(), address: named[2]!.trim() }
}

/** Addresses are handed over as objects, so that no comma or line break in one can become a second recipient. */
async function compose(mail: Mail, sender: Sender): Promise<Buffer> {
  const host = sender.address.slice(sender.address.lastIndexOf('@') + 1)
  const message = new MailComposer({
    from: sender,
    to: { name: '', address: mail.to },
    subject: mail.subject.replace(/\s+/g, ' '),
    text: mail.text,
    ...(mail.html !== undefined && { html: mail.html }),
    textEncoding: 'quoted-printable',
    messageId: `<${mail.id}@${host}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return await message.compile().build()
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1'])

function serverOf(text: string, limits: SmtpLimits): Server {
  const url = new URL(text)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const secure = url.protocol === 'smtps:'
  const { requireTLS, verifyCertificate } = wishesOf(url)
  const credentials =
    url.username === '' && url.password === ''
      ? null
      : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  return {
    credentials,
    connection: {
      host,
      port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
      secure,
      // STARTTLS is used wherever it is offered. A password goes nowhere without it, unless that is asked for.
      requireTLS: requireTLS ?? (credentials !== null && !LOOPBACK.has(host)),
      tls: { rejectUnauthorized: verifyCertificate ?? true },
      dnsTimeout: limits.phaseMs,
      connectionTimeout: limits.phaseMs,
      greetingTimeout: limits.phaseMs,
      socketTimeout: limits.phaseMs,
    },
  }
}

/** What may stand behind the question mark; nodemailer itself would take any of its options from there. */
function wishesOf(url: URL): { requireTLS?: boolean; verifyCertificate?: boolean } {
  const wishes: { requireTLS?: boolean; verifyCertificate?: boolean } = {}
  for (const [name, value] of url.searchParams) {
    if ((name !== 'requireTLS' && name !== 'verifyCertificate') || (value !== 'true' && value !== 'false')) {
      throw new Error(
        'The address of the mail server may end in ?requireTLS=true|false and &verifyCertificate=true|false only.',
      )
    }
    wishes[name] = value === 'true'
  }
  return wishes
}
