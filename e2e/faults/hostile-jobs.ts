// Jobs that take all they can get: processes, memory, disk, descriptors, processors. Beside them a client that behaves
// and a job that behaves. The service stays up, each hostile run ends with a reason that names what it ran into, and
// what others wait is printed beside what they wait on a quiet service.
//
//   node e2e/faults/hostile-jobs.ts [--seconds 12]
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type Line, startClock, summary } from '../support/report.ts'
import { clientOf, makeRepository } from '../support/runs.ts'
import { startProcess } from '../support/service.ts'
import { percentile } from '../support/slow-clients.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '12' } } })
/** How long each of those may go on that would never end: it is the time limit of their schedule. */
const SECONDS = Number(values.seconds)
const LIMITS = { memory: 1024, processes: 512, file: 256 }

interface Hostile {
  readonly command: string
  /** What the output or the run's detail must say. */
  readonly reason: RegExp
}

const HOSTILE: Readonly<Record<string, Hostile>> = {
  'a fork bomb': {
    command: 'f() { f & f & wait; }; f 2>&1 | head -c 2000000 | sort | uniq -c | sort -rn | head -3; exit 1',
    reason: /limit of processes|time limit|Resource temporarily unavailable|Cannot fork/i,
  },
  'a malloc of 10 GB': { command: 'python3 malloc.py', reason: /limit of memory|MemoryError|Cannot allocate/i },
  'a file of 100 GB': { command: 'exec head -c 100G /dev/zero > big', reason: /limit of file size/ },
  'a million descriptors': { command: 'python3 files.py', reason: /Too many open files/ },
  'processors that spin': {
    command: 'for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait',
    reason: /time limit/,
  },
}

const FILES = {
  'malloc.py': 'kept = []\nfor n in range(1000):\n    kept.append(bytearray(10_000_000))\nprint("got it all")\n',
  'files.py':
    'import os, resource\nprint("limit", resource.getrlimit(resource.RLIMIT_NOFILE))\n' +
    'resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)\n' +
    'kept = []\ntry:\n    for n in range(1_000_000):\n        kept.append(os.open("/dev/null", os.O_RDONLY))\n' +
    'finally:\n    print("opened", len(kept))\n',
}

