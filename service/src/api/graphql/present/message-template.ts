import type { MessageTemplate } from '../../../app/message-templates.ts'
import type { MessageChannel, MessageTemplate as WireTemplate } from '../wire-types.ts'

const CHANNELS = { slack: 'SLACK', email: 'EMAIL', teams: 'TEAMS' } as const satisfies Record<
  MessageTemplate['channel'],
  MessageChannel
>

export const presentMessageTemplate = (one: MessageTemplate): WireTemplate => ({
  slug: one.slug,
  name: one.name,
  channel: CHANNELS[one.channel],
  subject: one.subject,
  text: one.text,
  createdDttm: one.createdAt,
  updatedDttm: one.updatedAt,
})
