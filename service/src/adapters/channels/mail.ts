// Notices by mail, through the mail server of the service. The id of the delivery is the mail's Message-ID: a receiver can
// tell a repetition.
import { renderMail } from '../../domain/messages/mail.ts'
import { noticeOf } from '../../domain/messages/notice.ts'
import type { Channel } from '../../ports/channel.ts'
import type { Mailer } from '../../ports/mailer.ts'
import { MailRefused } from '../../ports/mailer.ts'

const MOST_ANSWER = 500

export function mailChannel(mailer: Mailer): Channel {
  return {
    kind: 'mail',
    send: async (out, signal) => {
      try {
        await mailer.send({ id: out.id, to: out.address, ...renderMail(noticeOf(out.event, out.body)) }, signal)
        const answer = mailer.kind === 'log' ? 'No mail server is set up: the text is in the log of the service.' : ''
        return { kind: 'delivered', status: null, answer }
      } catch (error) {
        const answer = (error instanceof Error ? error.message : String(error)).slice(0, MOST_ANSWER).toWellFormed()
        return { kind: error instanceof MailRefused ? 'refused' : 'again', status: null, answer }
      }
    },
  }
}
