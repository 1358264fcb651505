// Datadog's incidents API, version 2, in its JSON:API form.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface DatadogIncident {
  readonly id: string
  readonly title: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly commander: string | null
  readonly fields: Record<string, string>
  patches: number
}

export interface DatadogReceiver extends Receiver {
  readonly apiKey: string
  readonly applicationKey: string
  readonly incidents: readonly DatadogIncident[]
}

const API_KEY = 'ddapi0123456789abcdef0123456789ab'
const APPLICATION_KEY = 'ddapp0123456789abcdef0123456789abcdef01234'

const dropdown = (values: readonly string[]) =>
  z.strictObject({ type: z.literal('dropdown'), value: z.enum(values as [string]) })
const fields = z.strictObject({
  severity: dropdown(['UNKNOWN', 'SEV-0', 'SEV-1', 'SEV-2', 'SEV-3', 'SEV-4', 'SEV-5']).optional(),
  state: dropdown(['active', 'stable', 'resolved']).optional(),
  summary: z.strictObject({ type: z.literal('textbox'), value: z.string().max(10_000) }).optional(),
})
const create = z.strictObject({
  data: z.strictObject({
    type: z.literal('incidents'),
    attributes: z
      .strictObject({
        title: z.string().min(1).max(255),
        customer_impacted: z.boolean(),
        customer_impact_scope: z.string().min(1).optional(),
        fields: fields.optional(),
        notification_handles: z
          .array(z.strictObject({ display_name: z.string().min(1), handle: z.string().startsWith('@') }))
          .optional(),
      })
      .refine(
        (one) => !one.customer_impacted || one.customer_impact_scope !== undefined,
        'customer_impact_scope is needed',
      ),
    relationships: z
      .strictObject({
        commander_user: z.strictObject({ data: z.strictObject({ type: z.literal('users'), id: z.uuid() }) }),
      })
      .optional(),
  }),
})
const change = z.strictObject({
  data: z.strictObject({
    id: z.string(),
    type: z.literal('incidents'),
    attributes: z.strictObject({ fields: fields.optional(), title: z.string().optional() }),
  }),
})

const fault = (status: number, text: string): Answer => ({ status, json: { errors: [text] } })

export async function datadogReceiver(): Promise<DatadogReceiver> {
  const incidents: DatadogIncident[] = []
  const shown = (one: DatadogIncident, status: number): Answer => ({
    status,
    json: {
      data: { id: one.id, type: 'incidents', attributes: { title: one.title, state: one.fields.state, public_id: 1 } },
    },
  })
  const values = (given: z.infer<typeof fields> | undefined): Record<string, string> =>
    Object.fromEntries(Object.entries(given ?? {}).map(([name, one]) => [name, one.value]))

  const handle = (asked: Asked): Answer => {
    if (asked.headers['dd-api-key'] !== API_KEY || asked.headers['dd-application-key'] !== APPLICATION_KEY)
      return fault(403, 'Forbidden')
    if (asked.method === 'GET' && asked.path === '/api/v2/validate_keys') return { status: 200, json: { status: 'ok' } }
    if (asked.path === '/api/v2/incidents' && asked.method === 'POST') return opened(asked)
    const [, id] = /^\/api\/v2\/incidents\/([0-9a-f-]{36})$/.exec(asked.path) ?? []
    const incident = incidents.find((one) => one.id === id)
    if (incident === undefined) return fault(404, 'Not Found')
    if (asked.method === 'GET') return shown(incident, 200)
    if (asked.method !== 'PATCH') return fault(405, 'Method Not Allowed')
    const read = parseBody(asked, change)
    if ('fault' in read) return fault(400, read.fault)
    if (read.body.data.id !== id) return fault(400, 'data.id is another one')
    Object.assign(incident.fields, values(read.body.data.attributes.fields))
    incident.patches += 1
    return shown(incident, 200)
  }

  const opened = (asked: Asked): Answer => {
    const read = parseBody(asked, create)
    if ('fault' in read) return fault(400, read.fault)
    const { title, fields: given, ...attributes } = read.body.data.attributes
    const commander = read.body.data.relationships?.commander_user.data.id ?? null
    const own = { state: 'active', ...values(given) }
    const incident = { id: randomUUID(), title, attributes, commander, fields: own, patches: 0 }
    incidents.push(incident)
    return shown(incident, 201)
  }

  return Object.assign(await startReceiver(handle), {
    apiKey: API_KEY,
    applicationKey: APPLICATION_KEY,
    incidents,
  })
}
