// Commands that do not want to end are cancelled, a hundred times each, by the default ladder (2.5 s, 1.5 s, kill):
// nothing of them is alive afterwards, and it never takes longer than five seconds. A stub that handles SIGINT, as dbt
// does, hears it first and is left in peace. And a service that is killed takes all of them along.
//
//   node e2e/faults/executor-cancel.ts [repeats] [L0 or L1]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import {
  createProcessExecutor,
  type ProcessExecutor,
  probeIsolation,
} from '../../service/src/adapters/executor/process.ts'
import { NASTY } from '../../service/test/conformance/executor-processes.ts'
import {
  begin,
  eventually,
  finish,
  freshFolder,
  NO_LIMITS,
  processesWith,
  uniqueNumber,
} from '../../service/test/support/executor.ts'
import { type Line, median, startClock, summary } from '../support/report.ts'

const REPEATS = Number(process.argv[2] ?? 100)
/** Those that take the whole ladder mostly wait; the others keep both cores busy. */
const AT_ONCE = { waiting: 10, busy: 4 }
const KILLS = Math.ceil(REPEATS / 5)
const GRACE = { interruptMs: 2_500, terminateMs: 1_500 }
const CHILD = join(import.meta.dirname, '../../service/test/support/executor-child.ts')

const clock = startClock()
const percentile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

/** Calls it so many times, some at once. */
async function repeat<T>(times: number, atOnce: number, body: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let left = times
  await Promise.all(
    Array.from({ length: Math.min(atOnce, times) }, async () => {
      while (left-- > 0) results.push(await body())
    }),
  )
  return results
}

// Looking at every process of the host takes long enough to spoil the times of the others, so a thread does it.
const looker = new Worker(
  `const { parentPort } = require('node:worker_threads')
   import(${JSON.stringify(import.meta.resolve('../../service/test/support/executor.ts'))}).then(({ processesWith }) =>
     parentPort.on('message', (word) => parentPort.postMessage([word, processesWith(word).length])))`,
  { eval: true },
)
const asked = new Map<string, (count: number) => void>()
looker.on('message', ([word, count]: [string, number]) => asked.get(word)?.(count))

const survivorsOf = (word: string): Promise<number> =>
  new Promise((resolve) => {
    asked.set(word, resolve)
    looker.postMessage(word)
  })

async function cancelOnce(executor: ProcessExecutor, text: string): Promise<{ ms: number; survivors: number }> {
  using folder = freshFolder()
  const number = uniqueNumber()
  const command = await begin(executor, {
    folder: folder.path,
    text: text.replaceAll('NUMBER', number),
    limits: { ...NO_LIMITS, processes: 30 },
    grace: GRACE,
  })
  await command.said('up')
  const began = performance.now()
  command.controller.abort()
  await command.ended
  return { ms: performance.now() - began, survivors: await survivorsOf(number) }
}

const STUB =
  "trap 'echo int; sleep 0.2; echo done; exit 2' INT; trap 'echo term' TERM; echo up; while :; do sleep 0.05; done"

/** Milliseconds until it heard, and whether it heard anything else than SIGINT. */
async function interruptOnce(executor: ProcessExecutor): Promise<{ ms: number; disturbed: boolean }> {
  using folder = freshFolder()
  const command = await begin(executor, { folder: folder.path, text: STUB, grace: GRACE })
  await command.said('up')
  const began = performance.now()
  command.controller.abort()
  await command.said('int')
  const ms = performance.now() - began
  const { code } = await command.ended
  return { ms, disturbed: code !== 2 || command.text.stdout !== 'up\nint\ndone\n' }
}

