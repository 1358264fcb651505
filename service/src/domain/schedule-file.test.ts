import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingLine, readScheduleFile } from './schedule-file.ts'

const good = `schedules:
  - name: nightly-build
    schedule: "0 3 * * *"
    environment: production
    commands: [dbt build]
`

const lines = (text: string): string[] => readScheduleFile('.bolt/a.yml', text).findings.map(findingLine)

/** The one schedule of a file that has the base keys and these. */
function read(more: string) {
  const { schedules, findings } = readScheduleFile('a.yml', good + more.replace(/^/gm, '    '))
  assert.deepEqual(findings.filter((one) => one.severity === 'fault').map(findingLine), [])
  return schedules[0]!.fields
}

const faults = (more: string): string[] =>
  readScheduleFile('a.yml', good + more.replace(/^/gm, '    ')).findings.map(findingLine)

test('a schedule with a name alone has it as its slug where it can be one', () => {
  const [slug] = readScheduleFile('a.yml', good).schedules
  assert.deepEqual([slug!.slug, slug!.fields.name], ['nightly-build', 'nightly-build'])
  const [made] = readScheduleFile('a.yml', good.replace('nightly-build', 'Nightly build')).schedules
  assert.match(made!.slug, /^nightly-build-[0-9a-f]{6}$/)
  assert.equal(made!.fields.name, 'Nightly build')
  const [again] = readScheduleFile('b.yml', good.replace('nightly-build', 'Nightly build')).schedules
  assert.equal(again!.slug, made!.slug, 'the same name gives the same slug every time')
})

test('beside display_name the name is the slug; beside slug it is what people see', () => {
  const [second] = readScheduleFile('a.yml', `${good}    display_name: Nightly build\n`).schedules
  assert.deepEqual([second!.slug, second!.fields.name], ['nightly-build', 'Nightly build'])
  const named = good.replace('name: nightly-build', 'name: Nightly build\n    slug: nightly-3f2a1b')
  const [third] = readScheduleFile('a.yml', named).schedules
  assert.deepEqual([third!.slug, third!.fields.name], ['nightly-3f2a1b', 'Nightly build'])
  assert.deepEqual(third!.names, ['Nightly build'])
})

test('a slug that is none is a fault that shows one', () => {
  const [line] = lines(good.replace('name: nightly-build', 'name: Nightly\n    slug: Not_A_Slug'))
  assert.match(line!, /^\.bolt\/a\.yml:3:11: slug: "Not_A_Slug" is no slug .* "nightly-[0-9a-f]{6}" would be one\.$/)
})

test('commands are texts, or maps that say whether to go on', () => {
  const text = good.replace(
    '[dbt build]',
    '\n      - dbt seed\n      - command: dbt run\n        continue_on_error: yes\n      - command: dbt test',
  )
  assert.deepEqual(readScheduleFile('a.yml', text).schedules[0]!.fields.commands, [
    { command: 'dbt seed', continueOnError: null },
    { command: 'dbt run', continueOnError: true },
    { command: 'dbt test', continueOnError: null },
  ])
  assert.deepEqual(read('command_settings:\n  - continue_on_error: false').commands, [
    { command: 'dbt build', continueOnError: false },
  ])
  assert.match(faults('command_settings: []\ncontinue_on_eror: true')[0]!, /"continue_on_eror".*continue_on_error/)
})

test('every other field is read under its key', () => {
  const fields = read(`timezone: Europe/Berlin
git_branch: live
owner_email: ana@example.com
description: |
  Builds
  everything
suspended: on
trigger_on_merge: true
continue_on_error: true
sla_minutes: 45
time_limit_seconds: 7200
overlap: skip
catch_up: none
catch_up_window_seconds: 60
labels: [gpu, eu]
env_overrides:
  - key: TARGET
    value: 5
self_healing:
  enabled: true
  slack_channel: "#mend"
  agent_name: mender
turbo_ci:
  enabled: true
  deferred_schedule_slug: other
  successful_runs_only: false
deferred_schedule:
  enabled: true
  deferred_schedule_name: Other one
schedule_trigger:
  enabled: true
  schedule_name: Parent
  workspace_name: Elsewhere
  trigger_on: [passed, failed]
integrations:
  new_relic:
    - environment: eu
  incident_io:
    - visibility: public
      severity_id: s1
`)
  assert.deepEqual(
    {
      ...fields,
      integrations: {
        newRelic: fields.integrations?.newRelic,
        severity: fields.integrations?.incidentIo[0]?.severityId,
      },
    },
    {
      name: 'nightly-build',
      cron: '0 3 * * *',
      environment: 'production',
      commands: [{ command: 'dbt build', continueOnError: null }],
      timezone: 'Europe/Berlin',
      gitBranch: 'live',
      ownerEmail: 'ana@example.com',
      description: 'Builds\neverything\n',
      suspended: true,
      triggerOnMerge: true,
      continueOnError: true,
      slaSeconds: 2700,
      timeLimitSeconds: 7200,
      overlap: 'skip',
      catchUp: 'none',
      catchUpWindowSeconds: 60,
      labels: ['gpu', 'eu'],
      envVars: [{ key: 'TARGET', value: '5' }],
      selfHealing: { enabled: true, slackChannel: '#mend', agentName: 'mender' },
      turboCi: { enabled: true, slug: 'other', successfulRunOnly: false },
      deferredSchedule: { enabled: true, slug: 'Other one', successfulRunOnly: true },
      scheduleTrigger: {
        enabled: true,
        parentId: null,
        scheduleName: 'Parent',
        workspaceName: 'Elsewhere',
        triggerOn: ['passed', 'failed'],
      },
      integrations: { newRelic: [{ environment: 'eu' }], severity: 's1' },
    },
  )
})

