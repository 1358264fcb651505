// A mail server that refuses what RFC 5321 and 5322 forbid, and tells repetitions by their Message-ID.
import type { SMTPServerOptions } from 'smtp-server'
import { type Received, testSmtp } from '../support/smtp.ts'

export type SmtpBehaviour = 'greylisting' | 'no such user' | 'no such content'

export interface SmtpReceiver extends AsyncDisposable {
  readonly url: string
  /** Every mail that was taken, repetitions too. */
  readonly received: readonly Received[]
  /** What a person sees: one for each Message-ID. */
  readonly inbox: readonly Received[]
  behave(how: SmtpBehaviour | null): void
}

const coded = (responseCode: number, message: string): Error => Object.assign(new Error(message), { responseCode })

export async function smtpReceiver(): Promise<SmtpReceiver> {
  let behaviour: SmtpBehaviour | null = null
  const options: SMTPServerOptions = {
    onRcptTo: (_address, _session, done) => {
      if (behaviour === 'greylisting') return done(coded(451, 'try again later'))
      if (behaviour === 'no such user') return done(coded(550, 'no such user'))
      done()
    },
  }
  const server = await testSmtp(options, '127.0.0.1', (received) => {
    if (behaviour === 'no such content') return coded(554, 'content refused')
    const fault = faultOf(received)
    return fault === null ? null : coded(554, fault)
  })
  return {
    url: server.url,
    received: server.received,
    get inbox() {
      const seen = new Map(server.received.map((one) => [one.headers.get('message-id')![0], one]))
      return [...seen.values()]
    },
    behave: (how) => {
      behaviour = how
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const ONCE = ['from', 'date', 'message-id', 'subject', 'to', 'mime-version', 'content-type'] as const

/** What is wrong with a mail, or null. */
export function faultOf({ headers, raw, recipients, html, text }: Received): string | null {
  for (const name of ONCE) if (headers.get(name)?.length !== 1) return `${name} must be there once`
  if (!/^<[^<>@\s]+@[^<>@\s]+>$/.test(headers.get('message-id')![0]!)) return 'message-id is no id'
  if (Number.isNaN(Date.parse(headers.get('date')![0]!))) return 'date is no date'
  if (recipients.length !== 1) return 'one recipient, so that no one reads who else there is'
  if (raw.split('\r\n').some((line) => Buffer.byteLength(line) > 998)) return 'a line of more than 998 bytes'
  if (/(?<!\r)\n/.test(raw)) return 'a bare line feed'
  if (text.trim() === '') return 'no text'
  if (/^multipart\/alternative\b/.test(headers.get('content-type')![0]!) && html === '') return 'no HTML in it'
  if (/<(script|img|iframe|link|object)\b|\son\w+=|url\(|@import|javascript:/i.test(html)) return 'the HTML reaches out'
  return null
}
