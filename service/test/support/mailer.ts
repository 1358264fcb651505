import type { Mail, Mailer } from '../../src/ports/mailer.ts'

export interface RecordingMailer extends Mailer {
  readonly sent: readonly Mail[]
  /** The next sends reject with this, until null is given. */
  failWith(error: Error | null): void
}

/** Keeps what it is given; holds to the same rules as the adapters (test/conformance/mailer.ts). */
export function recordingMailer(): RecordingMailer {
  const sent: Mail[] = []
  let failure: Error | null = null
  return {
    kind: 'smtp',
    sent,
    failWith: (error) => {
      failure = error
    },
    send: async (mail, signal) => {
      signal.throwIfAborted()
      if (failure !== null) throw failure
      if (/[\r\n]/.test(mail.to)) throw new Error('The address of a mail holds a line break.')
      sent.push({ ...mail, subject: mail.subject.replace(/\s+/g, ' ') })
    },
    verify: async () => {
      if (failure !== null) throw failure
    },
    close: () => {},
  }
}