async function killOnce(isolation: string): Promise<{ ms: number; survivors: number }> {
  using folder = freshFolder()
  const number = uniqueNumber()
  const service = spawn(process.execPath, [CHILD, JSON.stringify({ isolation }), folder.path, number], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let up = 0
  for await (const line of createInterface({ input: service.stdout })) if (line === 'up' && ++up === 3) break
  service.kill('SIGKILL')
  await once(service, 'exit')
  try {
    return { ms: await eventually(() => processesWith(number).length === 0, '', 5_000), survivors: 0 }
  } catch {
    return { ms: 5_000, survivors: processesWith(number).length }
  }
}

/** Milliseconds from the call to the shell's start, and to the end of a command that does nothing. */
async function startOnce(executor: ProcessExecutor, isHiding: boolean): Promise<{ started: number; ended: number }> {
  using folder = freshFolder()
  const [checkout, cache] = [join(folder.path, 'checkout'), join(folder.path, 'cache')]
  for (const path of [checkout, cache]) mkdirSync(path)
  const began = performance.now()
  const paths = isHiding ? { hidden: [folder.path], readOnly: [cache] } : {}
  const command = await begin(executor, { folder: checkout, text: ':', ...paths })
  const started = performance.now() - began
  await command.ended
  return { started, ended: performance.now() - began }
}

const lines: Line[] = [['repeats of each', REPEATS]]
const possible = (await probeIsolation()) === 'L1' ? (['L1', 'L0'] as const) : (['L0'] as const)
const levels = possible.filter((level) => process.argv[3] === undefined || process.argv[3] === level)
for (const isolation of levels) {
  const executor = await createProcessExecutor({ isolation })
  const holdsProcesses = executor.limitsKind.processes !== 'none'
  using warm = freshFolder()
  await finish(executor, { folder: warm.path, text: ':' })
  for (const isHiding of isolation === 'L1' ? [false, true] : [false]) {
    const costs: { started: number; ended: number }[] = []
    for (let count = 0; count < REPEATS; count++) costs.push(await startOnce(executor, isHiding))
    const what = `${isolation}${isHiding ? ' with a hidden and a read-only folder' : ''}: ms to`
    lines.push([`${what} the start of the shell, median`, median(costs.map(({ started }) => started))])
    lines.push([
      `${what} the start of the shell, 95 %`,
      percentile(
        costs.map(({ started }) => started),
        0.95,
      ),
    ])
    lines.push([`${what} the end of an empty command, median`, median(costs.map(({ ended }) => ended))])
    lines.push([
      `${what} the end of an empty command, 95 %`,
      percentile(
        costs.map(({ ended }) => ended),
        0.95,
      ),
    ])
  }

  const heard = await repeat(REPEATS, AT_ONCE.busy, () => interruptOnce(executor))
  lines.push([
    `${isolation}: ms until SIGINT is heard, longest`,
    Math.max(...heard.map(({ ms }) => ms)),
    (n) => n <= 1_000,
  ])
  lines.push([
    `${isolation}: stubs disturbed while they cleaned up`,
    heard.filter((one) => one.disturbed).length,
    (n) => n === 0,
  ])

  for (const [what, text] of Object.entries(NASTY)) {
    // What nothing holds at this level is named, and not tried: the machine is needed for the rest.
    if (what.includes('forks') && !holdsProcesses) {
      console.log(`${isolation}: not tried, since nothing bounds processes here: ${what}`)
      continue
    }
    // Without namespaces and without a control group nothing names such a process any more.
    if (what.includes('cleared') && isolation === 'L0' && executor.limitsKind.processes !== 'cgroup') continue
    const results = await repeat(REPEATS, text.includes('INT TERM') ? AT_ONCE.waiting : AT_ONCE.busy, () =>
      cancelOnce(executor, text),
    )
    const times = results.map(({ ms }) => ms)
    const survivors = results.reduce((sum, one) => sum + one.survivors, 0)
    lines.push([`${isolation}, ${what}: survivors`, survivors, (n) => n === 0])
    lines.push([`${isolation}, ${what}: ms, median`, median(times)])
    lines.push([`${isolation}, ${what}: ms, longest`, Math.max(...times), (n) => n <= 5_000])
    console.log(`${(clock() / 1000).toFixed(0)} s  ${isolation}, ${what}: done`)
  }
  executor.close()

  const kills = []
  for (let count = 0; count < KILLS; count++) kills.push(await killOnce(isolation))
  lines.push([`${isolation}: services killed`, KILLS])
  lines.push([
    `${isolation}: processes of them that lived on`,
    kills.reduce((sum, one) => sum + one.survivors, 0),
    (n) => n === 0,
  ])
  lines.push([
    `${isolation}: ms until all of them were gone, longest`,
    Math.max(...kills.map(({ ms }) => ms)),
    (n) => n <= 5_000,
  ])
}
await looker.terminate()
summary(`cancel of commands that do not want to end (uid ${process.getuid?.()})`, clock, lines)
