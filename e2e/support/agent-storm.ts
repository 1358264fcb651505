// Sessions of agents with effects outside (commits on a remote, runs, messages of Slack, a shell), while the workers that
// work on them are killed.
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { slackReceiver } from '../../service/test/receivers/slack.ts'
import { stormModel } from './agent-storm-model.ts'
import { externalPostgres } from './external-postgres.ts'
import { lookInto } from './postgres.ts'
import type { Random } from './random.ts'
import { clientOf, makeRepository } from './runs.ts'
import { type Launched, launch, startProcess, temporaryFolder } from './service.ts'

const exec = promisify(execFile)

const TOOLS = [
  'read_file',
  'write_file',
  'run_terminal_command',
  'git_commit',
  'git_push',
  'trigger_bolt_run',
  'post_slack_message',
]

const AGENT = `name: storm
version: "1"
role: Makes effects
goal: Have each of them once
backstory: None
model_family: storm
tools:
  mode: allowlist
  list: [${TOOLS.join(', ')}]
slack:
  channel: "#data"
`

const PROGRESS = "'assistant', 'tool_start', 'tool_end'"
/** What the service says of a session that lost its worker too often at one record; nothing else may fail one here. */
const LOST = /^Its worker was lost \d+ times at the same step/

export interface StormReport {
  readonly kills: number
  readonly sessions: number
  readonly completed: number
  readonly failed: number
  /** Sessions that another worker went on with. */
  readonly retaken: number
  readonly inDoubt: number
  readonly runs: number
  /** Of the shell, seen on the remote. */
  readonly commands: number
  readonly faults: readonly string[]
}

