// Schedules to run, and everything around a worker that a test does not want for real: a source without git, an install
// step without anything to install, logs in memory and files that nobody keeps.
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { createScriptedExecutor, type Script, type ScriptedExecutor } from '../../src/adapters/executor/scripted.ts'
import { hostProcesses } from '../../src/adapters/host-processes.ts'
import type { Context } from '../../src/app/context.ts'
import { mutate, type Unit } from '../../src/app/mutate.ts'
import { type CreatedRun, cancelRun, createRun, type RunPlan } from '../../src/app/runs.ts'
import { triggerRun } from '../../src/app/trigger-run.ts'
import type { WorkspaceRef } from '../../src/domain/actor.ts'
import type { Overlap } from '../../src/domain/run-plan.ts'
import type { RunPorts, RunSettings } from '../../src/engine/worker/ports.ts'
import { startWorker, type Worker, type WorkerDeps } from '../../src/engine/worker/worker.ts'
import type { HostProcesses } from '../../src/ports/host-processes.ts'
import type { Source } from '../../src/ports/source.ts'
import type { CommandRow } from '../../src/store/commands.ts'
import * as commands from '../../src/store/commands.ts'
import * as environments from '../../src/store/environments.ts'
import type { RunRow } from '../../src/store/runs.ts'
import * as runs from '../../src/store/runs.ts'
import { type TestApp, testApp } from './app.ts'

export interface TestSchedule {
  readonly id: number
  readonly slug: string
  readonly environmentId: number
}

export interface NewTestSchedule {
  readonly commands?: readonly string[]
  readonly overlap?: Overlap
  readonly timeLimitSeconds?: number
  readonly continueOnError?: boolean
  readonly workerLabels?: readonly string[]
  readonly stopSeconds?: number
}

export interface TestRuns extends AsyncDisposable {
  readonly t: TestApp
  readonly workspace: WorkspaceRef
  readonly ctx: Context
  readonly folder: string
  schedule(options?: NewTestSchedule): Promise<TestSchedule>
  trigger(schedule: TestSchedule, prNumber?: number): Promise<number>
  /** A run of a tick at the given minute. */
  tick(schedule: TestSchedule, minute: number): Promise<CreatedRun>
  unit<T>(work: (unit: Unit) => Promise<T>): Promise<T>
  run(id: number): Promise<RunRow>
  commands(id: number): Promise<CommandRow[]>
  /** Waits until the run is in one of the states. */
  until(id: number, ...states: RunRow['state'][]): Promise<RunRow>
  worker(options: WorkerOptions): Promise<TestWorker>
  /** What is still going fails, what waits is canceled: nothing is left for the next test. */
  stopWorkers(): Promise<void>
}

export interface WorkerOptions extends Partial<Pick<WorkerDeps, 'slots' | 'labels' | 'lease' | 'drainMs' | 'pollMs'>> {
  readonly play?: (text: string) => Script
  readonly source?: Source
  readonly host?: HostProcesses
  readonly ports?: Partial<RunPorts>
}

export interface TestWorker extends Worker {
  readonly executor: ScriptedExecutor
  /** What commands wrote, by command id. */
  readonly output: ReadonlyMap<number, string>
}

export const COMMIT = 'c0ffee'.padEnd(40, '0')

export const testSource: Source = {
  checkout: async (_repository, reference, folder, report) => {
    await mkdir(folder, { recursive: true })
    await report(`Cloning into '${reference}'...`)
    return { commit: COMMIT, branch: reference }
  },
  read: async () => ({ commit: COMMIT, stale: false, files: new Map() }),
}

export const testSettings: RunSettings = {
  workerEnvironment: { PATH: '/usr/bin:/bin' },
  allowList: ['PATH'],
  hidden: [],
  limits: { seconds: null, memoryBytes: null, processes: null, fileBytes: null },
  timeLimitSeconds: 600,
}

export function testPorts(executor: ScriptedExecutor, output: Map<number, string>, source: Source): RunPorts {
  return {
    source,
    executor,
    dependencies: {
      plan: async () => ({
        script: null,
        venv: null,
        writable: [],
        readOnly: [],
        keep: async () => {},
        discard: async () => {},
      }),
      python: null,
      laySecretFiles: async () => ({}),
    },
    openLog: async (commandId) => ({
      write: async (_stream, bytes) => {
        output.set(commandId, (output.get(commandId) ?? '') + bytes.toString())
      },
      note: async (text) => {
        output.set(commandId, `${output.get(commandId) ?? ''}yardmaster: ${text}\n`)
      },
      finish: async () => {},
    }),
    files: { snapshot: async () => null, collect: async () => [], putBack: async () => {} },
  }
}

export async function waitFor<T>(what: string, look: () => Promise<T | null | false> | T | null | false): Promise<T> {
  const until = performance.now() + 8_000
  for (;;) {
    const found = await look()
    if (found !== null && found !== false) return found
    if (performance.now() > until) throw new Error(`waited for ${what} in vain`)
    await pause(10)
  }
}

