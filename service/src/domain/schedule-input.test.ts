import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import type { ScheduleInput } from './schedule-input.ts'
import { parseNewSchedule, parseScheduleInput } from './schedule-input.ts'

const GOOD = { name: 'Daily', schedule: '0 6 * * *', environment: 'production', commands: ['dbt build'] }

function refused(input: ScheduleInput, begins: string, says?: RegExp): void {
  assert.throws(
    () => parseNewSchedule(input),
    (error) => {
      assert.ok(error instanceof AppError, String(error))
      assert.equal(error.code, 'INVALID_INPUT')
      assert.ok(error.message.startsWith(`${begins}:`), error.message)
      if (says !== undefined) assert.match(error.message, says)
      return true
    },
    begins,
  )
}

test('every refusal begins with its field and says what is allowed', () => {
  const events = /failed, passed, sla/
  const table: readonly (readonly [Partial<ScheduleInput>, string, RegExp])[] = [
    [{ name: null }, 'name', /1 to 128 characters/],
    [{ name: '' }, 'name', /must not be empty/],
    [{ name: '   ' }, 'name', /must not be empty/],
    [{ name: 'x'.repeat(129) }, 'name', /at most 128/],
    [{ name: 'two\nlines' }, 'name', /no line breaks/],
    [{ schedule: null }, 'schedule', /a cron expression or OFF/],
    [{ schedule: '' }, 'schedule', /five fields/],
    [{ schedule: '* * * *' }, 'schedule', /4 fields, not 5.*five fields/],
    [{ schedule: '0 0 * * * *' }, 'schedule', /6 fields, not 5/],
    [{ schedule: '0 0 31 2 *' }, 'schedule', /never fires/],
    [{ timezone: 'Mars/Olympus' }, 'timezone', /an IANA name such as Europe\/Berlin/],
    [{ schedule: 'OFF', timezone: '+02:00' }, 'timezone', /IANA/],
    [{ environment: null }, 'environment', /slug/],
    [{ environment: '  ' }, 'environment', /Name an environment/],
    [{ commands: null }, 'commands', /at least one/],
    [{ commands: [] }, 'commands', /at least one/],
    [{ commands: ['dbt build', '  \n'] }, 'commands[1]', /shell command/],
    [{ commands: ['x'.repeat(100_001)] }, 'commands[0]', /at most 100000 bytes/],
    [{ commands: Array.from({ length: 1001 }, () => 'true') }, 'commands', /at most 1000/],
    [{ gitBranch: '--upload-pack=x' }, 'gitBranch', /git allows/],
    [{ description: 'x'.repeat(10_001) }, 'description', /at most 10000/],
    [{ ownerEmail: 'nobody' }, 'ownerEmail', /ana@example\.com/],
    [{ slaSeconds: -1 }, 'slaSeconds', /from 0 to/],
    [{ timeLimitSeconds: 1.5 }, 'timeLimitSeconds', /whole number/],
    [
      { notifications: { slackNotifications: [{ channel: '#a', events: ['FAILED', 'broken'] }] } },
      'notifications.slackNotifications[0].events',
      events,
    ],
    [
      { notifications: { teamsNotifications: [{ channel: ' ', events: [] }] } },
      'notifications.teamsNotifications[0].channel',
      /name of a channel/,
    ],
    [
      { notifications: { emailNotifications: [{ channel: 'not an address', events: ['passed'] }] } },
      'notifications.emailNotifications[0].channel',
      /well-formed/,
    ],
    [{ envVars: [{ key: '1A', value: '' }] }, 'envVars[0].key', /letters, digits and underscores/],
    [{ envVars: [{ key: 'YARDMASTER_RUN_ID', value: '1' }] }, 'envVars[0].key', /reserved/],
    [{ envVars: [{ key: 'A', value: 'x'.repeat(65_537) }] }, 'envVars[0].value', /at most 65536/],
    [
      {
        envVars: [
          { key: 'A', value: '1' },
          { key: 'A', value: '2' },
        ],
      },
      'envVars[1].key',
      /twice/,
    ],
    [{ selfHealing: { enabled: true, slackChannel: 'a\nb' } }, 'selfHealing.slackChannel', /one line/],
    [{ turboCi: { enabled: true } }, 'turboCi.deferredScheduleSlug', /needed when enabled/],
    [{ deferredSchedule: { enabled: true } }, 'deferredSchedule.deferredScheduleSlug', /needed when enabled/],
    [{ scheduleTrigger: { enabled: true } }, 'scheduleTrigger.scheduleName', /name or slug of the parent/],
    [
      { scheduleTrigger: { enabled: true, scheduleName: 'p', triggerOn: ['done'] } },
      'scheduleTrigger.triggerOn',
      events,
    ],
    [{ overlap: 'pile up' }, 'overlap', /queue_one, skip, allow, cancel_previous/],
    [{ catchUp: 'some' }, 'catchUp', /latest, all, none/],
    [{ catchUpWindowSeconds: 2_592_001 }, 'catchUpWindowSeconds', /from 0 to 2592000/],
    [{ labels: ['a b'] }, 'labels[0]', /letters, digits/],
    [{ integrations: { newRelic: [{ environment: '' }] } }, 'integrations.newRelic[0].environment', /not be empty/],
    [{ integrations: { datadog: [{ severity: 'a' }] } }, 'integrations.datadog[0].severityName', /not be empty/],
    [
      { integrations: { incidentIo: [{ visibility: 'public', mode: 'x'.repeat(513) }] } },
      'integrations.incidentIo[0].mode',
      /up to 512/,
    ],
  ]
  for (const [input, field, says] of table) refused({ ...GOOD, ...input }, field, says)
})

