import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { executorConformance } from '../../../test/conformance/executor.ts'
import { findEngine } from '../../../test/support/container-engine.ts'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import { eventually, freshFolder, processesWith, specOf, uniqueNumber } from '../../../test/support/executor.ts'
import { type ContainerOptions, containerScript, createContainerExecutor, runArguments } from './container.ts'

const CHILD = join(import.meta.dirname, '../../../test/support/executor-child.ts')

const OPTIONS: ContainerOptions = {
  engine: 'podman',
  image: 'image',
  network: 'none',
  user: '1:2',
  clientEnvironment: {},
}

const found = findEngine()
if (found.options === null) couldNotRun('the container executor', found.why)
else {
  const { options } = found
  after(async () => {
    // A container that was made and never started has no process of ours in it, but the engine's.
    const left = processesWith(options.engineFlags?.[1] ?? 'no engine has this').length
    await found[Symbol.asyncDispose]()
    assert.equal(left, 0, 'nothing of the engine is left')
  })

  executorConformance({
    name: `containers of ${options.engine}`,
    abilities: {
      processes: true,
      views: true,
      ownNames: ['HOME', 'TERM', 'HOSTNAME', 'container'],
      boundsProcesses: 'each',
      signalMs: 3_000,
      startMs: 300,
    },
    make: async () => createContainerExecutor(options),
  })

  test('an engine and an image that are there are found, others are named', async () => {
    await createContainerExecutor(options).verify()
    await assert.rejects(createContainerExecutor({ ...options, image: 'no-such-image' }).verify(), /no-such-image/)
    using folder = freshFolder()
    const starting = (fields: Partial<ContainerOptions>) =>
      createContainerExecutor({ ...options, ...fields }).start(
        specOf({ folder: folder.path, text: ':' }),
        new AbortController().signal,
      )
    await assert.rejects(starting({ network: 'no-such-network' }), { name: 'StartFault', code: 125 })
  })

  test('a service that is killed takes its containers along', async () => {
    using folder = freshFolder()
    const number = uniqueNumber()
    const service = spawn(process.execPath, [CHILD, JSON.stringify(options), folder.path, number], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let up = 0
    for await (const line of createInterface({ input: service.stdout })) if (line === 'up' && ++up === 3) break
    service.kill('SIGKILL')
    await once(service, 'exit')
    await eventually(() => processesWith(number).length === 0, 'nothing of it is left', 10_000)
  })
}

test('an engine that is not there is a start that fails', async () => {
  using folder = freshFolder()
  const executor = createContainerExecutor({ ...OPTIONS, engine: '/nonexistent/engine' })
  const starting = executor.start(specOf({ folder: folder.path, text: ':' }), new AbortController().signal)
  await assert.rejects(starting, { name: 'StartFault', code: 125, message: /could not be started/ })
  await assert.rejects(executor.verify())
})

test('folders are mounted at their own paths, outer ones first, whatever their names hold', () => {
  const places = {
    folder: '/runs/1,2',
    writable: [],
    kept: [
      { path: '/runs/1,2/vendor', readOnly: true },
      { path: '/runs/1,2', readOnly: false },
    ],
  }
  const limits = { seconds: 1, memoryBytes: 1_000, processes: 10, fileBytes: 500 }
  const argv = runArguments('name', places, specOf({ folder: '/runs/1,2', text: 'echo $A', limits }), {
    ...OPTIONS,
    openFiles: 1_024,
    token: 'token',
  })
  assert.deepEqual(
    argv.filter((one) => one.startsWith('--mount=')),
    [
      '--mount=type=bind,"source=/runs/1,2","target=/runs/1,2"',
      '--mount=type=bind,"source=/runs/1,2/vendor","target=/runs/1,2/vendor",readonly',
    ],
  )
  for (const flag of [
    '--network=none',
    '--user=1:2',
    '--memory=1000b',
    '--pids-limit=13',
    '--ulimit=fsize=500',
    '--ulimit=nofile=1024',
    '--cap-drop=ALL',
  ]) {
    assert.ok(argv.includes(flag), flag)
  }
  assert.deepEqual(argv.slice(-6), [
    '--entrypoint=sh',
    'image',
    '-c',
    'printf token; exec sh -s "$@"',
    'yardmaster',
    'echo $A',
  ])
})

test('variables go in by the script alone, and nothing of it comes after the watcher', () => {
  const script = containerScript("export SECRET='s3cret'", 'echo', 'token')
  assert.match(script, /export SECRET='s3cret'\nprintf '%s' token\n\{ .*kill -KILL -1; \} .*\n$/)
})