const clock = startClock()
const lines: Line[] = []
const service = await startProcess({
  env: {
    YARDMASTER_COMMANDS_MEMORY_MIB: String(LIMITS.memory),
    YARDMASTER_COMMANDS_PROCESSES: String(LIMITS.processes),
    YARDMASTER_COMMANDS_FILE_MIB: String(LIMITS.file),
    YARDMASTER_REQUESTS_PER_SECOND: '100000',
    YARDMASTER_REQUEST_BURST: '100000',
  },
})
const isolation = /\{[^\n]*"msg":"commands run [^\n]*/.exec(service.stderr())?.[0] ?? '{}'
const said = JSON.parse(isolation) as { isolation?: string; limits?: Record<string, string>; reason?: string }
console.log(`isolation ${said.isolation}, limits ${JSON.stringify(said.limits)} ${said.reason ?? ''}`)

const client = clientOf(service)
const environment = await client.environment(await makeRepository(FILES))
const modest = await client.schedule(environment, ['echo well'])

interface Steady {
  readonly ms: readonly number[]
  readonly failed: number
}

/** A client in a thread of its own, until it is told to stop. */
function behave(): { stop(): Promise<Steady> } {
  const worker = new Worker(join(import.meta.dirname, '..', 'support', 'steady-client.ts'), {
    workerData: { url: service.url, key: service.key, pauseMs: 25 },
  })
  const result = new Promise<Steady>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return {
    stop: () => {
      worker.postMessage('stop')
      return result
    },
  }
}

/** Milliseconds of runs that only say a word, one after the other, while `until` is not settled; at least three. */
async function neighbours(until: Promise<unknown>): Promise<{ ms: number[]; failed: number }> {
  let over = false
  void until.finally(() => {
    over = true
  })
  const ms: number[] = []
  let failed = 0
  while (!over || ms.length < 3) {
    const began = performance.now()
    const { state } = await client.ended(await client.trigger(modest), 120_000)
    ms.push(performance.now() - began)
    if (state !== 'SUCCESS') failed++
  }
  return { ms, failed }
}

async function beside<T>(
  work: Promise<T>,
): Promise<{ result: T; steady: Steady; runs: { ms: number[]; failed: number } }> {
  const steady = behave()
  const runs = await neighbours(work)
  return { result: await work, steady: await steady.stop(), runs }
}

await client.ended(await client.trigger(modest))
const calm = await beside(pause(SECONDS * 1000))
const calmP95 = { api: percentile(calm.steady.ms, 0.95), run: percentile(calm.runs.ms, 0.95) }
lines.push(
  ['seconds of a quiet service', SECONDS],
  ['  ms of a request, p95', calmP95.api],
  ['  ms of a run, p95', calmP95.run],
  ['  load of the machine', loadavg()[0]!],
)

for (const [what, { command, reason }] of Object.entries(HOSTILE)) {
  const slug = await client.schedule(environment, [command], {
    timeLimitSeconds: /time limit/.test(reason.source) ? SECONDS : 300,
  })
  const runId = await client.trigger(slug)
  const { result, steady, runs } = await beside(client.ended(runId, 400_000))
  const { run } = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state detail } } }', { id: runId })
  const last = result.commands.at(-1)
  const words = `${run.detail ?? ''}\n${last.stdout}\n${last.stderr}`
  console.log(
    `  ${what}: ${run.state} (${last.returnCode}) ${words.trim().split('\n').slice(-3).join(' | ').slice(0, 300)}`,
  )
  lines.push(
    [`${what}: the run failed`, Number(['ERROR', 'FAILED'].includes(run.state)), (n) => n === 1],
    [`${what}:   and says what it ran into`, Number(reason.test(words)), (n) => n === 1],
    [`${what}: requests meanwhile`, steady.ms.length],
    [`${what}:   failed`, steady.failed, (n) => n === 0],
    [`${what}:   ms, p95`, percentile(steady.ms, 0.95)],
    [`${what}:   times that of a quiet service`, percentile(steady.ms, 0.95) / calmP95.api],
    [`${what}: runs meanwhile`, runs.ms.length],
    [`${what}:   failed`, runs.failed, (n) => n === 0],
    [`${what}:   ms, p95`, percentile(runs.ms, 0.95)],
    [`${what}:   times that of a quiet service`, percentile(runs.ms, 0.95) / calmP95.run],
  )
}

// What a command is given, seen by the command itself.
const looked = await client.ended(
  await client.trigger(modest, {
    commands: ['ulimit -n; cat /proc/self/oom_score_adj; ulimit -c; nice; cut -d" " -f3 /proc/self/autogroup'],
  }),
)
const [files, oom, core, niceness, session] = looked.commands[2].stdout.trim().split('\n').map(Number)
const hard = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
lines.push(
  ['descriptors that a command may have', files!, (n) => n <= 65_536 && n <= hard],
  ['what the kernel adds when it looks for memory to take', oom!, (n) => n > 0],
  ['bytes of a core file', core!, (n) => n === 0],
  ['niceness of a command', niceness!, (n) => n > 0],
  [
    '  and of its session, where the kernel shares out by those',
    session ?? Number.NaN,
    (n) => n > 0 || Number.isNaN(n),
  ],
)
lines.push([
  'the service is the same process, and answers',
  Number((await client.ask('{ listWorkspaces { ok } }')).ok),
  (n) => n === 1,
])
await service.stop()
summary(
  `hostile jobs (${said.isolation}, ${Object.entries(said.limits ?? {})
    .map((pair) => pair.join(': '))
    .join(', ')})`,
  clock,
  lines,
)
