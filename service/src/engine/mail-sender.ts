import type { App } from '../app/context.ts'
import { openMail } from '../app/mail.ts'
import type { Mailer } from '../ports/mailer.ts'
import type { QueueService } from '../store/queue.ts'

/** Takes mail from the queue and hands it to the mailer; what fails is tried again by the queue. */
export async function startMailSender(app: App, queue: QueueService, mailer: Mailer): Promise<void> {
  await queue.work('mail', async (data, signal) => {
    const mail = openMail(app, data)
    try {
      await mailer.send(mail, signal)
    } catch (error) {
      app.log.warn({ err: error, mail: mail.id }, 'mail was not sent; it will be tried again')
      throw error
    }
  })
}
