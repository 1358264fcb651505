// Where no mail server is set up, whoever reads the service's output passes the link on. A mail is one call of `write`,
// so that two never mix, and it looks like nothing else there.
import type { Mailer } from '../../ports/mailer.ts'

export function logMailer(write: (text: string) => void): Mailer {
  return {
    kind: 'log',
    send: async (mail, signal) => {
      signal.throwIfAborted()
      if (/[\r\n]/.test(mail.to)) throw new Error('The address of a mail holds a line break.')
      const body = plain(mail.text).trimEnd().split('\n')
      const lines = [`To: ${plain(mail.to)}`, `Subject: ${oneLine(mail.subject)}`, '', ...body]
      const head = 'Mail that was not sent, because no mail server is set up (YARDMASTER_SMTP_URL):'
      write(`${head}\n${lines.map((line) => `  | ${line}`.trimEnd()).join('\n')}`)
    },
    verify: async () => {},
    close: () => {},
  }
}

/** Without what would steer a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
const plain = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '')

const oneLine = (text: string): string => plain(text).replaceAll('\n', ' ')
