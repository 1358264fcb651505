// What a notice to Slack, by mail or to Teams is made of; it is kept with the delivery. Rendering is pure, and happens when
// the notice is sent.
import type { RunReport } from '../run-report.ts'
import type { NoticeEvent } from './words.ts'

export const NOTICE_CHANNELS = ['slack', 'email', 'teams'] as const
export type NoticeChannel = (typeof NOTICE_CHANNELS)[number]

/** The words of a workspace in place of ours. The subject is used by mail alone. */
export interface TemplateText {
  readonly slug: string
  readonly name: string
  readonly subject: string
  readonly text: string
}

export interface Notice {
  readonly event: NoticeEvent
  readonly report: RunReport
  readonly template: TemplateText | null
}