test('older and shorter words mean the same', () => {
  const trigger = read('run_after:\n  schedule: Parent\n  on: [failed]').scheduleTrigger!
  assert.deepEqual([trigger.scheduleName, trigger.triggerOn, trigger.enabled], ['Parent', ['failed'], true])
  assert.equal(read('turbo_ci: {enabled: true, deferred_manifest_schedule: daily}').turboCi?.slug, 'daily')
  assert.equal(
    read('deferred_schedule: {deferred_schedule_name: a, successful_run_only: no}').deferredSchedule?.successfulRunOnly,
    false,
  )
  assert.deepEqual(read('env_overrides: {A: 1, B: two}').envVars, [
    { key: 'A', value: '1' },
    { key: 'B', value: 'two' },
  ])
  assert.equal(read('concurrency: parallel').overlap, 'allow')
  assert.equal(read('hightouch: {enabled: true}').name, 'nightly-build')
})

test('notifications are read from their block and from the older keys, a channel once', () => {
  const { notifications } = read(`notifications:
  slack_channels:
    - channel: "#data"
      events: [FAILED, sla]
      template_slug: short
  emails:
    - address: ana@example.com
      events: [passed]
  microsoft_teams:
    - channel: Data
      events: [failed]
slack_notify: ["#data", "@quinn", ""]
slack_on: [passed]
email_notify: ben@example.com
email_on: [failed]
`)
  assert.deepEqual(notifications, {
    slack: [
      { channel: '#data', events: ['failed', 'sla'], templateSlug: 'short' },
      { channel: '@quinn', events: ['passed'], templateSlug: null },
    ],
    email: [
      { channel: 'ana@example.com', events: ['passed'], templateSlug: null },
      { channel: 'ben@example.com', events: ['failed'], templateSlug: null },
    ],
    teams: [{ channel: 'Data', events: ['failed'], templateSlug: null }],
  })
  assert.deepEqual(read('slack_notify: [""]\nslack_on: [""]').notifications, undefined)
  assert.match(
    faults('slack_notify: "#data"')[0]!,
    /a\.yml:6:19: warning: .*slack_notify: nobody is told without slack_on/,
  )
})

test('an unknown key is a fault at its line, with the key that was meant', () => {
  assert.deepEqual(faults('comands: [x]'), [
    'a.yml:6:5: schedules[0]: "comands" is not a key here. Did you mean commands?',
  ])
  assert.match(
    lines('schedule: []')[0]!,
    /^\.bolt\/a\.yml:1:1: the file: "schedule" is not a key here\. Did you mean schedules\?$/,
  )
  assert.match(
    faults('notifications:\n  emails:\n    - adress: a@b.c\n      events: [failed]')[0]!,
    /^a\.yml:8:11: .*"adress".*address/,
  )
  assert.match(faults('self_healing: {enabld: true}')[0]!, /^a\.yml:6:20: .*enabled/)
})

