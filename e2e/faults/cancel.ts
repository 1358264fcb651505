// Commands that do not want to end are cancelled through the API of a real service, on its own worker and on one that
// is a process of its own: how long the API takes, when the first signal comes, when the run is final, and that nothing of
// it is alive then. What executors do about it is in executor-cancel.ts, a hundred times each.
//
//   node e2e/faults/cancel.ts [--repeats 5]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { NASTY } from '../../service/test/conformance/executor-processes.ts'
import { processesWith, uniqueNumber } from '../../service/test/support/executor.ts'
import { externalPostgres } from '../support/external-postgres.ts'
import { type Line, median, startClock, summary } from '../support/report.ts'
import { type Client, clientOf, makeRepository } from '../support/runs.ts'
import { launch, startProcess, temporaryFolder } from '../support/service.ts'

const { values } = parseArgs({ options: { repeats: { type: 'string', default: '5' } } })
const repeats = Number(values.repeats)
const clock = startClock()
const lines: Line[] = []

/** Says when it heard what, and then takes a moment to clean up, as dbt does. */
const STUB = [
  `trap 'echo int $(date +%s%N); sleep 0.2; exit 2' INT`,
  `trap 'echo term $(date +%s%N)' TERM`,
  'echo up',
  'while :; do sleep 0.05; done',
].join('\n')

interface Cancelled {
  readonly answerMs: number
  readonly endMs: number
  readonly state: string
  readonly stdout: string
  /** By the clock of the machine, when the API was asked. */
  readonly asked: number
}

async function cancelOnce(client: Client, slug: string, command: string): Promise<Cancelled> {
  const runId = await client.trigger(slug, { commands: [command] })
  await client.until(async () => {
    const { commands } = await client.ask('query ($id: Int!) { boltRunStatus(runId: $id) { commands { stdout } } }', {
      id: runId,
    })
    return commands[2]?.stdout.includes('up')
  })
  const asked = Date.now()
  const began = performance.now()
  await client.ask('mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }', { id: runId })
  const answerMs = performance.now() - began
  const status = await client.ended(runId)
  return {
    answerMs,
    endMs: performance.now() - began,
    state: status.state,
    stdout: status.commands[2].stdout,
    asked,
  }
}

async function measure(where: string, client: Client, slug: string, firstSignalMs: number): Promise<void> {
  const heard: number[] = []
  let disturbed = 0
  for (let count = 0; count < repeats * 2; count++) {
    const { stdout, asked } = await cancelOnce(client, slug, STUB)
    const [, at] = /^int (\d+)$/m.exec(stdout) ?? []
    heard.push(at === undefined ? Number.POSITIVE_INFINITY : Number(at) / 1e6 - asked)
    if (stdout.includes('term')) disturbed++
  }
  lines.push(
    [`${where}: ms from the call to the first signal, median`, median(heard)],
    [`${where}: ms from the call to the first signal, longest`, Math.max(...heard), (n) => n <= firstSignalMs],
    [`${where}: stubs that heard anything else first`, disturbed, (n) => n === 0],
  )
  const all: Cancelled[] = []
  let survivors = 0
  for (const [what, text] of Object.entries(NASTY)) {
    const ends: number[] = []
    for (let count = 0; count < repeats; count++) {
      const number = uniqueNumber()
      const one = await cancelOnce(client, slug, text.replaceAll('NUMBER', number))
      survivors += processesWith(number).length
      all.push(one)
      ends.push(one.endMs)
    }
    lines.push([`${where}, ${what}: ms to the final state, longest`, Math.max(...ends)])
    console.log(`${(clock() / 1000).toFixed(0)} s  ${where}, ${what}: done`)
  }
  lines.push(
    [`${where}: cancels`, all.length],
    [`${where}: processes alive when the run was final`, survivors, (n) => n === 0],
    [
      `${where}: runs that ended as anything else than CANCELED`,
      all.filter((one) => one.state !== 'CANCELED').length,
      (n) => n === 0,
    ],
    [`${where}: ms of the API, median`, median(all.map((one) => one.answerMs))],
    [`${where}: ms of the API, longest`, Math.max(...all.map((one) => one.answerMs)), (n) => n <= 200],
    // The ladder is five seconds in all; writing and reading the end comes on top.
    [`${where}: ms to the final state, longest`, Math.max(...all.map((one) => one.endMs)), (n) => n <= 5_500],
  )
}

const repository = await makeRepository({ 'one.txt': '1\n' })
const BOUND = { YARDMASTER_COMMANDS_PROCESSES: '30' }
{
  const service = await startProcess({ env: BOUND })
  const client = clientOf(service)
  const slug = await client.schedule(await client.environment(repository), ['true'])
  await measure('own worker', client, slug, 1_000)
  await service.stop()
}
{
  const postgres = await externalPostgres()
  const shared = {
    ...BOUND,
    DATABASE_URL: postgres.url,
    YARDMASTER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    YARDMASTER_BLOBS_FOLDER: join(await temporaryFolder('blobs'), 'blobs'),
  }
  const service = await startProcess({ env: { ...shared, YARDMASTER_ROLES: 'api,scheduler' } })
  const client = clientOf(service)
  const worker = await launch({ env: shared, args: ['worker'] })
  await client.until(async () => worker.stdout().includes('is taking runs'), 180_000)
  const slug = await client.schedule(await client.environment(repository), ['true'])
  await measure('other worker', client, slug, 2_000)
  worker.signal('SIGTERM')
  await worker.exited
  await service.stop()
  await postgres.stop()
}
summary('cancel through the API', clock, lines)
