// Schedules and runs from a client's side: a real service process, a real repository, real commands.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, clientOf, makeRepository, type Repository } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/

let service: ServiceProcess
let client: Client
let repository: Repository
let environment: string

before(async () => {
  repository = await makeRepository({ 'hello.sh': 'echo hello from main\n', 'value.txt': 'one\n' })
  service = await startProcess()
  client = clientOf(service)
  environment = await client.environment(repository)
})
after(async () => {
  await service.stop()
})

const runOf = (runId: number) =>
  client.ask(
    `query ($runId: Int!) { boltRun(runId: $runId) { run { id state phase detail actor reason startDttm endDttm
      waitedSeconds retryOf scheduleSlug gitInfo { branch commitHash pullRequestId } } retries
      commands { id kind state command originalCommand returnCode stdoutBytes resources { id path } } } }`,
    { runId },
  )

test('the first start leaves a schedule, a finished run with its output, and its file', async () => {
  const { schedules } = await client.ask(
    '{ listBoltSchedules(offset: 0, limit: 10, showInactive: false) { schedules { slug name commands } totalCount } }',
  )
  const hello = schedules.find((one: { name: string }) => one.name === 'hello')
  const { latestRunId } = await client.ask('query ($slug: String) { boltScheduleName(slug: $slug) { latestRunId } }', {
    slug: hello.slug,
  })
  const status = await client.ended(latestRunId)
  assert.equal(status.state, 'SUCCESS', JSON.stringify(status))
  assert.match(status.commands[2].stdout, /^Hello from the demo repository/)
  const { commands } = await runOf(latestRunId)
  const [file] = commands.at(-1).resources
  assert.equal(file.path, 'reports/orders.md')
  assert.match(service.stdout(), /boltRunStatus\(runId: \d+\)/)
})

test('a run is triggered with its overrides, watched, read by cursor, and its file fetched by a bare GET', async () => {
  await repository.git('switch', '--quiet', '--create', 'feature')
  const commit = await repository.commit({ 'hello.sh': 'echo hello from feature\n' })
  await repository.git('switch', '--quiet', 'main')
  const slug = await client.schedule(environment, ['sh hello.sh'])
  const runId = await client.trigger(slug, {
    branch: 'feature',
    reason: 'to see',
    commands: ['sh hello.sh', 'mkdir -p out && printf "a\\nb" > out/file.txt; echo "oops" >&2', 'cat out/file.txt'],
  })
  const status = await client.ended(runId)
  assert.equal(status.state, 'SUCCESS', JSON.stringify(status))
  assert.match(status.commands[0].command, /^git clone /)
  assert.deepEqual(
    status.commands
      .slice(2)
      .map((one: { stdout: string; stderr: string; returnCode: number }) => [one.stdout, one.stderr, one.returnCode]),
    [
      ['hello from feature\n', '', 0],
      ['', 'oops\n', 0],
      ['a\nb', '', 0],
    ],
  )
  for (const { startDttm, endDttm } of status.commands) {
    assert.match(startDttm, TIME)
    assert.match(endDttm, TIME)
  }
  const { run, commands } = await runOf(runId)
  assert.equal(run.phase, 'ENDED')
  assert.equal(run.reason, 'to see')
  assert.equal(run.actor, 'first key')
  assert.deepEqual(run.gitInfo, { branch: 'feature', commitHash: commit, pullRequestId: null })
  assert.deepEqual(
    commands.map((one: { kind: string }) => one.kind),
    ['INFRASTRUCTURE', 'INFRASTRUCTURE', 'USER', 'USER', 'USER'],
  )

  const last = status.commands[4].id
  const logs =
    'query ($id: Int!, $cursor: String) { boltCommandLogs(commandId: $id, cursor: $cursor) { lines { stream line } cursor finished } }'
  const batch = await client.ask(logs, { id: last, cursor: null })
  assert.deepEqual(batch.lines, [
    { stream: 'STDOUT', line: 'a\n' },
    { stream: 'STDOUT', line: 'b' },
  ])
  assert.equal(batch.finished, true)
  assert.deepEqual(await client.ask(logs, { id: last, cursor: batch.cursor }), {
    lines: [],
    cursor: batch.cursor,
    finished: true,
  })
  assert.equal((await client.refused(logs, { id: last, cursor: 'x' })).code, 'INVALID_INPUT')

  const { resources } = await client.ask(
    'query ($id: Int!) { boltCommand(commandId: $id) { resources { id path } scheduleRunId } }',
    {
      id: status.commands[3].id,
    },
  )
  assert.deepEqual(
    resources.map((one: { path: string }) => one.path),
    ['out/file.txt'],
  )
  const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { ok url } }', {
    id: resources[0].id,
  })
  const fetched = await fetch(url)
  assert.equal(fetched.status, 200)
  assert.equal(await fetched.text(), 'a\nb')
  assert.notEqual((await fetch(`${url}x`)).status, 200)

  const log = await client.ask('query ($id: Int!) { commandLogUrl(commandId: $id, stream: STDOUT) { url } }', {
    id: last,
  })
  assert.equal(await (await fetch(log.url)).text(), 'a\nb')
  const found = await client.ask(
    'query ($id: Int!) { searchCommandLog(commandId: $id, text: "b") { matches { stream lineNumber line } more } }',
    { id: last },
  )
  assert.deepEqual(found.matches, [{ stream: 'STDOUT', lineNumber: 2, line: 'b' }])
})

