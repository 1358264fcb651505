import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readScheduleFile } from './schedule-file.ts'
import { writeScheduleFile } from './schedule-file-write.ts'
import type { NewScheduleFields } from './schedule-input.ts'
import { parseNewSchedule } from './schedule-input.ts'

const plain = { name: 'Plain', schedule: 'OFF', environment: 'production', commands: ['dbt build'] }

/** What a file says of schedules after they were written to one. */
function again(fields: NewScheduleFields, parentSlug: string | null = null) {
  const text = writeScheduleFile([{ slug: 'the-slug', fields, parentSlug, hiddenVariables: [] }])
  const { schedules, findings } = readScheduleFile('a.yml', text)
  assert.deepEqual(findings, [], text)
  assert.equal(schedules[0]!.slug, 'the-slug')
  return { text, fields: schedules[0]!.fields }
}

test('a schedule with everything in it reads back to the same', () => {
  const fields = parseNewSchedule({
    ...plain,
    name: 'yes: "no" # 100 %',
    schedule: '*/15 8-18 * * MON-FRI',
    timezone: 'Europe/Berlin',
    commands: [
      'dbt build --vars \'{"a": "b: c"}\'',
      { command: 'echo one\necho two\n', continueOnError: false },
      '- x',
    ],
    description: '  two\n  lines\n\n',
    ownerEmail: 'ana@example.com',
    gitBranch: 'release/1.0',
    suspended: true,
    continueOnError: true,
    triggerOnMerge: true,
    slaSeconds: 90,
    timeLimitSeconds: 3600,
    overlap: 'cancel_previous',
    catchUp: 'all',
    catchUpWindowSeconds: 0,
    labels: ['gpu', 'yes'],
    envVars: [
      { key: 'A', value: 'on' },
      { key: 'B', value: '007' },
      { key: 'C', value: '' },
      { key: 'D', value: 'line\nline: #x' },
    ],
    notifications: {
      slackNotifications: [{ channel: '#data', events: ['failed', 'sla'], templateSlug: 'short' }],
      emailNotifications: [{ channel: 'ana@example.com', events: ['passed'] }],
      teamsNotifications: [{ channel: 'Data', events: ['failed'] }],
    },
    selfHealing: { enabled: true, slackChannel: '#mend', agentName: 'mender' },
    turboCi: { enabled: true, deferredScheduleSlug: 'other', successfulRunOnly: false },
    deferredSchedule: { enabled: false, deferredScheduleSlug: 'the-slug' },
    scheduleTrigger: {
      enabled: true,
      scheduleName: 'parent',
      workspaceName: 'Else where',
      triggerOn: ['failed', 'sla'],
    },
    integrations: {
      incidentIo: [{ visibility: 'public', severityId: 's1' }],
      pagerduty: [
        {
          fromEmail: 'a@example.com',
          serviceId: 'P1',
          serviceName: 'Data',
          incidentTypeDisplayName: 'Base',
          incidentTypeName: 'base',
          assigneeIds: ['U1', 'U2'],
        },
      ],
      datadog: [{ severity: 'SEV-2', severityName: 'High', customerImpacted: true }],
      newRelic: [{ environment: 'eu' }],
    },
  })
  assert.deepEqual(again(fields).fields, fields)
})

test('what is as it would be without being said is left out', () => {
  const fields = parseNewSchedule({
    ...plain,
    timezone: 'UTC',
    overlap: 'queue_one',
    catchUp: 'latest',
    slaSeconds: 600,
  })
  const { text } = again(fields)
  assert.equal(
    text,
    `version: 1
schedules:
  - name: Plain
    slug: the-slug
    schedule: "OFF"
    environment: production
    commands:
      - dbt build
    sla_minutes: 10
`,
  )
})

test('a parent is named by its slug', () => {
  const trigger = { enabled: true, scheduleName: 'The parent', triggerOn: ['passed'] }
  const { fields } = again(parseNewSchedule({ ...plain, scheduleTrigger: trigger }), 'the-parent')
  assert.equal(fields.scheduleTrigger?.scheduleName, 'the-parent')
})

test('values of variables that are kept back are named in a comment', () => {
  const fields = parseNewSchedule(plain)
  const text = writeScheduleFile([
    { slug: 'a', fields, parentSlug: null, hiddenVariables: [] },
    { slug: 'b', fields, parentSlug: null, hiddenVariables: ['TOKEN', 'TARGET'] },
  ])
  assert.match(
    text,
    /commands:\n {6}- dbt build\n {2}# env_overrides: give the values of TOKEN, TARGET; .*\n {2}- name: Plain\n {4}slug: b/,
  )
  assert.equal(readScheduleFile('a.yml', text).schedules.length, 2)
})
