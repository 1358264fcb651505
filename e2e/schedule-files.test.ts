// Schedules as code from a team's side: a real service, a real repository, the command line before a merge.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Client, clientOf, makeRepository, type Repository } from './support/runs.ts'
import { pinnedNode, root, type ServiceProcess, startProcess } from './support/service.ts'

const flat = `schedules:
  - name: hourly_refresh # the name of the schedule
    schedule: "0 * * * *" # or "OFF"
    environment: production # always production
    commands:
      - echo refreshed
    owner_email: "nobody@example.com"
    slack_on:
      - passed
      - failed
    slack_notify:
      - "#data"
`
const team = `version: 1
schedules:
  - name: nightly-3f2a1b
    display_name: Nightly build
    schedule: "OFF"
    environment: production
    commands:
      - command: "false"
        continue_on_error: true
      - echo "target $TARGET"
    env_overrides:
      - key: TARGET
        value: warehouse
  - name: After the night
    slug: after-the-night-77aa01
    schedule: "OFF"
    environment: production
    commands: [echo after]
    schedule_trigger:
      enabled: true
      schedule_name: Nightly build
      workspace_name: Demo
      trigger_on: [failed]
`

let service: ServiceProcess
let client: Client
let repository: Repository

before(async () => {
  repository = await makeRepository({ 'paradime_schedules.yml': flat, '.bolt/team/nightly.yaml': team })
  service = await startProcess()
  client = clientOf(service)
  await client.environment(repository, { isDefault: true })
})
after(async () => {
  await service.stop()
})

const FILES = `{ boltScheduleFiles { ok branch commitHash syncedAt checkedAt warning files { path schedules ok }
  faults { file line column message } warnings { file line message } } }`

/** Asks for a look and waits until it was taken. */
async function sync() {
  const { requestedAt } = await client.ask('mutation { syncBoltScheduleFiles { ok requestedAt } }')
  return await client.until(async () => {
    const files = await client.ask(FILES)
    return files.checkedAt >= requestedAt && files
  })
}

const schedules = async () => {
  const listed = await client.ask(
    `{ listBoltSchedules(offset: 0, limit: 100, showInactive: true) { schedules { slug name uuid source sourceFile active
      suspended gitBranch slackNotify envVarNames warnings } } }`,
  )
  return listed.schedules.filter((one: { source: string }) => one.source === 'yaml')
}

test('files that were written for the existing product, in all three forms, are taken as they are', async () => {
  const files = await sync()
  assert.deepEqual([files.faults, files.warning, files.branch], [[], '', 'main'])
  assert.equal(files.commitHash, await repository.git('rev-parse', 'HEAD'))
  assert.deepEqual(files.files, [
    { path: '.bolt/team/nightly.yaml', schedules: 2, ok: true },
    { path: 'paradime_schedules.yml', schedules: 1, ok: true },
  ])
  assert.deepEqual(files.warnings, [
    {
      file: 'paradime_schedules.yml',
      line: 7,
      message: 'schedules[0].owner_email: nobody@example.com is no user of this workspace.',
    },
  ])
  const made = await schedules()
  assert.deepEqual(
    made.map((one: { name: string; slug: string }) => [
      one.name,
      one.slug.replace(/^hourly-refresh-[0-9a-f]{6}$/, 'hourly'),
    ]),
    [
      ['After the night', 'after-the-night-77aa01'],
      ['Nightly build', 'nightly-3f2a1b'],
      ['hourly_refresh', 'hourly'],
    ],
  )
  const hourly = made.find((one: { name: string }) => one.name === 'hourly_refresh')
  assert.deepEqual([hourly.sourceFile, hourly.slackNotify], ['paradime_schedules.yml', ['#data']])
})

test('a schedule of a file runs with its variables, goes on where a command says so, and its child follows', async () => {
  const runId = await client.trigger('nightly-3f2a1b')
  const status = await client.ended(runId)
  assert.equal(status.state, 'ERROR')
  assert.deepEqual(
    status.commands.slice(2).map((one: { returnCode: number }) => one.returnCode),
    [1, 0],
  )
  assert.match(status.commands.at(-1).stdout, /target /)
  const child = await client.until(async () => {
    const { latestRunId } = await client.ask('{ boltScheduleName(slug: "after-the-night-77aa01") { latestRunId } }')
    return latestRunId
  })
  assert.equal((await client.ended(child)).state, 'SUCCESS')
})

test('what stands in a file is changed there and nowhere else', async () => {
  const [{ slug }] = (await schedules()).filter((one: { name: string }) => one.name === 'hourly_refresh')
  for (const document of [
    `mutation { updateBoltSchedule(slug: "${slug}", schedule: { description: "x" }) { ok } }`,
    `mutation { suspendBoltSchedule(slug: "${slug}") { ok } }`,
    `mutation { deleteBoltSchedule(slug: "${slug}") { ok } }`,
  ]) {
    const { code, message } = await client.refused(document)
    assert.equal(code, 'CONFLICT')
    assert.match(message, /comes from the file paradime_schedules\.yml/)
  }
})

test('a broken file changes nothing and names the line; what is gone comes back as the same schedule', async () => {
  const before = await schedules()
  const broken = team.replace('display_name:', 'dispaly_name:').replace('echo after', 'echo other')
  await repository.commit({ '.bolt/team/nightly.yaml': broken, 'paradime_schedules.yml': 'schedules: []\n' })
  const files = await sync()
  assert.deepEqual(files.faults, [
    {
      file: '.bolt/team/nightly.yaml',
      line: 4,
      column: 5,
      message: 'schedules[0]: "dispaly_name" is not a key here. Did you mean display_name?',
    },
  ])
  const after = await schedules()
  const state = (list: { slug: string; active: boolean }[]) =>
    Object.fromEntries(list.map((one) => [one.slug.slice(0, 6), one.active]))
  assert.deepEqual(state(after), { 'after-': true, hourly: false, nightl: true })
  await repository.commit({ '.bolt/team/nightly.yaml': team, '.bolt/moved.yml': flat, 'paradime_schedules.yml': null })
  assert.deepEqual((await sync()).faults, [])
  const again = await schedules()
  const uuids = (list: { slug: string; uuid: string }[]) => list.map((one) => [one.slug, one.uuid])
  assert.deepEqual(uuids(again), uuids(before))
  assert.equal(again.find((one: { name: string }) => one.name === 'hourly_refresh').sourceFile, '.bolt/moved.yml')
})

test('a checkout is checked before a merge, without a service', async () => {
  const validate = (path: string) =>
    new Promise<{ code: number; out: string }>((resolve) => {
      const argv = [join(root, 'service', 'src', 'main.ts'), 'schedules', 'validate', path]
      const env = { PATH: process.env.PATH, HOME: '/nowhere' }
      execFile(pinnedNode, argv, { env }, (error, out) => resolve({ code: Number(error?.code ?? 0), out }))
    })
  const good = await validate(repository.folder)
  assert.deepEqual([good.code, good.out], [0, '2 files, 3 schedules, 0 faults.\n'])
  await repository.commit({ '.bolt/moved.yml': flat.replace('"0 * * * *"', '"0 25 * * *"') })
  const bad = await validate(repository.folder)
  assert.equal(bad.code, 1)
  assert.match(bad.out, /^\.bolt\/moved\.yml:3:15: schedules\[0\]\.schedule: "0 25 \* \* \*" does not parse/)
})
