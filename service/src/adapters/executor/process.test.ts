import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { executorConformance } from '../../../test/conformance/executor.ts'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import {
  eventually,
  finish,
  freshFolder,
  NO_LIMITS,
  processesWith,
  SYSTEM_PATH,
  uniqueNumber,
} from '../../../test/support/executor.ts'
import { createProcessExecutor, type ProcessExecutorOptions, probeIsolation } from './process.ts'

const NOBODY = { uid: 65_534, gid: 65_534 }
const CHILD = join(import.meta.dirname, '../../../test/support/executor-child.ts')
const USER = '/usr/bin'
const isRoot = process.getuid?.() === 0

const controlGroupsOf = (pid: number): string[] =>
  ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/pids']
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).filter((name) => name.startsWith(`yardmaster.${pid}.`)))

const level = await probeIsolation()
if (level === 'L0') {
  const executor = await createProcessExecutor()
  couldNotRun('the process executor with namespaces (L1)', executor.isolationNote)
  executor.close()
}

const WAYS: readonly (readonly [string, ProcessExecutorOptions & { isolation: 'L0' | 'L1' }])[] = [
  ...(level === 'L1' ? ([['processes in namespaces', { isolation: 'L1' }]] as const) : []),
  ...(level === 'L1' && isRoot
    ? ([['processes in namespaces, as another user', { isolation: 'L1', user: NOBODY, cgroups: false }]] as const)
    : []),
  ['processes without namespaces', { isolation: 'L0' }],
]

const boundsOf = (kind: string, isolation: string): 'each' | 'together' | 'no' => {
  if (kind === 'none') return 'no'
  return kind === 'cgroup' || isolation === 'L1' ? 'each' : 'together'
}

for (const [name, options] of WAYS) {
  // One for all of them, as in a worker: commands run side by side.
  const executor = await createProcessExecutor(options)
  after(() => executor.close())
  executorConformance({
    name: isRoot ? name : `${name}, for a service that is not root`,
    abilities: {
      processes: true,
      views: options.isolation === 'L1',
      ownNames: options.isolation === 'L1' ? [] : ['YARDMASTER_COMMAND_MARK'],
      boundsProcesses: boundsOf(executor.limitsKind.processes, options.isolation),
      signalMs: 150,
      startMs: 30,
    },
    make: async () => ({ ...executor, close: () => {} }),
  })

  test(`a service that is killed takes its commands along: ${name}`, async () => {
    using folder = freshFolder()
    const number = uniqueNumber()
    const service = spawn(process.execPath, [CHILD, JSON.stringify(options), folder.path, number], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: service.stdout })
    let up = 0
    for await (const line of lines) if (line === 'up' && ++up === 3) break
    assert.ok(processesWith(number).length >= 4, 'the commands are there')
    service.kill('SIGKILL')
    await once(service, 'exit')
    await eventually(() => processesWith(number).length === 0, 'nothing of it is left', 5_000)
    // Its control groups go with the next service on this host.
    const next = await createProcessExecutor(options)
    assert.deepEqual(controlGroupsOf(service.pid!), [])
    next.close()
  })
}

test('folders become those of the other user, but not what has a second name elsewhere', async () => {
  if (!isRoot || level === 'L0') return
  using folder = freshFolder()
  const [checkout, mirror] = [join(folder.path, 'checkout'), join(folder.path, 'mirror')]
  mkdirSync(join(checkout, 'inner'), { recursive: true })
  for (const path of [mirror, join(checkout, 'inner', 'own')]) writeFileSync(path, 'x')
  linkSync(mirror, join(checkout, 'object'))
  symlinkSync('/etc/passwd', join(checkout, 'link'))
  const executor = await createProcessExecutor({ isolation: 'L1', user: NOBODY })
  const { stdout } = await finish(executor, { folder: checkout, text: 'id -u; echo y > inner/own; echo y > object' })
  executor.close()
  assert.equal(stdout, '65534\n')
  const owners = ['', 'inner', 'inner/own', 'link', 'object'].map((name) => lstatSync(join(checkout, name)).uid)
  assert.deepEqual(owners, [65_534, 65_534, 65_534, 65_534, 0])
  assert.deepEqual([readFileSync(mirror, 'utf8'), statSync('/etc/passwd').uid], ['x', 0])
})

test('a command whose surroundings cannot be set up never starts: 125', async () => {
  using folder = freshFolder()
  // With so little memory not even what prepares it can be executed.
  const limits = { ...NO_LIMITS, memoryBytes: 1 }
  for (const isolation of new Set(['L0', level] as const)) {
    const executor = await createProcessExecutor({ isolation, cgroups: false })
    const starting = finish(executor, { folder: folder.path, text: 'echo > ran', limits })
    await assert.rejects(starting, { name: 'StartFault', code: 125, message: /could not be set up/ })
    executor.close()
  }
  assert.deepEqual(readdirSync(folder.path), [])
})

test('a command that was refused processes and did not end well says that it ran into that limit', async () => {
  using folder = freshFolder()
  const executor = await createProcessExecutor()
  const limits = { ...NO_LIMITS, seconds: 30, processes: 25 }
  const forks = `sh -c 'for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5; do sleep 9 & done; done' 2>/dev/null`
  const greedy = await finish(executor, { folder: folder.path, limits, text: `${forks}; exit 7` })
  const modest = await finish(executor, { folder: folder.path, limits, text: 'exit 7' })
  executor.close()
  const isCounted = executor.limitsKind.processes === 'cgroup'
  if (!isCounted) couldNotRun('naming the limit of processes', 'no control group counts them here')
  assert.deepEqual(greedy.end, { kind: 'exited', code: 7, ...(isCounted && { ranInto: 'processes' }) })
  assert.deepEqual(modest.end, { kind: 'exited', code: 7 })
})

test('when the machine runs out of memory the kernel takes commands first', async () => {
  using folder = freshFolder()
  for (const isolation of new Set(['L0', level] as const)) {
    const executor = await createProcessExecutor({ isolation })
    const { stdout } = await finish(executor, { folder: folder.path, text: 'cat /proc/self/oom_score_adj' })
    executor.close()
    assert.ok(Number(stdout) >= 500, `${isolation}: ${stdout}`)
  }
})

test('on a host without a shell nothing is started: 127', async () => {
  if (!isRoot || level === 'L0') return couldNotRun('a host without a shell', 'it takes a mount namespace of root')
  const executor = import.meta.resolve('./process.ts')
  const script = `import('${executor}').then((one) => one.createProcessExecutor()).then(
    () => console.log('there is one'), (error) => console.log(error.name, error.code))`
  const folders = SYSTEM_PATH.split(':').filter((folder) => existsSync(folder) && !lstatSync(folder).isSymbolicLink())
  // The programs are hidden last, because mounting takes one of them.
  const hide = folders.map((folder) => realpathSync(folder)).toSorted((a, b) => Number(a === USER) - Number(b === USER))
  const text = `for folder in ${hide.join(' ')}; do mount -t tmpfs none $folder; done; exec "$0" -e "$1"`
  const child = spawn('unshare', ['--mount', 'sh', '-c', text, process.execPath, script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const part of child.stdout) said += String(part)
  assert.equal(said, 'StartFault 127\n')
})
