// The webhook of a Teams workflow that posts an adaptive card: 202 for what it takes, 28 KB at most.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface TeamsReceiver extends Receiver {
  /** The secret address. */
  readonly webhook: string
  readonly cards: readonly unknown[]
}

const PATH = '/workflows/0a1b2c3d4e5f/triggers/manual/paths/invoke'
const SIGNATURE = 'sig-0123456789abcdef'

const textBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string().min(1),
  wrap: z.boolean().optional(),
  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
  weight: z.enum(['Lighter', 'Default', 'Bolder']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
  style: z.enum(['default', 'heading', 'columnHeader']).optional(),
  spacing: z.enum(['None', 'Small', 'Default', 'Medium', 'Large', 'ExtraLarge', 'Padding']).optional(),
  fontType: z.enum(['Default', 'Monospace']).optional(),
})
const factSet = z.strictObject({
  type: z.literal('FactSet'),
  facts: z.array(z.strictObject({ title: z.string().min(1), value: z.string().min(1) })).min(1),
})
const container = z.strictObject({
  type: z.literal('Container'),
  style: z.enum(['default', 'emphasis', 'good', 'attention', 'warning', 'accent']).optional(),
  bleed: z.boolean().optional(),
  items: z.array(textBlock).min(1),
})
const card = z.strictObject({
  $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
  type: z.literal('AdaptiveCard'),
  version: z.enum(['1.0', '1.1', '1.2', '1.3', '1.4', '1.5']),
  msteams: z.strictObject({ width: z.literal('Full') }).optional(),
  fallbackText: z.string().optional(),
  body: z.array(z.union([textBlock, factSet, container])).min(1),
  actions: z
    .array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string().min(1), url: z.url() }))
    .max(6)
    .optional(),
})
const message = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: card,
      }),
    )
    .length(1),
})

export async function teamsReceiver(): Promise<TeamsReceiver> {
  const cards: unknown[] = []
  const handle = (asked: Asked): Answer => {
    const refuse = (status: number, code: string, text: string): Answer => ({
      status,
      json: { error: { code, message: text } },
    })
    if (asked.path !== PATH || asked.query.get('sig') !== SIGNATURE)
      return refuse(401, 'DirectApiAuthorizationRequired', 'The request must be authenticated by its signature.')
    if (asked.method !== 'POST') return refuse(405, 'MethodNotAllowed', 'Only POST.')
    if (Buffer.byteLength(asked.body) > 28_000) return refuse(413, 'RequestEntityTooLarge', 'Request entity too large.')
    const read = parseBody(asked, message)
    if ('fault' in read) return refuse(400, 'TriggerInputSchemaMismatch', read.fault)
    cards.push(read.body.attachments[0]!.content)
    return { status: 202 }
  }
  const receiver = await startReceiver(handle)
  const webhook = `${receiver.url}${PATH}?api-version=1&sp=%2Ftriggers&sv=1.0&sig=${SIGNATURE}`
  return Object.assign(receiver, { webhook, cards })
}
