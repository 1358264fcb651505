// One command writes 1 GiB, which is what is kept of one, and another a single line of 300 MiB, while five clients read
// what comes through two servers: every byte arrives, in the order in which it was written; no process grows; nobody
// waits. Then what is kept at the limit and past it. The same command into plain pipes is the floor.
//
//   node e2e/faults/gigabyte.ts [--mib 1024] [--line 300]
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { externalPostgres } from '../support/external-postgres.ts'
import { Answers, readWhole, type WholeLog, watch } from '../support/log-readers.ts'
import { peakOf, resetPeak } from '../support/memory.ts'
import { type Line, startClock, summary } from '../support/report.ts'
import { type Client, clientOf, makeRepository } from '../support/runs.ts'
import { launch, root, startProcess, temporaryFolder } from '../support/service.ts'
import { percentile } from '../support/slow-clients.ts'

const { values } = parseArgs({
  options: { mib: { type: 'string', default: '1024' }, line: { type: 'string', default: '300' } },
})
const MIB = 1024 * 1024
/** Of the worker for what is at the limit: so that it need not be written by the gigabyte. */
const SMALL_CAP = 64
const WRITER = readFileSync(join(import.meta.dirname, '..', 'support', 'output-writer.mjs'), 'utf8')

interface Written {
  readonly stdout: string
  readonly stderr: string
  readonly bytes: readonly [number, number]
  readonly seconds: number
}

const clock = startClock()
const lines: Line[] = []
const delayed = { NODE_OPTIONS: `--import=${join(import.meta.dirname, '..', 'support', 'loop-delay.ts')}` }
const postgres = await externalPostgres()
const shared = {
  // As the command of the package does it; without it every process holds what it takes to strip types, some 25 MB.
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'yardmaster'),
  DATABASE_URL: postgres.url,
  YARDMASTER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  YARDMASTER_BLOBS_FOLDER: join(await temporaryFolder('blobs'), 'blobs'),
  YARDMASTER_REQUESTS_PER_SECOND: '100000',
  YARDMASTER_REQUEST_BURST: '100000',
}
const first = await startProcess({ env: { ...shared, ...delayed, YARDMASTER_ROLES: 'api,scheduler' } })
const second = await startProcess({ env: { ...shared, ...delayed, YARDMASTER_ROLES: 'api', YARDMASTER_DEMO: 'false' } })
const servers = [clientOf(first), clientOf({ ...first, url: second.url })]
const [client] = servers as [Client, Client]
const worker = await launch({
  env: { ...shared, ...delayed, YARDMASTER_WORKER_LABELS: 'large' },
  args: ['worker', '--slots', '1'],
})
const small = await launch({
  env: { ...shared, YARDMASTER_COMMANDS_OUTPUT_MIB: String(SMALL_CAP), YARDMASTER_WORKER_LABELS: 'small' },
  args: ['worker', '--slots', '1'],
})
for (const one of [worker, small]) await client.until(async () => one.stdout().includes('is taking runs'), 180_000)

const repository = await makeRepository({ 'write.mjs': WRITER })
const environment = await client.environment(repository, { workerLabels: ['large'] })
const limited = await client.environment(repository, { workerLabels: ['small'] })
await client.ask(
  'mutation ($e: String, $v: String!) { setSecret(environment: $e, kind: VARIABLE, name: "TOKEN", value: $v) { ok } }',
  { e: environment, v: `it's a "secret" of ${Math.random()}` },
)
const textOf = (kind: string, bytes: number): string =>
  `'${process.execPath}' write.mjs ${kind} ${bytes} written.json ${process.pid}`

async function begin(slug: string, text: string): Promise<{ runId: number; id: number }> {
  const runId = await client.trigger(slug, { commands: [text] })
  const id = await client.until(async () => {
    const { commands } = await client.ask(
      'query ($id: Int!) { boltRun(runId: $id) { commands { id kind startDttm } } }',
      { id: runId },
    )
    const user = commands.find((one: { kind: string }) => one.kind === 'USER')
    return user?.startDttm && user.id
  })
  return { runId, id }
}

/** Without its output, which would be megabytes in every answer. */
const stateOf = (runId: number): Promise<string> =>
  client.until(async () => {
    const { run } = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state } } }', { id: runId })
    return run.state !== 'RUNNING' && run.state
  }, 1_800_000)

async function writtenBy(id: number): Promise<Written> {
  const { resources } = await client.ask(
    'query ($id: Int!) { boltCommand(commandId: $id) { resources { id path } } }',
    { id },
  )
  const file = resources.find((one: { path: string }) => one.path === 'written.json')
  const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { url } }', { id: file.id })
  return (await (await fetch(url)).json()) as Written
}

/** The same command with a program at the other end of its pipes that only stores what it reads. */
async function floor(kind: string, bytes: number): Promise<number> {
  const folder = await temporaryFolder('floor')
  writeFileSync(join(folder, 'write.mjs'), WRITER)
  const text = `{ ${textOf(kind, bytes)} | cat > out; } 2>&1 >/dev/null | cat > err`
  await new Promise((resolve, reject) => {
    spawn('bash', ['-c', text], { cwd: folder, stdio: 'ignore' }).once('error', reject).once('exit', resolve)
  })
  const { seconds } = JSON.parse(readFileSync(join(folder, 'written.json'), 'utf8')) as Written
  return bytes / 1e6 / seconds
}