test('a running command is read while it runs, streamed as events, and gone soon after a cancel', async () => {
  const slug = await client.schedule(environment, ['echo begun; sleep 600 & sleep 600; echo never', 'echo not reached'])
  const runId = await client.trigger(slug)
  const going = await client.until(async () => {
    const { commands } = await client.ask(
      'query ($id: Int!) { boltRunStatus(runId: $id) { commands { id stdout endDttm } } }',
      { id: runId },
    )
    return commands[2].stdout === 'begun\n' && commands[2]
  })
  assert.equal(going.endDttm, '')
  const retry = 'mutation ($id: Int!) { retryBoltRun(scheduleRunId: $id) { ok runId } }'
  assert.deepEqual(await client.refused(retry, { id: runId }), {
    code: 'CONFLICT',
    message: 'Cannot retry a run that is still in progress',
  })

  const events = fetch(`${client.url}/graphql`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: `subscription { boltRunState(runId: ${runId}) { run { state phase } } }` }),
  })
  const output = fetch(`${client.url}/graphql`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: `subscription { boltCommandLog(commandId: ${going.id}) { lines { line } finished } }`,
    }),
  })
  assert.match((await events).headers.get('content-type') ?? '', /^text\/event-stream/)
  const cancel = 'mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }'
  const began = performance.now()
  await client.ask(cancel, { id: runId })
  const status = await client.ended(runId)
  assert.ok(performance.now() - began < 8_000)
  assert.equal(status.state, 'CANCELED')
  assert.equal(status.commands[2].stdout, 'begun\n')
  assert.ok(status.commands[2].returnCode > 128)
  assert.deepEqual([status.commands[3].startDttm, status.commands[3].returnCode], ['', null])
  assert.equal((await client.refused(cancel, { id: runId })).code, 'CONFLICT')

  const told = await (await events).text()
  assert.match(
    told,
    /event: next\ndata: \{"data":\{"boltRunState":\{"run":\{"state":"RUNNING","phase":"RUNNING"\}\}\}\}\n\n/,
  )
  assert.match(told, /"state":"CANCELED","phase":"ENDED"\}\}\}\}\n\nevent: complete\ndata:\n\n$/)
  const lines = await (await output).text()
  assert.match(lines, /"lines":\[\{"line":"begun\\n"\}\]/)
  assert.match(lines, /"finished":true\}\}\}\n\nevent: complete\ndata:\n\n$/)
})

test('a failed run is retried from its failure, and every other retry is refused in the words of the contract', async () => {
  const slug = await client.schedule(environment, ['echo before', 'grep -q two value.txt', 'echo after'])
  const fromFailure = 'mutation ($slug: String) { retryBoltRunFromFailure(slug: $slug) { ok runId } }'
  const failed = 'mutation ($id: Int!) { retryBoltRun(scheduleRunId: $id) { ok runId } }'
  const all = 'mutation ($id: Int!) { retryAllBoltRun(scheduleRunId: $id) { ok runId } }'
  assert.equal((await client.refused(fromFailure, { slug })).code, 'CONFLICT')

  const first = await client.trigger(slug)
  const broken = await client.ended(first)
  assert.equal(broken.state, 'ERROR', JSON.stringify(broken))
  assert.deepEqual(
    broken.commands.map((one: { returnCode: number | null }) => one.returnCode),
    [0, 0, 0, 1, null],
  )
  const commit = await repository.commit({ 'value.txt': 'two\n' })
  const { runId } = await client.ask(fromFailure, { slug })
  const mended = await client.ended(runId)
  assert.equal(mended.state, 'SUCCESS', JSON.stringify(mended))
  assert.deepEqual(
    mended.commands.slice(2).map((one: { command: string }) => one.command),
    ['grep -q two value.txt', 'echo after'],
  )
  const { run } = await runOf(runId)
  assert.equal(run.retryOf, first)
  assert.equal(run.gitInfo.commitHash, commit)
  assert.deepEqual((await runOf(first)).retries, [runId])
  assert.equal((await client.ended(first)).state, 'ERROR')

  assert.equal((await client.refused(failed, { id: runId })).message, 'All commands were successful, nothing to retry')
  assert.equal((await client.refused(fromFailure, { slug })).code, 'CONFLICT')
  const again = await client.ask(all, { id: first })
  assert.equal((await client.ended(again.runId)).commands.length, 5)
  const many = await client.ask(
    'mutation ($ids: [Int!]!) { retryBoltRuns(scheduleRunIds: $ids) { ok results { id ok runId code } } }',
    {
      ids: [first, runId],
    },
  )
  assert.deepEqual([many.ok, many.results[0].ok, many.results[1].code], [false, true, 'CONFLICT'])
  await client.ended(many.results[0].runId)
})

