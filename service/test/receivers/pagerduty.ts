// PagerDuty's REST API, version 2: incidents, their notes, their end.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface PagerDutyIncident {
  readonly id: string
  readonly key: string
  readonly title: string
  status: 'triggered' | 'acknowledged' | 'resolved'
  readonly details: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly notes: string[]
  resolution: string | null
}

export interface PagerDutyReceiver extends Receiver {
  readonly token: string
  readonly incidents: readonly PagerDutyIncident[]
  /** By hand, as people do. */
  resolve(id: string): void
}

const TOKEN = 'u+pagerduty-test-token'
const USERS = new Set(['oncall@example.com'])
const IDS: Readonly<Record<string, ReadonlySet<string>>> = {
  service_reference: new Set(['PSERVICE', 'PSERVIC2']),
  priority_reference: new Set(['PPRIO']),
  escalation_policy_reference: new Set(['PESC']),
  user_reference: new Set(['PUSER']),
}
const TYPES = new Set(['incident_default', 'data_incident'])

const reference = (type: string) => z.strictObject({ id: z.enum([...IDS[type]!] as [string]), type: z.literal(type) })
const create = z.strictObject({
  incident: z
    .strictObject({
      type: z.literal('incident'),
      title: z.string().min(1).max(255),
      service: reference('service_reference'),
      priority: reference('priority_reference').optional(),
      urgency: z.enum(['high', 'low']).optional(),
      incident_key: z.string().min(1).max(255).optional(),
      body: z.strictObject({ type: z.literal('incident_body'), details: z.string().max(65_536) }).optional(),
      assignments: z
        .array(z.strictObject({ assignee: reference('user_reference') }))
        .min(1)
        .optional(),
      escalation_policy: reference('escalation_policy_reference').optional(),
      incident_type: z
        .strictObject({ name: z.string().refine((name) => TYPES.has(name), 'unknown incident type') })
        .optional(),
    })
    .refine(
      (one) => !(one.assignments && one.escalation_policy),
      'assignments and escalation_policy exclude each other',
    ),
})
const change = z.strictObject({
  incident: z.strictObject({
    type: z.enum(['incident', 'incident_reference']),
    status: z.enum(['resolved', 'acknowledged']).optional(),
    resolution: z.string().optional(),
  }),
})
const note = z.strictObject({ note: z.strictObject({ content: z.string().min(1).max(25_000) }) })

const fault = (status: number, code: number, message: string, errors: readonly string[] = []): Answer => ({
  status,
  json: { error: { code, message, errors } },
})

export async function pagerDutyReceiver(): Promise<PagerDutyReceiver> {
  const incidents: PagerDutyIncident[] = []
  const shown = ({ id, key, title, status }: PagerDutyIncident) => ({
    id,
    type: 'incident',
    incident_key: key,
    title,
    status,
    html_url: `https://example.pagerduty.com/incidents/${id}`,
  })

  const handle = (asked: Asked): Answer => {
    if (asked.headers.authorization !== `Token token=${TOKEN}`) return fault(401, 2006, 'Unauthorized')
    if (!(asked.headers.accept ?? '').includes('application/vnd.pagerduty+json;version=2'))
      return fault(406, 2100, 'Accept header must name version 2')
    if (asked.method !== 'GET' && !USERS.has(asked.headers.from ?? ''))
      return fault(400, 2001, 'Invalid Input Provided', ['Requester User Not Found'])
    if (asked.path === '/abilities') return { status: 200, json: { abilities: ['urgencies'] } }
    if (asked.path === '/incidents') return asked.method === 'POST' ? opened(asked) : listed(asked)
    const [, id, rest = ''] = /^\/incidents\/([A-Z0-9]+)(\/notes)?$/.exec(asked.path) ?? []
    const incident = incidents.find((one) => one.id === id)
    if (incident === undefined) return fault(404, 2100, 'Not Found')
    if (rest === '/notes') return noted(asked, incident)
    if (asked.method === 'GET') return { status: 200, json: { incident: shown(incident) } }
    return changed(asked, incident)
  }

  const opened = (asked: Asked): Answer => {
    const read = parseBody(asked, create)
    if ('fault' in read) return fault(400, 2001, 'Invalid Input Provided', [read.fault])
    const { title, incident_key: given, body, ...fields } = read.body.incident
    const key = given ?? `key-${incidents.length}`
    const isOpen = incidents.some(
      (one) =>
        one.key === key &&
        one.status !== 'resolved' &&
        (one.fields.service as { id: string }).id === read.body.incident.service.id,
    )
    if (isOpen)
      return fault(400, 2002, 'Arguments Caused Error', [
        'Open incident with matching dedup key already exists on this service',
      ])
    const id = `Q${String(incidents.length).padStart(6, '0')}`
    const details = body?.details ?? ''
    const incident: PagerDutyIncident = {
      id,
      key,
      title,
      status: 'triggered',
      details,
      fields,
      notes: [],
      resolution: null,
    }
    incidents.push(incident)
    return { status: 201, json: { incident: shown(incident) } }
  }

  const listed = (asked: Asked): Answer => {
    const key = asked.query.get('incident_key')
    const statuses = asked.query.getAll('statuses[]')
    const found = incidents.filter(
      (one) => (key === null || one.key === key) && (statuses.length === 0 || statuses.includes(one.status)),
    )
    return { status: 200, json: { incidents: found.map(shown), limit: 25, offset: 0, more: false } }
  }

  const noted = (asked: Asked, incident: PagerDutyIncident): Answer => {
    if (asked.method === 'GET')
      return { status: 200, json: { notes: incident.notes.map((content, at) => ({ id: `N${at}`, content })) } }
    const read = parseBody(asked, note)
    if ('fault' in read) return fault(400, 2001, 'Invalid Input Provided', [read.fault])
    incident.notes.push(read.body.note.content)
    return { status: 201, json: { note: { id: `N${incident.notes.length}`, ...read.body.note } } }
  }

  const changed = (asked: Asked, incident: PagerDutyIncident): Answer => {
    if (asked.method !== 'PUT') return fault(405, 2100, 'Method Not Allowed')
    const read = parseBody(asked, change)
    if ('fault' in read) return fault(400, 2001, 'Invalid Input Provided', [read.fault])
    if (incident.status === 'resolved') return fault(400, 2001, 'Invalid Input Provided', ['Incident Already Resolved'])
    incident.status = read.body.incident.status ?? incident.status
    incident.resolution = read.body.incident.resolution ?? null
    return { status: 200, json: { incident: shown(incident) } }
  }

  return Object.assign(await startReceiver(handle), {
    token: TOKEN,
    incidents,
    resolve: (id: string) => {
      incidents.find((one) => one.id === id)!.status = 'resolved'
    },
  })
}
