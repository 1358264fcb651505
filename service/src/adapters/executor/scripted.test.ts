import assert from 'node:assert/strict'
import { test } from 'node:test'
import { executorConformance, SCRIPTS } from '../../../test/conformance/executor.ts'
import { begin, eventually, finish, freshFolder, specOf } from '../../../test/support/executor.ts'
import { StartFault } from '../../ports/executor.ts'
import { createScriptedExecutor, manualDelays } from './scripted.ts'

executorConformance({
  name: 'scripted, for tests',
  abilities: { processes: false, views: false, ownNames: [], boundsProcesses: 'no', signalMs: 60, startMs: 1 },
  make: async () => createScriptedExecutor({ play: ({ text }) => SCRIPTS[text] ?? assert.fail(text) }),
})

test('delays are those of a clock that the test moves', async () => {
  using folder = freshFolder()
  const delays = manualDelays()
  const steps = [{ stdout: 'a\n' }, { waitMs: 60_000 }, { stdout: 'b\n' }]
  const executor = createScriptedExecutor({ delays, play: () => ({ steps, exit: 4 }) })
  const command = await begin(executor, { folder: folder.path, text: 'anything' })
  await command.said('a')
  await eventually(() => delays.waiting === 1, 'it waits')
  delays.advance(59_999)
  assert.equal(executor.running, 1)
  delays.advance(1)
  assert.deepEqual([await command.ended, command.text.stdout], [{ kind: 'exited', code: 4 }, 'a\nb\n'])
  assert.deepEqual([executor.running, executor.started.map(({ text }) => text)], [0, ['anything']])
})

test('a step may wait for the test, and a start may be made to fail', async () => {
  using folder = freshFolder()
  const { promise, resolve } = Promise.withResolvers<void>()
  const executor = createScriptedExecutor({
    play: ({ text }) => {
      if (text === 'fails') throw new StartFault('no', 125)
      return { steps: [{ until: promise }, { stderr: 'late' }] }
    },
  })
  const finished = finish(executor, { folder: folder.path, text: 'waits' })
  resolve()
  assert.equal((await finished).stderr, 'late')
  const failing = executor.start(specOf({ folder: folder.path, text: 'fails' }), new AbortController().signal)
  await assert.rejects(failing, { name: 'StartFault', code: 125 })
})
