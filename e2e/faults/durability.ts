// An acknowledged mutation is on disk before its answer is sent: between each request and its answer PostgreSQL has
// had the kernel write its log to the disk, seen from outside with strace. And a server that is set up to lose what it
// confirms is refused at the start.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { externalPostgres } from '../support/external-postgres.ts'
import { clusterOf, lookInto, ownerOf, postgresProcesses } from '../support/postgres.ts'
import { startClock, summary } from '../support/report.ts'
import { graphql, launch, type ServiceProcess, startProcess, temporaryFolder } from '../support/service.ts'

const MUTATIONS = 100
const clock = startClock()

interface Window {
  readonly from: number
  readonly to: number
}

/** The wall clock, finer than Date gives it: strace writes microseconds. */
const wall = (): number => performance.timeOrigin + performance.now()

async function oneAtATime(count: number, request: (index: number) => Promise<void>): Promise<Window[]> {
  const windows: Window[] = []
  for (let index = 0; index < count; index++) {
    const from = wall()
    await request(index)
    windows.push({ from, to: wall() })
  }
  return windows
}

async function mutateOnce({ url, key, workspaceUid }: ServiceProcess, index: number): Promise<void> {
  const document = `mutation { setVariable(name: "DURABLE_${index}", value: "1") { ok } }`
  const { body } = await graphql(url, key, document, {}, { 'x-service-workspace': workspaceUid })
  if (body.errors !== undefined) throw new Error(JSON.stringify(body.errors))
}

async function readOnce({ url, key, workspaceUid }: ServiceProcess): Promise<void> {
  await graphql(url, key, '{ listUsers { ok } }', {}, { 'x-service-workspace': workspaceUid })
}

function findStrace(): boolean {
  const works = () => spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0
  if (works()) return true
  if (process.getuid?.() === 0) {
    spawnSync('apt-get', ['install', '-y', '-q', 'strace'], { stdio: 'ignore', timeout: 120_000 })
  }
  return works()
}

async function startStrace(pids: readonly number[], file: string): Promise<ChildProcess> {
  const argv = [
    '-f',
    '-y',
    '-ttt',
    '-e',
    'trace=fsync,fdatasync',
    '-o',
    file,
    ...pids.flatMap((pid) => ['-p', `${pid}`]),
  ]
  const strace = spawn('strace', argv, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
  })
  while (said.split(' attached').length - 1 < pids.length) {
    if (strace.exitCode !== null) throw new Error(`strace ended: ${said}`)
    await pause(10)
  }
  return strace
}

/** When the log was written through to the disk: the moments at which such calls came back. */
async function flushesIn(file: string): Promise<number[]> {
  const moments: number[] = []
  const begun = new Map<string, boolean>()
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const [, pid = '', at = '', call = ''] = /^(\d+) +(\d+\.\d+) (.*)$/.exec(line) ?? []
    const ofLog = call.includes('/pg_wal/')
    if (call.endsWith('<unfinished ...>')) begun.set(pid, ofLog)
    else if (call.includes(' resumed>')) {
      if (begun.get(pid)) moments.push(Number(at) * 1000)
    } else if (ofLog && call.endsWith('= 0')) moments.push(Number(at) * 1000)
  }
  return moments
}

const without = (windows: readonly Window[], moments: readonly number[]): number =>
  windows.filter(({ from, to }) => !moments.some((at) => at >= from && at <= to)).length

async function flushCount(service: ServiceProcess): Promise<number> {
  const client = await lookInto(ownerOf(service.dataFolder))
  try {
    const { rows } = await client.query<{ count: number }>(
      `select coalesce(sum(fsyncs), 0)::int8 as count from pg_stat_io where object = 'wal'`,
    )
    return rows[0]!.count
  } finally {
    await client.end()
  }
}

const service = await startProcess()
const before = await flushCount(service)
await oneAtATime(MUTATIONS, (index) => mutateOnce(service, index))
// Backends hand in their counts at the end of a transaction, at most once a second; one that idles does so later.
let counted = 0
for (const began = performance.now(); counted < MUTATIONS && performance.now() - began < 30_000; ) {
  await pause(200)
  counted = (await flushCount(service)) - before
}

const traced = findStrace()
let mutations: Window[] = []
let reads: Window[] = []
let moments: number[] = []
if (traced) {
  const file = join(await temporaryFolder('strace'), 'calls')
  const strace = await startStrace(
    postgresProcesses(clusterOf(service.dataFolder)).map(({ pid }) => pid),
    file,
  )
  mutations = await oneAtATime(MUTATIONS, (index) => mutateOnce(service, MUTATIONS + index))
  reads = await oneAtATime(MUTATIONS, () => readOnce(service))
  strace.kill('SIGINT')
  await once(strace, 'exit')
  moments = await flushesIn(file)
} else {
  console.log(
    '\n*** strace is not here and could not be installed: NOT SEEN FROM OUTSIDE, only counted by PostgreSQL ***\n',
  )
}
await service.stop()

let refused = 0
for (const setting of ['fsync', 'full_page_writes']) {
  const careless = await externalPostgres('', { [setting]: 'off' })
  const launched = await launch({ env: { DATABASE_URL: careless.url } })
  const { code } = await launched.exited
  if (code === 1 && launched.stderr().includes(`${setting} is off`)) refused++
  else console.log(`with ${setting}=off: exit code ${code}\n${launched.stdout()}${launched.stderr()}`)
  await careless.stop()
}

const mustTrace = process.env.YARDMASTER_TEST_NO_SKIP !== undefined && process.env.YARDMASTER_TEST_NO_SKIP !== ''
const kernel = execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim()
summary(`durability before the answer (Linux ${kernel})`, clock, [
  ['mutations, one at a time', MUTATIONS],
  ['  writes of the log through to the disk, as PostgreSQL counts them', counted, (n) => n >= MUTATIONS],
  ['seen with strace: mutations', mutations.length, (n) => n === MUTATIONS || !mustTrace],
  ['  writes of the log through to the disk', moments.length, (n) => n >= mutations.length],
  ['  mutations without one between request and answer', without(mutations, moments), (n) => n === 0],
  ['  for comparison, reads without one', without(reads, moments), (n) => n > reads.length * 0.9 || !traced],
  ['careless servers refused at the start, of 2', refused, (n) => n === 2],
])
