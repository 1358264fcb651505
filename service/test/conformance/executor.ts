// What every executor keeps to. Some of it needs real processes, some needs namespaces or a container: what an adapter
// cannot do is said by its abilities, not by leaving tests out here and there.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Script } from '../../src/adapters/executor/scripted.ts'
import { type Executor, StartFault } from '../../src/ports/executor.ts'
import { begin, finish, freshFolder, NO_LIMITS, SYSTEM_PATH, specOf } from '../support/executor.ts'
import { processConformance } from './executor-processes.ts'

export interface Abilities {
  /** False: it plays scripts. */
  readonly processes: boolean
  /** Folders can be hidden and held read-only, and nothing that a command starts can leave it. */
  readonly views: boolean
  /** Names that the executor itself adds to the environment. */
  readonly ownNames: readonly string[]
  /** Whether it bounds how many processes a command has, by itself or together with others of the same user. */
  readonly boundsProcesses: 'each' | 'together' | 'no'
  /** How long a signal may take to arrive: an engine needs its time. */
  readonly signalMs: number
  /** About how long a start takes. */
  readonly startMs: number
}

export interface ExecutorUnderTest {
  readonly name: string
  readonly abilities: Abilities
  make(): Promise<Executor & { close?(): void }>
}

/** For an executor that plays scripts: what the texts of the portable tests do. */
export const SCRIPTS: Readonly<Record<string, Script>> = {
  'echo out; echo err >&2': { steps: [{ stdout: 'out\n' }, { stderr: 'err\n' }] },
  'exit 0': { steps: [] },
  'exit 7': { steps: [], exit: 7 },
  'exit 255': { steps: [], exit: 255 },
  'kill -TERM $$': { steps: [], signal: 'SIGTERM' },
  'kill -KILL $$': { steps: [], signal: 'SIGKILL' },
  'kill -SEGV $$': { steps: [], signal: 'SIGSEGV' },
  'echo up; exec sleep 600': { steps: [{ stdout: 'up\n' }, { hang: true }] },
  "trap '' INT; echo up; while :; do sleep 0.1; done": {
    steps: [{ stdout: 'up\n' }, { hang: true }],
    ignores: ['SIGINT'],
  },
  "trap '' INT TERM; echo up; while :; do sleep 0.1; done": {
    steps: [{ stdout: 'up\n' }, { hang: true }],
    ignores: ['SIGINT', 'SIGTERM'],
  },
  "trap 'echo clean; exit 2' INT; echo up; while :; do sleep 0.1; done": {
    steps: [{ stdout: 'up\n' }, { hang: true }],
    interruptedExit: 2,
  },
  "trap 'exit 0' INT; echo up; while :; do sleep 0.1; done": {
    steps: [{ stdout: 'up\n' }, { hang: true }],
    interruptedExit: 0,
  },
  'head -c 3000000 /dev/zero | tr "\\0" a; head -c 3000000 /dev/zero | tr "\\0" b >&2': {
    steps: [{ stdout: Buffer.alloc(3_000_000, 'a') }, { stderr: Buffer.alloc(3_000_000, 'b') }],
  },
}

export function executorConformance(under: ExecutorUnderTest): void {
  describe(`an executor: ${under.name}`, { concurrency: 3 }, () => {
    portableConformance(under)
    if (under.abilities.processes) processConformance(under)
  })
}

