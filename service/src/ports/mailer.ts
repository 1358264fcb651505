// Sends one message. `send` resolves when the receiving server took it; it rejects when it did not, and may then be
// called again with the same message: the Message-ID stays the same, so a receiver can tell a repetition.

export interface Mail {
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same once more for programs that show it; there is always the text. */
  readonly html?: string
}

/** The server refuses this very mail, its receiver or its content: sending it again will not help. */
export class MailRefused extends Error {}

export interface Mailer {
  /** smtp: really sends. log: shows the text in the service's log, where no mail is set up. */
  readonly kind: 'smtp' | 'log'
  send(mail: Mail, signal: AbortSignal): Promise<void>
  /** Whether the server answers and takes the credentials, for `doctor`. Rejects with the reason. */
  verify(): Promise<void>
  close(): void
}