/** Each worker of a test is a process of its own to the database. */
export function otherHost(alive = true): HostProcesses {
  const self = `elsewhere/${randomBytes(6).toString('hex')}/1/1/1/1`
  const real = hostProcesses()
  return { self, isDead: async (id) => (id === self ? !alive : await real.isDead(id)) }
}

export async function testRuns(options: { queue?: 'real' | 'recording' } = {}): Promise<TestRuns> {
  const t = await testApp({ queue: options.queue ?? 'recording', poolSize: 10 })
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-runs-'))
  const workspace = await t.workspace()
  const ctx = t.inside(workspace)
  const workers: Worker[] = []
  let made = 0

  const run = async (id: number): Promise<RunRow> => (await runs.find(t.app.db, workspace.id, id))!
  const unit: TestRuns['unit'] = (work) => mutate(ctx, work)

  const schedule: TestRuns['schedule'] = async (wanted = {}) => {
    const number = ++made
    const { db } = t.app
    const environmentId = await environments.insert(db, workspace.id, {
      slug: `environment-${number}`,
      displayName: `Environment ${number}`,
      type: 'scheduler',
    })
    await environments.update(db, workspace.id, environmentId, { repositoryUrl: 'https://git.example.com/jobs.git' })
    await sql`update environment set worker_labels = ${[...(wanted.workerLabels ?? [])]},
        stop_seconds = ${wanted.stopSeconds ?? 5}
      where id = ${environmentId}`.execute(db)
    const slug = `schedule-${number}`
    const list = (wanted.commands ?? ['true']).map((command) => ({ command, continueOnError: null }))
    const { rows } = await sql<{ id: number }>`insert into schedule (workspace_id, environment_id, slug, name, cron,
        commands, overlap, time_limit_seconds, continue_on_error)
      values (${workspace.id}, ${environmentId}, ${slug}, ${`Schedule ${number}`}, 'OFF', ${JSON.stringify(list)},
        ${wanted.overlap ?? 'queue_one'}, ${wanted.timeLimitSeconds ?? null}, ${wanted.continueOnError ?? false})
      returning id`.execute(db)
    return { id: rows[0]!.id, slug, environmentId }
  }

  const tick: TestRuns['tick'] = (of, minute) => {
    const plan: RunPlan = {
      workspaceId: workspace.id,
      scheduleId: of.id,
      environmentId: of.environmentId,
      cause: 'cron',
      dueAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
      actor: 'schedule',
      actorEmail: '',
      reason: '',
      branch: 'main',
      prNumber: null,
      parentRunId: null,
      retryOf: null,
      commands: [{ text: 'true', originalText: 'true', continueOnError: false }],
      continueOnError: false,
      timeLimitSeconds: null,
    }
    return unit((one) => createRun(one, plan))
  }

  const worker: TestRuns['worker'] = async (wanted) => {
    const executor = createScriptedExecutor({ play: (spec) => wanted.play?.(spec.text) ?? { steps: [] } })
    const output = new Map<number, string>()
    const ports = { ...testPorts(executor, output, wanted.source ?? testSource), ...wanted.ports }
    const started = await startWorker(t.app, {
      queue: t.queue!,
      connection: t.database.connection,
      host: wanted.host ?? otherHost(),
      slots: wanted.slots ?? 4,
      labels: wanted.labels ?? [],
      ports,
      settings: testSettings,
      place: { work: join(folder, 'runs'), cache: join(folder, 'cache') },
      drainMs: wanted.drainMs === undefined ? 0 : wanted.drainMs,
      pollMs: wanted.pollMs ?? 1000,
      log: t.app.log,
      ...(wanted.lease !== undefined && { lease: wanted.lease }),
    })
    workers.push(started)
    return {
      executor,
      output,
      id: started.id,
      get going() {
        return started.going
      },
      stop: started.stop,
      stopNow: started.stopNow,
    }
  }

  const stopWorkers = async (): Promise<void> => {
    await Promise.all(workers.splice(0).map((one) => one.stopNow()))
    const { rows } = await sql<{ id: number }>`select id from run where state = 'waiting'
      order by id desc`.execute(t.app.db)
    for (const { id } of rows) await cancelRun(ctx, { runId: id })
  }

  return {
    t,
    workspace,
    ctx,
    folder,
    schedule,
    trigger: async (of, prNumber) =>
      (await triggerRun(ctx, { slug: of.slug, ...(prNumber !== undefined && { prNumber }) })).runId,
    tick,
    unit,
    run,
    commands: (id) => commands.listOfRun(t.app.db, workspace.id, id),
    until: (id, ...states) =>
      waitFor(`run ${id} to be ${states.join(' or ')}`, async () => {
        const found = await run(id)
        return states.includes(found.state) ? found : null
      }),
    worker,
    stopWorkers,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(workers.map((one) => one.stopNow()))
      await t.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
