import type { Mailer } from '../../ports/mailer.ts'
import { logMailer } from './log.ts'
import { smtpMailer } from './smtp.ts'

export interface MailerOptions {
  /** Null where no mail server is set up. */
  readonly smtpUrl: string | null
  /** The sender, with or without a name: `Yardmaster <yardmaster@example.com>`. */
  readonly from: string
  /** Takes the text of a mail that nobody will send; it must not go through the scrubber, which masks the link. */
  readonly write: (text: string) => void
}

export function createMailer(options: MailerOptions): Mailer {
  return options.smtpUrl === null ? logMailer(options.write) : smtpMailer({ url: options.smtpUrl, from: options.from })
}
