import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testPorts, testSettings, testSource } from '../../../test/support/runs.ts'
import { createScriptedExecutor, type Script } from '../../adapters/executor/scripted.ts'
import { StartFault } from '../../ports/executor.ts'
import type { CommandRow } from '../../store/commands.ts'
import type { RunFacts } from '../../store/run-facts.ts'
import { executeRun } from './execute-run.ts'
import type { Execution } from './execution.ts'
import type { RunPorts } from './ports.ts'
import { StopRun } from './stop-run.ts'
import { makeRunFolders } from './work-folder.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'yardmaster-execute-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const command = (position: number, text: string, more: Partial<CommandRow> = {}): CommandRow => ({
  id: position + 1,
  runId: 1,
  position,
  kind: position < 2 ? 'infrastructure' : 'user',
  text,
  originalText: text,
  continueOnError: false,
  stateFrom: null,
  state: 'waiting',
  startedAt: null,
  endedAt: null,
  returnCode: null,
  stdoutBytes: 0,
  stderrBytes: 0,
  logFinished: false,
  ...more,
})

let runs = 0

async function prepare(
  users: CommandRow[],
  options: { play?: (text: string) => Script; ports?: (ports: RunPorts) => Partial<RunPorts> } = {},
) {
  const happened: string[] = []
  const output = new Map<number, string>()
  const stopping = new AbortController()
  const executor = createScriptedExecutor({
    play: (spec) => {
      happened.push(`execute ${spec.text}`)
      return options.play?.(spec.text) ?? { steps: [] }
    },
  })
  const facts: RunFacts = {
    runId: ++runs,
    attempt: 1,
    workspaceId: 1,
    workspaceUid: 'uid',
    scheduleId: 1,
    scheduleSlug: 'nightly',
    scheduleName: 'Nightly',
    environmentId: 1,
    environmentActive: true,
    repositoryUrl: 'https://git.example.com/jobs.git',
    installStep: null,
    pythonPackages: [],
    excludedFiles: null,
    branch: 'main',
    wantedCommit: null,
    prNumber: null,
    actor: 'Ana',
    reason: '',
    timeLimitSeconds: null,
    stopSeconds: 5,
    turboCi: null,
    deferredSchedule: null,
    retryOf: null,
    commands: [command(0, 'git clone'), command(1, 'install dependencies'), ...users],
  }
  const plain = testPorts(executor, output, testSource)
  const ports: RunPorts = {
    ...plain,
    openLog: async (id, more) => {
      happened.push(`log ${id}`)
      return await plain.openLog(id, more)
    },
    ...options.ports?.(plain),
  }
  const run: Execution = {
    facts,
    values: {
      workspace: { LAYER: 'workspace', SHARED: 'yes' },
      environment: { LAYER: 'environment' },
      schedule: { LAYER: 'schedule' },
      credentials: {},
      files: [],
      secrets: ['hunter22'],
    },
    folders: await makeRunFolders({ work: join(folder, 'runs'), cache: join(folder, 'cache') }, facts),
    ports,
    settings: testSettings,
    recorder: {
      start: async ({ id }) => {
        happened.push(`start ${id}`)
        return 'started'
      },
      end: async ({ id, state, returnCode }) => {
        happened.push(`end ${id} ${state} ${returnCode}`)
      },
      setCommit: async () => {},
    },
    now: () => new Date(0),
    warn: (_error, message) => happened.push(`warn ${message}`),
    stop: stopping.signal,
    lost: new AbortController().signal,
    killNow: new AbortController().signal,
  }
  return { run, happened, output, executor, stopping }
}

test('a command is recorded as started, then its log is opened, then it is executed', async () => {
  const { run, happened, executor } = await prepare([command(2, 'a')])
  assert.deepEqual(await executeRun(run), { kind: 'succeeded' })
  assert.deepEqual(happened, [
    'start 1',
    'log 1',
    'end 1 succeeded 0',
    'start 2',
    'log 2',
    'end 2 succeeded 0',
    'start 3',
    'log 3',
    'execute a',
    'end 3 succeeded 0',
  ])
  const { environment } = executor.started[0]!
  assert.deepEqual([environment.LAYER, environment.SHARED, environment.HOME], ['schedule', 'yes', run.folders.home])
})