const same = (written: Written, read: WholeLog): number =>
  Number(written.stdout === read.stdout) + Number(written.stderr === read.stderr)

async function measure(what: string, kind: string, bytes: number): Promise<void> {
  const ideal = await floor(kind, bytes)
  const slug = await client.schedule(environment, ['true'])
  for (const one of [first, second, worker]) {
    resetPeak(one.pid)
    one.signal('SIGUSR2')
  }
  const { runId, id } = await begin(slug, textOf(kind, bytes))
  const cursors: string[] = []
  const answers = new Answers()
  let over = false
  const ended = stateOf(runId).then((state) => {
    over = true
    return state
  })
  const watchers = Promise.all(
    [0, 1, 0, 1].map((at) => watch(servers[at]!, id, answers, { cursors, pauseMs: 250, until: () => over })),
  )
  const whole = readWhole(servers[1]!, id, answers, cursors)
  const state = await ended
  await watchers
  const peak = { worker: peakOf(worker.pid), first: peakOf(first.pid), second: peakOf(second.pid) }
  const load = loadavg()[0]!
  const read = await whole
  const written = await writtenBy(id)
  const rate = bytes / 1e6 / written.seconds
  lines.push(
    [`${what}: ended well`, Number(state === 'SUCCESS'), (n) => n === 1],
    [`${what}: streams whose hash is that of what was written`, same(written, read), (n) => n === 2],
    [`${what}: bytes read and not written, or the other way`, sum(read.bytes) - sum(written.bytes), (n) => n === 0],
    [`${what}: batches, and of those past their bounds`, read.batches],
    [`${what}:   past their bounds`, read.wrong, (n) => n === 0],
    [`${what}: MB/s that the command wrote`, rate, (n) => n >= 30],
    [`${what}: MB/s of the same command into files through pipes`, ideal],
    [`${what}: times slower than that`, ideal / rate],
    [`${what}: worker, peak MB`, peak.worker, (n) => n <= 150],
    [`${what}: first server, peak MB`, peak.first, (n) => n <= 200],
    [`${what}: second server, peak MB, which is read from without a pause`, peak.second, (n) => n <= 200],
    [`${what}: reads`, answers.ms.length],
    [`${what}: ms of a read, p50`, percentile(answers.ms, 0.5)],
    [`${what}: ms of a read, p95`, percentile(answers.ms, 0.95), (n) => n <= 200],
    [`${what}: ms of a read, longest`, percentile(answers.ms, 1)],
    [`${what}: load of the machine at the end`, load],
  )
  console.log(`${(clock() / 1000).toFixed(0)} s  ${what}: done`)
}

/** The writer's last line is of one letter; what the service says in between is not the writer's. */
const isKept = (tail: WholeLog['tail']): boolean =>
  [tail.STDOUT, tail.STDERR].some((text) => /z\n+$/.test(text.replaceAll(/^yardmaster: .*\n/gm, '')))

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** A run on the worker with the small limit that writes so much more than it. */
async function atLimit(more: number): Promise<{ written: Written; read: WholeLog; state: string }> {
  const slug = await client.schedule(limited, ['true'])
  const { runId, id } = await begin(slug, textOf('lines', SMALL_CAP * MIB + more))
  const read = await readWhole(client, id, new Answers())
  const state = await stateOf(runId)
  return { written: await writtenBy(id), read, state }
}

await measure(`${values.mib} MiB in lines`, 'lines', Number(values.mib) * MIB)
await measure(`one line of ${values.line} MiB`, 'line', Number(values.line) * MIB)

const exact = await atLimit(0)
lines.push(
  ['at the limit: streams that are whole', same(exact.written, exact.read), (n) => n === 2],
  ['at the limit: bytes missing or added', sum(exact.read.bytes) - sum(exact.written.bytes), (n) => n === 0],
)
for (const more of [1, 40 * MIB]) {
  const past = await atLimit(more)
  const what = `${more === 1 ? '1 byte' : `${more / MIB} MiB`} past the limit`
  const kept = sum(past.read.bytes) - SMALL_CAP * MIB
  lines.push(
    [`${what}: the command went on and ended well`, Number(past.state === 'SUCCESS'), (n) => n === 1],
    [`${what}: bytes that it wrote`, sum(past.written.bytes), (n) => n === SMALL_CAP * MIB + more],
    // A notice per stream, and the last MiB of each.
    [`${what}: bytes kept past it`, kept, (n) => n > 0 && n <= 2 * MIB + 1_000],
    [`${what}: streams whose last bytes are kept`, Number(isKept(past.read.tail)), (n) => n === 1],
  )
}

for (const [name, one] of [
  ['first server', first],
  ['second server', second],
  ['worker', worker],
] as const) {
  one.signal('SIGTERM')
  await one.exited
  const [, p99 = 'NaN', max = 'NaN'] = /event loop delay p99 (\S+) max (\S+)/.exec(one.stderr()) ?? []
  lines.push(
    [`event loop of the ${name}: ms, p99`, Number(p99), (n) => n <= 100],
    [`event loop of the ${name}: ms, longest`, Number(max)],
  )
}
small.signal('SIGTERM')
await small.exited
await postgres.stop()
summary('a gigabyte of output', clock, lines)
