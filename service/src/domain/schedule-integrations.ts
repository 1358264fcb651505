// The incident integrations of a schedule, as they are given: which of them exist is decided where they are called.
import { invalidInput } from './errors.ts'
import type { Integrations } from './schedule.ts'

type Maybe<T> = { readonly [Field in keyof T]?: T[Field] | null | undefined }

export interface IntegrationsInput {
  readonly incidentIo?: readonly Maybe<Integrations['incidentIo'][number]>[] | null | undefined
  readonly pagerduty?: readonly Maybe<Integrations['pagerduty'][number]>[] | null | undefined
  readonly datadog?: readonly Maybe<Integrations['datadog'][number]>[] | null | undefined
  readonly newRelic?: readonly Maybe<Integrations['newRelic'][number]>[] | null | undefined
}

const LONGEST = 512
const MOST = 20

export type IntegrationKind = 'needed' | 'text' | 'texts' | 'flag'

export const INTEGRATION_FIELDS = {
  incidentIo: {
    visibility: 'needed',
    statusId: 'text',
    status: 'text',
    typeId: 'text',
    type: 'text',
    mode: 'text',
    severityId: 'text',
    severity: 'text',
  },
  pagerduty: {
    fromEmail: 'needed',
    serviceId: 'needed',
    serviceName: 'needed',
    incidentTypeDisplayName: 'needed',
    incidentTypeName: 'needed',
    priorityId: 'text',
    priorityName: 'text',
    urgency: 'text',
    escalationPolicyId: 'text',
    escalationPolicyName: 'text',
    assigneeIds: 'texts',
    assigneeNames: 'texts',
  },
  datadog: {
    severity: 'needed',
    severityName: 'needed',
    customerImpacted: 'flag',
    state: 'text',
    stateName: 'text',
    commanderUserId: 'text',
    commanderUserName: 'text',
    notificationHandles: 'texts',
  },
  newRelic: { environment: 'needed' },
} as const satisfies { [Name in keyof Integrations]: Record<keyof Integrations[Name][number], IntegrationKind> }

export function parseIntegrations(input: IntegrationsInput): Integrations {
  const parsed = Object.entries(INTEGRATION_FIELDS).map(([name, fields]) => {
    const entries: readonly Record<string, unknown>[] = input[name as keyof IntegrationsInput] ?? []
    if (entries.length > MOST) throw invalidInput(`integrations.${name}: at most ${MOST}, not ${entries.length}.`)
    return [name, entries.map((entry, index) => parseEntry(entry, fields, `integrations.${name}[${index}]`))]
  })
  return Object.fromEntries(parsed) as Integrations
}

function parseEntry(entry: Record<string, unknown>, fields: Record<string, IntegrationKind>, at: string): object {
  return Object.fromEntries(
    Object.entries(fields).map(([field, kind]) => [field, parseField(entry[field] ?? null, kind, `${at}.${field}`)]),
  )
}

function parseField(value: unknown, kind: IntegrationKind, field: string): unknown {
  switch (kind) {
    case 'flag':
      return value === true
    case 'texts':
      return Array.isArray(value) ? value.map((one) => parseText(one, field)) : []
    case 'text':
      return value === null ? null : parseText(value, field)
    case 'needed':
      if (typeof value !== 'string' || value.trim() === '') throw invalidInput(`${field}: must not be empty.`)
      return parseText(value, field)
  }
}

function parseText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length > LONGEST || /[\r\n\0]/.test(value))
    throw invalidInput(`${field}: one line of up to ${LONGEST} characters.`)
  return value.trim()
}