test('nothing is executed once a cancel is recorded', async () => {
  const { run, happened } = await prepare([command(2, 'a')])
  const refused = { ...run, recorder: { ...run.recorder, start: async () => 'canceled' as const } }
  assert.deepEqual(await executeRun(refused), { kind: 'canceled' })
  assert.deepEqual(happened, [])
})

test('a stop ends the command that is going and keeps its files, and the reason decides', async () => {
  const collected: number[] = []
  const { run, happened, stopping } = await prepare([command(2, 'a'), command(3, 'b')], {
    play: () => ({ steps: [{ hang: true }] }),
    ports: (plain) => ({
      files: {
        ...plain.files,
        snapshot: async () => stopping.abort(new StopRun({ kind: 'time-limit', seconds: 5 })),
        collect: async (_before, of) => {
          collected.push(of.command.id)
          return []
        },
      },
    }),
  })
  assert.deepEqual(await executeRun(run), { kind: 'failed', detail: 'its time limit of 5 seconds passed' })
  assert.equal(happened.at(-1), 'end 3 stopped 130')
  assert.deepEqual(collected, [3])
})

test('a command that cannot be started fails with the code and the reason in its log', async () => {
  const { run, happened, output } = await prepare([command(2, 'a')], {
    play: () => {
      throw new StartFault('the folder is missing', 126)
    },
  })
  assert.deepEqual(await executeRun(run), { kind: 'errored' })
  assert.equal(happened.at(-1), 'end 3 failed 126')
  assert.equal(output.get(3), 'yardmaster: the folder is missing\n')
})

test('output that cannot be stored fails the run', async () => {
  const { run } = await prepare([command(2, 'a')], {
    play: () => ({ steps: [{ stdout: 'x' }, { hang: true }] }),
    ports: () => ({
      openLog: async (id) => ({
        write: async () => {
          if (id === 3) throw new Error('disk full')
        },
        note: async () => {},
        finish: async () => {},
      }),
    }),
  })
  assert.deepEqual(await executeRun(run), { kind: 'failed', detail: 'its output could not be stored' })
})

test('dbt retry runs only when the state that it needs could be put back', async () => {
  const retry = command(2, 'dbt retry', { originalText: 'dbt build', stateFrom: 99 })
  const kept: number[] = []
  const files = (putBack: RunPorts['files']['putBack']) => ({
    ports: (plain: RunPorts) => ({ files: { ...plain.files, putBack } }),
  })
  const good = await prepare(
    [retry],
    files(async (id) => void kept.push(id)),
  )
  await executeRun(good.run)
  assert.deepEqual([kept, good.executor.started[0]!.text], [[99], 'dbt retry'])
  const gone = await prepare(
    [retry],
    files(() => Promise.reject(new Error('gone'))),
  )
  assert.deepEqual(await executeRun(gone.run), { kind: 'succeeded' })
  assert.equal(gone.executor.started[0]!.text, 'dbt build')
  assert.match(gone.output.get(3) ?? '', /could not be put back/)
})

test('files that cannot be kept do not change what the command did, and its log says so', async () => {
  const { run, output, happened } = await prepare([command(2, 'a')], {
    ports: (plain) => ({ files: { ...plain.files, collect: () => Promise.reject(new Error('no store')) } }),
  })
  assert.deepEqual(await executeRun(run), { kind: 'succeeded' })
  assert.match(output.get(3) ?? '', /could not be kept/)
  assert.ok(happened.includes('warn the files of a command were not kept'))
})

test('the install step runs as a command of its own, and what it made comes first in PATH and is read-only', async () => {
  let keeps = 0
  const venv = join(folder, 'cache')
  const plan = {
    script: 'make venv',
    venv,
    writable: [venv],
    readOnly: [],
    keep: async () => void keeps++,
    discard: async () => {},
  }
  const { run, executor } = await prepare([command(2, 'a')], {
    ports: (plain) => ({ dependencies: { ...plain.dependencies, plan: async () => plan } }),
  })
  assert.deepEqual(await executeRun(run), { kind: 'succeeded' })
  const [install, user] = executor.started
  assert.deepEqual([install!.text, install!.environment.VIRTUAL_ENV, keeps], ['make venv', undefined, 1])
  assert.ok(install!.writable.includes(venv))
  assert.equal(user!.environment.PATH, `${join(venv, 'bin')}:/usr/bin:/bin`)
  assert.ok(user!.readOnly.includes(venv) && !user!.writable.includes(venv))
})
