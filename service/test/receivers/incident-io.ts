// incident.io's API: incidents of version 2, severities, types and statuses of version 1.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface IncidentIoIncident {
  readonly id: string
  readonly idempotencyKey: string
  readonly name: string
  readonly visibility: string
  readonly fields: Readonly<Record<string, unknown>>
  summary: string
  statusId: string
  edits: number
}

export interface IncidentIoReceiver extends Receiver {
  readonly token: string
  readonly incidents: readonly IncidentIoIncident[]
  isOpen(incident: IncidentIoIncident): boolean
}

const TOKEN = 'inc-test-0123456789abcdef'
const SEVERITIES = [
  { id: '01SEVMINOR', name: 'Minor', rank: 1 },
  { id: '01SEVMAJOR', name: 'Major', rank: 2 },
]
const TYPES = [{ id: '01TYPEDATA', name: 'Data' }]
const STATUSES = [
  { id: '01STATUSTRIAGE', name: 'Triage', category: 'triage' },
  { id: '01STATUSFIXING', name: 'Fixing', category: 'live' },
  { id: '01STATUSCLOSED', name: 'Closed', category: 'closed' },
]

const idOf = (list: readonly { readonly id: string }[]) => z.enum(list.map((one) => one.id) as [string])
const create = z.strictObject({
  idempotency_key: z.string().min(1).max(50),
  visibility: z.enum(['public', 'private']),
  name: z.string().min(1).max(255).optional(),
  summary: z.string().max(10_000).optional(),
  mode: z.enum(['standard', 'retrospective', 'test', 'tutorial']).optional(),
  severity_id: idOf(SEVERITIES).optional(),
  incident_status_id: idOf(STATUSES).optional(),
  incident_type_id: idOf(TYPES).optional(),
})
const edit = z.strictObject({
  incident: z.strictObject({
    name: z.string().min(1).optional(),
    summary: z.string().max(12_000).optional(),
    incident_status_id: idOf(STATUSES).optional(),
    severity_id: idOf(SEVERITIES).optional(),
  }),
  notify_incident_channel: z.boolean(),
})

const fault = (status: number, type: string, message: string): Answer => ({
  status,
  json: { type, status, request_id: 'r', errors: [{ code: 'invalid_value', message, source: { pointer: '' } }] },
})

export async function incidentIoReceiver(): Promise<IncidentIoReceiver> {
  const incidents: IncidentIoIncident[] = []
  const statusOf = ({ statusId }: IncidentIoIncident) => STATUSES.find((one) => one.id === statusId)!
  const shown = (one: IncidentIoIncident): Answer => {
    const { id, name, visibility, summary } = one
    return { status: 200, json: { incident: { id, name, visibility, summary, incident_status: statusOf(one) } } }
  }

  const handle = (asked: Asked): Answer => {
    if (asked.headers.authorization !== `Bearer ${TOKEN}`) return fault(401, 'authentication_error', 'bad key')
    switch (`${asked.method} ${asked.path}`) {
      case 'GET /v1/identity':
        return { status: 200, json: { identity: { name: 'test key', roles: ['incident_creator', 'incident_editor'] } } }
      case 'GET /v1/severities':
        return { status: 200, json: { severities: SEVERITIES } }
      case 'GET /v1/incident_types':
        return { status: 200, json: { incident_types: TYPES } }
      case 'GET /v1/incident_statuses':
        return { status: 200, json: { incident_statuses: STATUSES } }
      case 'POST /v2/incidents':
        return opened(asked)
    }
    const [, id, action] = /^\/v2\/incidents\/([A-Z0-9]+)(\/actions\/edit)?$/.exec(asked.path) ?? []
    const incident = incidents.find((one) => one.id === id)
    if (incident === undefined) return fault(404, 'not_found', 'no such incident')
    if (action === undefined && asked.method === 'GET') return shown(incident)
    if (action === undefined || asked.method !== 'POST') return fault(405, 'method_not_allowed', 'no such method')
    const read = parseBody(asked, edit)
    if ('fault' in read) return fault(422, 'validation_error', read.fault)
    incident.summary = read.body.incident.summary ?? incident.summary
    incident.statusId = read.body.incident.incident_status_id ?? incident.statusId
    incident.edits += 1
    return shown(incident)
  }

  const opened = (asked: Asked): Answer => {
    const read = parseBody(asked, create)
    if ('fault' in read) return fault(422, 'validation_error', read.fault)
    const {
      idempotency_key: idempotencyKey,
      name = '',
      summary = '',
      visibility,
      incident_status_id,
      ...fields
    } = read.body
    const known = incidents.find((one) => one.idempotencyKey === idempotencyKey)
    if (known !== undefined) return shown(known)
    const id = `01INC${String(incidents.length).padStart(5, '0')}`
    const statusId = incident_status_id ?? '01STATUSTRIAGE'
    const incident = { id, idempotencyKey, name, summary, visibility, fields, statusId, edits: 0 }
    incidents.push(incident)
    return shown(incident)
  }

  return Object.assign(await startReceiver(handle), {
    token: TOKEN,
    incidents,
    isOpen: (incident: IncidentIoIncident) => statusOf(incident).category !== 'closed',
  })
}