test('a branch that is not there ends the run in ERROR by its clone, and only triggering again helps', async () => {
  const slug = await client.schedule(environment, ['echo never'])
  const runId = await client.trigger(slug, { branch: 'no-such-branch' })
  const status = await client.ended(runId)
  assert.equal(status.state, 'ERROR')
  assert.match(status.commands[0].stderr, /no-such-branch/)
  assert.deepEqual(
    status.commands.slice(1).map((one: { returnCode: number | null }) => one.returnCode),
    [null, null],
  )
  const { message } = await client.refused('mutation ($id: Int!) { retryBoltRun(scheduleRunId: $id) { runId } }', {
    id: runId,
  })
  assert.match(message, /trigger the schedule again/)
})

test('what cannot be asked for is refused with the field and what to do', async () => {
  const slug = await client.schedule(environment, ['true'])
  const trigger = (input: string) => client.refused(`mutation { triggerBoltRun(${input}) { runId } }`)
  assert.equal((await trigger('slug: "none"')).code, 'NOT_FOUND')
  assert.match((await trigger('commands: ["true"]')).message, /slug/)
  assert.match((await trigger(`slug: "${slug}", commands: [""]`)).message, /^commands\[0\]/)
  assert.match(
    (await trigger(`slug: "${slug}", commands: ["a"], commandConfigs: [{ command: "b" }]`)).message,
    /commandConfigs/,
  )
  assert.equal((await client.refused('{ boltRunStatus(runId: 2147483647) { ok } }')).code, 'NOT_FOUND')
  assert.equal((await client.refused('{ listBoltRuns(offset: 0, limit: 1001) { ok } }')).code, 'INVALID_INPUT')
  assert.equal((await client.refused('{ listBoltRuns(offset: -1, limit: 1) { ok } }')).code, 'INVALID_INPUT')
})

test('a schedule that is due runs by itself, shows when next, and rests while it is suspended', async () => {
  const slug = await client.schedule(environment, ['echo tick'], { schedule: '* * * * *', timezone: 'Europe/Berlin' })
  const shown =
    'query ($slug: String!) { boltSchedule(slug: $slug) { schedule { nextRunAt suspended overlap catchUp slackOn emailNotify lastRunState } } }'
  const { schedule } = await client.ask(shown, { slug })
  assert.match(schedule.nextRunAt, TIME)
  assert.deepEqual([schedule.slackOn, schedule.emailNotify], [[''], ['']])
  assert.deepEqual([schedule.overlap, schedule.catchUp, schedule.lastRunState], ['QUEUE_ONE', 'LATEST', null])
  const run = await client.until(async () => {
    const { runs } = await client.ask(
      'query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 1) { runs { id actor actorEmail startDttm } } }',
      { slug },
    )
    return runs[0]
  }, 75_000)
  assert.deepEqual([run.actor, run.actorEmail], ['schedule', ''])
  assert.equal((await client.ended(run.id)).state, 'SUCCESS')
  await client.ask('mutation ($slug: String) { suspendBoltSchedule(slug: $slug, suspend: null) { ok } }', { slug })
  assert.deepEqual((await client.ask(shown, { slug })).schedule.nextRunAt, null)
  await client.ask('mutation ($slug: String) { deleteBoltSchedule(slug: $slug) { ok } }', { slug })
  assert.equal(
    (await client.refused('mutation ($slug: String) { triggerBoltRun(slug: $slug) { runId } }', { slug })).code,
    'NOT_FOUND',
  )
  const { runs } = await client.ask(
    'query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 5) { runs { id } } }',
    { slug },
  )
  assert.ok(runs.length >= 1)
})