test('a refusal of a value comes under the key and at the line that people wrote', () => {
  assert.match(faults('sla_minutes: -1')[0]!, /^a\.yml:6:18: schedules\[0\]\.sla_minutes: a whole number of seconds/)
  assert.match(
    faults('timezone: Mars/Olympus')[0]!,
    /^a\.yml:6:15: schedules\[0\]\.timezone: "Mars\/Olympus" is no time zone/,
  )
  assert.match(
    faults('notifications:\n  emails:\n    - address: nobody\n      events: [failed]')[0]!,
    /^a\.yml:8:20: .*emails\[0\]\.address: not a well-formed/,
  )
  assert.match(
    faults('slack_notify: "#a"\nslack_on: [faild]')[0]!,
    /^a\.yml:7:15: .*slack_on: "faild" is not one of failed, passed, sla/,
  )
  assert.match(faults('env_overrides: {LD_PRELOAD: x}')[0]!, /^a\.yml:6:21: .*LD_PRELOAD is reserved/)
  assert.match(
    faults('turbo_ci: {enabled: true}')[0]!,
    /^a\.yml:6:15: schedules\[0\]\.turbo_ci\.deferred_schedule_slug: needed/,
  )
})

test('all faults of a file are told together, in order, and it gives no schedule', () => {
  const { schedules, findings } = readScheduleFile(
    'a.yml',
    `${good}  - name: second\n    schedule: "99 * * * *"\n    environment: production\n    commands: []\n  - slug: third\n`,
  )
  assert.deepEqual(schedules, [])
  const told = findings.map(findingLine)
  assert.match(told[0]!, /^a\.yml:7:15: schedules\[1\]\.schedule: "99 \* \* \* \*" does not parse/)
  assert.match(told[1]!, /^a\.yml:9:15: schedules\[1\]\.commands: at least one is needed/)
  assert.ok(told.some((line) => /^a\.yml:10:5: schedules\[2\]\.name: needed/.test(line)))
  assert.ok(told.some((line) => /^a\.yml:10:5: schedules\[2\]\.commands: needed/.test(line)))
})

test('the same key twice, no YAML, and more than one document are faults with their line', () => {
  assert.match(faults('schedule: OFF')[0]!, /^a\.yml:6:5: schedules\[0\]\.schedule: is there twice/)
  assert.match(lines('schedules:\n  - name: [x\n')[0]!, /^\.bolt\/a\.yml:3:1: is not YAML/)
  assert.match(
    lines(good.replace('"0 3 * * *"', '* * * * *'))[0]!,
    /^\.bolt\/a\.yml:3:15: is not YAML: a text that begins with \*/,
  )
  assert.match(lines(`${good}---\na: 1\n`)[0]!, /more than one document/)
  assert.match(lines('schedules: {}')[0]!, /^\.bolt\/a\.yml:1:12: schedules: must be a list/)
})

test('a refusal never repeats what stands in a broken file', () => {
  assert.ok(!lines('schedules:\n  - env_overrides: {A: "hunter2-secret\n').join().includes('hunter2'))
})

test('an anchor can be a base for others, which may say something else', () => {
  const text = `schedules:
  - &base
    name: one
    schedule: "OFF"
    environment: production
    commands: [dbt build]
  - <<: *base
    name: two
    schedule: "@daily"
`
  const { schedules, findings } = readScheduleFile('a.yml', text)
  assert.deepEqual(findings, [])
  assert.deepEqual(
    schedules.map(({ slug, fields }) => [slug, fields.cron, fields.commands.length]),
    [
      ['one', 'OFF', 1],
      ['two', '@daily', 1],
    ],
  )
})

test('aliases of aliases, endless nesting and huge files are faults and cost little', () => {
  const bomb = ['a: &a [x]', ...Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a, *a]`)].join('\n')
  assert.ok(lines(bomb).length > 0)
  const merges = `schedules:\n${Array.from({ length: 2000 }, (_, i) => (i === 0 ? '  - &a {name: x, schedule: OFF, environment: p, commands: [x]}\n' : '  - *a\n')).join('')}`
  assert.ok(lines(merges).some((line) => line.includes('more than 1000 aliases')))
  assert.match(lines('schedules:\n  - &a {<<: *a}\n')[0]!, /:2:13: .*more than 1000 aliases/)
  assert.match(lines(`schedules: ${'['.repeat(50_000)}`)[0]!, /nested too deeply/)
  assert.match(lines(`schedules:\n${'- '.repeat(50_000)}`)[0]!, /:2:1: is nested too deeply/)
  assert.match(lines('#'.repeat(600_000))[0]!, /^\.bolt\/a\.yml: is larger than 512 KiB/)
  assert.ok(lines(Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')).length <= 100)
})

test('an empty file, comments alone and an empty list hold no schedules and no fault', () => {
  for (const text of ['', '# nothing yet\n', 'schedules:\n', 'schedules: []\n', '---\nversion: 1\n']) {
    assert.deepEqual(readScheduleFile('a.yml', text), { file: 'a.yml', schedules: [], findings: [] })
  }
})
