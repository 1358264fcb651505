import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incidentEntries } from './incident-entry.ts'
import { parseIntegrations } from './schedule-integrations.ts'

const PAGER = {
  fromEmail: 'oncall@example.com',
  serviceId: 'P1',
  serviceName: 'Warehouse',
  incidentTypeDisplayName: 'Data',
  incidentTypeName: 'data',
}

const marks = (pagerduty: readonly object[]): string[] =>
  incidentEntries(parseIntegrations({ pagerduty: pagerduty as (typeof PAGER)[] })).map((one) => one.mark)

test('an entry keeps its incident when its priority changes, and has another one at another service', () => {
  const [mark] = marks([PAGER])
  assert.deepEqual(marks([{ ...PAGER, priorityId: 'P9', urgency: 'low' }]), [mark])
  assert.notDeepEqual(marks([{ ...PAGER, serviceId: 'P2' }]), [mark])
})

test('an entry that is given twice counts once, and every service has its own', () => {
  assert.equal(marks([PAGER, { ...PAGER, urgency: 'low' }]).length, 1)
  const datadog = [{ severity: 'SEV-1', severityName: 'One' }]
  const all = incidentEntries(parseIntegrations({ pagerduty: [PAGER], datadog, newRelic: [{ environment: 'prod' }] }))
  assert.deepEqual(
    all.map((one) => one.kind),
    ['pagerduty', 'datadog', 'new_relic'],
  )
  assert.equal(new Set(all.map((one) => one.mark)).size, 3)
  assert.deepEqual(incidentEntries(null), [])
})