export async function agentStorm(of: {
  readonly kills: number
  readonly workers: number
  readonly atOnce: number
  readonly random: Random
  readonly say: (line: string) => void
}): Promise<StormReport> {
  const { random } = of
  const faults: string[] = []
  const postgres = await externalPostgres()
  const slack = await slackReceiver()
  let schedule = ''
  const model = await stormModel(
    () => schedule,
    () => random.between(1, 60),
  )
  const shared = {
    DATABASE_URL: postgres.url,
    YARDMASTER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    YARDMASTER_BLOBS_FOLDER: join(await temporaryFolder('blobs'), 'blobs'),
    YARDMASTER_OUTGOING_ALLOW: '127.0.0.1',
    YARDMASTER_LOG_LEVEL: 'info',
  }
  const service = await startProcess({ env: { ...shared, YARDMASTER_ROLES: 'api,scheduler' } })
  const client = clientOf(service)
  const source = await makeRepository({ 'one.txt': '1\n', '.dinoai/agents/storm.yml': AGENT })
  const remote = join(await temporaryFolder('remote'), 'storm.git')
  await exec('git', ['clone', '--quiet', '--bare', source.folder, remote])
  const environment = await client.environment({ ...source, folder: remote }, { isDefault: true })
  schedule = await client.schedule(environment, ['true'], { name: 'Stormy', overlap: 'ALLOW' })
  const pairs = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }))
  await client.ask(
    `mutation ($settings: [IntegrationSettingInput!], $secrets: [IntegrationSettingInput!]) {
      createIntegration(kind: SLACK, settings: $settings, secrets: $secrets) { id } }`,
    { settings: pairs({ apiUrl: slack.url }), secrets: pairs({ token: slack.token }) },
  )
  await client.ask(
    `mutation ($settings: [IntegrationSettingInput!], $secrets: [IntegrationSettingInput!]) {
      setModelFamily(name: "storm", provider: OPENAI_COMPATIBLE, model: "storm", isDefault: true, settings: $settings,
        secrets: $secrets) { ok } }`,
    { settings: pairs({ address: model.address }), secrets: pairs({ apiKey: 'none-is-needed' }) },
  )

  const folders = await Promise.all(Array.from({ length: of.workers }, () => temporaryFolder('worker')))
  const begin = (slot: number): Promise<Launched> =>
    launch({ env: shared, args: ['worker'], dataFolder: join(folders[slot]!, 'data') })
  const workers = await Promise.all(folders.map((_, slot) => begin(slot)))
  const isUp = (one: Launched): boolean => one.stdout().includes('is taking runs')
  await client.until(async () => workers.every(isUp), 300_000)

  const ids: string[] = []
  const trigger = async (): Promise<void> => {
    const { agentSessionId } = await client.ask(
      'mutation ($message: String) { triggerDinoaiAgentRun(agent: "storm", message: $message) { agentSessionId } }',
      { message: `Make storm-${ids.length}.` },
    )
    ids.push(agentSessionId)
  }
  const look = await lookInto(postgres.superuser)
  const rows = async <T>(text: string): Promise<T[]> => (await look.query(text)).rows as T[]
  const open = async (): Promise<number> =>
    (
      await rows<{ n: number }>(
        "select count(*)::int as n from yardmaster.agent_session where status in ('queued', 'running')",
      )
    )[0]!.n

  const written = async (): Promise<number> =>
    (await rows<{ n: number }>(`select count(*)::int as n from yardmaster.agent_event where kind in (${PROGRESS})`))[0]!
      .n

  for (let kill = 1; kill <= of.kills; kill++) {
    for (let going = await open(); going < of.atOnce; going++) await trigger()
    // By what was written, not by time: on a slow machine kills would otherwise only ever hit the beginning.
    const enough = (await written()) + random.between(5, 40)
    await client.until(async () => (await written()) >= enough || (await open()) === 0, 300_000)
    await pause(random.between(0, 150))
    const up = workers.flatMap((one, slot) => (isUp(one) ? [slot] : []))
    const slot = random.pick(up)
    workers[slot]!.signal('SIGKILL')
    await workers[slot]!.exited
    // Now and then the host is gone for good, with everything on it.
    if (random.chance(0.3)) await rm(join(folders[slot]!, 'data', 'agents'), { recursive: true, force: true })
    workers[slot] = await begin(slot)
    // Somebody is there to go on.
    await client.until(async () => workers.some(isUp), 300_000)
    if (kill % 10 === 0) of.say(`${kill} kills, ${ids.length} sessions`)
  }
  await client.until(async () => (await open()) === 0, 300_000).catch((error: unknown) => faults.push(String(error)))
  await client
    .until(async () => (await rows("select 1 from yardmaster.delivery where state = 'waiting'")).length === 0, 60_000)
    .catch(() => faults.push('messages wait to be delivered'))

  interface Row {
    readonly id: string
    readonly status: string
    readonly attempt: number
    readonly reason: string
  }
  const sessions = await rows<Row>('select id, status, attempt, reason from yardmaster.agent_session')
  const events = await rows<{
    session: string
    seq: number
    ts: string
    kind: string
    body: { calls?: { id: string }[]; call?: string; text?: string }
  }>(
    'select session_id as session, seq, ts::text as ts, kind, body from yardmaster.agent_event order by session_id, seq',
  )
  const runs = await rows<{ reason: string }>('select reason from yardmaster.run')
  faults.push(...model.faults.map((one) => `the model was asked wrongly: ${one}`))
  const { stdout: refs } = await exec('git', ['for-each-ref', '--format=%(refname:short)', 'refs/heads/agent'], {
    cwd: remote,
  })
  const branches = refs.split('\n').filter((one) => one !== '')

  let commands = 0
  for (const [at, id] of ids.entries()) {
    const tag = `storm-${at}`
    const session = sessions.find((one) => one.id === id)!
    const isDone = session.status === 'completed'
    const own = events.filter((one) => one.session === id)
    const fault = (text: string): void => void faults.push(`${id} (${tag}, ${session.status}): ${text}`)
    if (!isDone && !(session.status === 'failed' && LOST.test(session.reason))) fault(session.reason)
    for (const [n, one] of own.entries()) {
      if (one.seq !== n + 1) fault(`record ${one.seq} is out of place`)
      if (n > 0 && BigInt(one.ts) <= BigInt(own[n - 1]!.ts)) fault(`the time of record ${one.seq} does not grow`)
    }
    const calls = own.flatMap((one) => (one.kind === 'assistant' ? (one.body.calls ?? []) : []))
    for (const { id: call } of calls) {
      const results = own.filter((one) => one.kind === 'tool_end' && one.body.call === call).length
      if (results !== 1) fault(`${call} has ${results} results`)
    }
    const once = (what: string, count: number): void => {
      if (count > 1 || (isDone && count !== 1)) fault(`${what}: ${count} times`)
    }
    once('the run', runs.filter((one) => one.reason.endsWith(`: ${tag}`)).length)
    once('the note', slack.messages.filter((one) => one.text === `note of ${tag}`).length)
    once('the last words', slack.messages.filter((one) => one.text === `done ${tag}`).length)
    const branch = branches.find((one) => one.startsWith(`agent/${id}/`))
    once('the branch', branch === undefined ? 0 : 1)
    if (branch === undefined) continue
    const { stdout: log } = await exec('git', ['log', '--format=%s', `main..${branch}`], { cwd: remote })
    const subjects = log.trim().split('\n')
    for (const word of ['one', 'two'])
      once(`commit ${word}`, subjects.filter((one) => one === `${word} of ${tag}`).length)
    if (subjects.length !== 2) fault(`${subjects.length} commits on the branch: ${subjects.join(', ')}`)
    const show = (path: string): Promise<string> =>
      exec('git', ['show', `${branch}:${path}`], { cwd: remote }).then(
        ({ stdout }) => stdout,
        () => '',
      )
    if ((await show(`notes/${tag}.txt`)) !== `two ${tag}\n`) fault('the file is not as it was written last')
    const effects = (await show('effects.txt')).split('\n').length - 1
    if (effects > 1) fault('the shell took effect twice')
    commands += effects
  }

  for (const one of workers) one.signal('SIGTERM')
  await Promise.all(workers.map((one) => one.exited))
  await look.end()
  await service.stop()
  await slack[Symbol.asyncDispose]()
  model.close()
  await postgres.stop()
  const mine = sessions.filter((one) => ids.includes(one.id))
  return {
    kills: of.kills,
    sessions: ids.length,
    completed: mine.filter((one) => one.status === 'completed').length,
    failed: mine.filter((one) => one.status === 'failed').length,
    retaken: mine.filter((one) => one.attempt > 1).length,
    inDoubt: events.filter((one) => one.kind === 'tool_end' && one.body.text?.includes('was interrupted')).length,
    runs: runs.filter((one) => one.reason.includes('storm-')).length,
    commands,
    faults,
  }
}
