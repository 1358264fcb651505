import type { Mailer } from '../../ports/mailer.ts'

export interface MailerOptions {
  readonly smtpUrl: string | null
  readonly from: string
  readonly write: (text: string) => void
}

export function createMailer(options: MailerOptions): Mailer {
  return {
    kind: 'log',
    send: async (mail) => options.write(`${mail.to}\n${mail.subject}\n${mail.text}`),
    verify: async () => {},
    close: () => {},
  }
}