test('everything that is given is kept', () => {
  const fields = parseNewSchedule({
    ...GOOD,
    name: '  Daily  ',
    gitBranch: 'main',
    description: 'Line one\nline two',
    timezone: 'Europe/Berlin',
    ownerEmail: ' ana@example.com ',
    suspended: true,
    slaSeconds: 60,
    triggerOnMerge: true,
    continueOnError: true,
    notifications: {
      slackNotifications: [{ channel: '#data', events: ['Failed', 'FAILED', 'sla'], templateSlug: 'short' }],
      emailNotifications: [{ channel: 'ops@example.com', events: ['passed'] }],
      teamsNotifications: null,
    },
    selfHealing: { enabled: true, slackChannel: '#elsewhere', agentName: null },
    envVars: [{ key: 'TOKEN', value: 'secret-value' }],
    integrations: {
      pagerduty: [
        {
          fromEmail: 'a@example.com',
          serviceId: 'S1',
          serviceName: 'svc',
          incidentTypeDisplayName: 'Incident',
          incidentTypeName: 'incident',
          assigneeIds: ['P1'],
        },
      ],
      newRelic: [{ environment: 'prod' }],
    },
    turboCi: { enabled: true, deferredScheduleName: 'old-name', successfulRunOnly: null },
    deferredSchedule: {
      enabled: true,
      deferredScheduleSlug: 'wins',
      deferredScheduleName: 'loses',
      successfulRunOnly: false,
    },
    scheduleTrigger: { enabled: true, scheduleName: 'parent', workspaceName: 'Other', triggerOn: ['Passed', 'FAILED'] },
    overlap: 'SKIP',
    catchUp: 'ALL',
    catchUpWindowSeconds: 0,
    timeLimitSeconds: 0,
    labels: ['gpu', 'gpu'],
  })
  assert.deepEqual(fields, {
    name: 'Daily',
    cron: '0 6 * * *',
    environment: 'production',
    commands: [{ command: 'dbt build', continueOnError: null }],
    gitBranch: 'main',
    description: 'Line one\nline two',
    timezone: 'Europe/Berlin',
    ownerEmail: 'ana@example.com',
    suspended: true,
    slaSeconds: 60,
    triggerOnMerge: true,
    continueOnError: true,
    notifications: {
      slack: [{ channel: '#data', events: ['failed', 'sla'], templateSlug: 'short' }],
      email: [{ channel: 'ops@example.com', events: ['passed'], templateSlug: null }],
      teams: [],
    },
    selfHealing: { enabled: true, slackChannel: '#elsewhere', agentName: null },
    envVars: [{ key: 'TOKEN', value: 'secret-value' }],
    integrations: {
      incidentIo: [],
      pagerduty: [
        {
          fromEmail: 'a@example.com',
          serviceId: 'S1',
          serviceName: 'svc',
          incidentTypeDisplayName: 'Incident',
          incidentTypeName: 'incident',
          priorityId: null,
          priorityName: null,
          urgency: null,
          escalationPolicyId: null,
          escalationPolicyName: null,
          assigneeIds: ['P1'],
          assigneeNames: [],
        },
      ],
      datadog: [],
      newRelic: [{ environment: 'prod' }],
    },
    turboCi: { enabled: true, slug: 'old-name', successfulRunOnly: true },
    deferredSchedule: { enabled: true, slug: 'wins', successfulRunOnly: false },
    scheduleTrigger: {
      enabled: true,
      parentId: null,
      scheduleName: 'parent',
      workspaceName: 'Other',
      triggerOn: ['passed', 'failed'],
    },
    overlap: 'skip',
    catchUp: 'all',
    catchUpWindowSeconds: 0,
    timeLimitSeconds: null,
    labels: ['gpu'],
  })
})

test('null is not given, for every field', () => {
  const nothing = Object.fromEntries(
    [
      'name schedule environment commands gitBranch description timezone ownerEmail suspended slaSeconds triggerOnMerge',
      'continueOnError notifications selfHealing envVars integrations turboCi deferredSchedule scheduleTrigger overlap',
      'catchUp catchUpWindowSeconds timeLimitSeconds labels',
    ].flatMap((line) => line.split(' ').map((name) => [name, null])),
  ) as ScheduleInput
  assert.deepEqual(parseScheduleInput(nothing), {})
})

test('OFF is OFF in any case, and an empty zone is UTC', () => {
  assert.equal(parseNewSchedule({ ...GOOD, schedule: ' off ' }).cron, 'OFF')
  assert.equal(parseNewSchedule({ ...GOOD, timezone: '' }).timezone, 'UTC')
})

test('a change of the expression alone is judged in the zone that is there', () => {
  assert.deepEqual(parseScheduleInput({ schedule: '@daily' }, { cron: 'OFF', timezone: 'Asia/Tokyo' }), {
    cron: '@daily',
  })
  assert.deepEqual(parseScheduleInput({ timezone: 'UTC' }, { cron: '5 5 * * *', timezone: 'Asia/Tokyo' }), {
    timezone: 'UTC',
  })
})