function portableConformance({ make, abilities }: ExecutorUnderTest): void {
  const grace = { interruptMs: abilities.signalMs, terminateMs: abilities.signalMs }
  const one = async <T>(body: (executor: Executor, folder: string) => Promise<T>): Promise<T> => {
    using folder = freshFolder()
    const executor = await make()
    try {
      return await body(executor, folder.path)
    } finally {
      executor.close?.()
    }
  }

  test('hands over both streams, each in order', () =>
    one(async (executor, folder) => {
      const { end, stdout, stderr } = await finish(executor, { folder, text: 'echo out; echo err >&2' })
      assert.deepEqual([end, stdout, stderr], [{ kind: 'exited', code: 0 }, 'out\n', 'err\n'])
    }))

  test('tells how a command ended: by its code, or by 128 and the signal', () =>
    one(async (executor, folder) => {
      const told: Record<string, unknown> = {}
      for (const text of ['exit 0', 'exit 7', 'exit 255', 'kill -TERM $$', 'kill -KILL $$', 'kill -SEGV $$']) {
        const { end, stderr } = await finish(executor, { folder, text })
        assert.equal(stderr, '', 'nothing of ours is in its log')
        told[text] = end.kind === 'signaled' ? [end.signal, end.code] : [end.kind, end.code]
      }
      assert.deepEqual(told, {
        'exit 0': ['exited', 0],
        'exit 7': ['exited', 7],
        'exit 255': ['exited', 255],
        'kill -TERM $$': ['SIGTERM', 143],
        'kill -KILL $$': ['SIGKILL', 137],
        'kill -SEGV $$': ['SIGSEGV', 139],
      })
    }))

  test('loses no byte of three megabytes on each stream', () =>
    one(async (executor, folder) => {
      const hashes = { stdout: createHash('sha256'), stderr: createHash('sha256') }
      const text = 'head -c 3000000 /dev/zero | tr "\\0" a; head -c 3000000 /dev/zero | tr "\\0" b >&2'
      const { end } = await finish(executor, {
        folder,
        text,
        output: async (stream, bytes) => void hashes[stream].update(bytes),
      })
      assert.equal(end.code, 0)
      const expected = ['a', 'b'].map((byte) =>
        createHash('sha256').update(Buffer.alloc(3_000_000, byte)).digest('hex'),
      )
      assert.deepEqual([hashes.stdout.digest('hex'), hashes.stderr.digest('hex')], expected)
    }))

  test('waits for the consumer before it hands over more', () =>
    one(async (executor, folder) => {
      let at = 0
      let most = 0
      const text = 'head -c 3000000 /dev/zero | tr "\\0" a; head -c 3000000 /dev/zero | tr "\\0" b >&2'
      await finish(executor, {
        folder,
        text,
        output: async () => {
          most = Math.max(most, ++at)
          await new Promise((resolve) => setImmediate(resolve))
          at--
        },
      })
      assert.ok(most <= 2, `one for each stream at a time, and not ${most}`)
    }))

  test('stops a command by SIGINT where that is enough', () =>
    one(async (executor, folder) => {
      const command = await begin(executor, { folder, grace, text: 'echo up; exec sleep 600' })
      await command.said('up')
      command.controller.abort()
      command.controller.abort()
      assert.deepEqual(await command.ended, { kind: 'aborted', code: 130 })
    }))

  test('goes on to SIGTERM and to the kill where it is not', () =>
    one(async (executor, folder) => {
      for (const [signals, code] of [
        ['INT', 143],
        ['INT TERM', 137],
      ] as const) {
        const text = `trap '' ${signals}; echo up; while :; do sleep 0.1; done`
        const command = await begin(executor, { folder, text, grace })
        await command.said('up')
        command.controller.abort()
        assert.deepEqual(await command.ended, { kind: 'aborted', code }, signals)
      }
    }))

  test('kills at once where that is asked for, before the ladder or in the middle of it', () =>
    one(async (executor, folder) => {
      for (const first of ['nothing', 'abort'] as const) {
        const kill = new AbortController()
        const text = `trap '' INT TERM; echo up; while :; do sleep 0.1; done`
        const patience = { interruptMs: 3_600_000, terminateMs: 0 }
        const command = await begin(executor, { folder, text, grace: patience, killNow: kill.signal })
        await command.said('up')
        if (first === 'abort') command.controller.abort()
        kill.abort()
        assert.deepEqual(await command.ended, { kind: 'aborted', code: 137 }, first)
      }
    }))

  test('keeps the exit code that a command answers with, and takes a zero for no success', () =>
    one(async (executor, folder) => {
      for (const [answer, code] of [
        ['echo clean; exit 2', 2],
        ['exit 0', 130],
      ] as const) {
        const text = `trap '${answer}' INT; echo up; while :; do sleep 0.1; done`
        const patience = { interruptMs: 10_000, terminateMs: 0 }
        const command = await begin(executor, { folder, text, grace: patience })
        await command.said('up')
        command.controller.abort()
        assert.deepEqual(await command.ended, { kind: 'aborted', code })
      }
    }))

  test('ends a command whose time is over', () =>
    one(async (executor, folder) => {
      const limits = { ...NO_LIMITS, seconds: 0.3 }
      const { end } = await finish(executor, { folder, limits, grace, text: 'echo up; exec sleep 600' })
      assert.deepEqual(end, { kind: 'timed-out', code: 130 })
    }))

  test('stops a command whose output nobody takes any more', () =>
    one(async (executor, folder) => {
      const cause = new Error('the store is gone')
      const { end } = await finish(executor, {
        folder,
        grace,
        text: 'echo up; exec sleep 600',
        output: () => Promise.reject(cause),
      })
      assert.deepEqual([end.kind, end.code], ['output-lost', 130])
      assert.equal(end.kind === 'output-lost' && end.cause, cause)
    }))

  test('starts nothing once it was called off', () =>
    one(async (executor, folder) => {
      const spec = specOf({ folder, text: 'exit 0' })
      await assert.rejects(executor.start(spec, AbortSignal.abort(new Error('too late'))), /too late/)
    }))

  test('names a folder that is missing or is none, and a variable that cannot be set', () =>
    one(async (executor, folder) => {
      const start = (fields: object) =>
        executor.start(specOf({ folder, text: 'exit 0', ...fields }), new AbortController().signal)
      const file = join(folder, 'file')
      writeFileSync(file, '')
      const faults: [object, RegExp][] = [
        [{ folder: join(folder, 'gone') }, /working folder .*gone is missing/],
        [{ folder: file }, /file is not a folder/],
        [{ readOnly: [join(folder, 'cache')] }, /read-only folder .*cache is missing/],
        [{ environment: { PATH: SYSTEM_PATH, 'a=b': '1' } }, /variable "a=b"/],
        [{ environment: { PATH: SYSTEM_PATH, A: 'a\0b' } }, /variable "A"/],
      ]
      for (const [fields, message] of faults) {
        await assert.rejects(start(fields), (fault: unknown) => {
          assert.ok(fault instanceof StartFault)
          assert.match(fault.message, message)
          assert.equal(fault.code, 126)
          return true
        })
      }
      assert.equal(readFileSync(file, 'utf8'), '')
    }))
}
