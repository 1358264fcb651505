// 500 schedules in 50 files: the first sync (all new), one in which every schedule changed, and one of a commit that
// changed nothing else. The floor is what cannot be left out: the same files parsed as YAML, and the same rows written,
// one statement each for schedules and variables. The git host, here a folder, is outside the figure.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { parse } from 'yaml'
import type { App, Context } from '../service/src/app/context.ts'
import { systemContext } from '../service/src/app/context.ts'
import { createEnvironment } from '../service/src/app/environments.ts'
import { syncScheduleFiles } from '../service/src/app/schedule-sync.ts'
import { newUid } from '../service/src/domain/ids.ts'
import type { SourceFile } from '../service/src/ports/source.ts'
import { inTransaction } from '../service/src/store/database.ts'
import * as workspaces from '../service/src/store/workspaces.ts'
import { seconds, withApp } from './support/app.ts'
import type { Figure } from './support/figure.ts'
import { median } from './support/processes.ts'

const FILES = 50
const PER_FILE = 10
const TURNS = 5
const MOST_SECONDS = 1

type Step = 'create' | 'change' | 'keep'

export async function benchScheduleFiles(): Promise<Figure[]> {
  return await withApp(async (app) => {
    const turns: Record<Step | 'floor' | 'processor', number>[] = []
    // The first turn warms up.
    for (let turn = 0; turn <= TURNS; turn++) {
      const ctx = await newWorkspace(app)
      const began = process.cpuUsage()
      const create = await seconds(() => sync(ctx, 'a', 1, 'created'))
      const { user, system } = process.cpuUsage(began)
      const change = await seconds(() => sync(ctx, 'b', 2, 'changed'))
      const keep = await seconds(() => sync(ctx, 'c', 2, 'unchanged'))
      const floor = await seconds(() => writeBare(app, ctx))
      if (turn > 0) turns.push({ create, change, keep, floor, processor: (user + system) / 1_000_000 })
    }
    const of = (step: keyof (typeof turns)[number]): number => median(turns.map((one) => one[step]))
    const processor = of('processor')
    const figure = (step: Step, most: number, notes: string): Figure => ({
      name: `${step} ${FILES * PER_FILE} schedules in ${FILES} files`,
      measured: `${of(step).toFixed(2)} s`,
      floor: `${of('floor').toFixed(2)} s`,
      ratio: median(turns.map((one) => one[step] / one.floor)),
      bound: { most },
      notes,
    })
    const met = processor <= MOST_SECONDS ? 'met' : 'not met on this machine'
    const work = `${processor.toFixed(2)} s of processor time; goal: ${MOST_SECONDS} s, ${met}`
    return [
      figure('create', 2, `floor: parsing and writing them; ${work}`),
      figure('change', 3, 'every one of them'),
      figure('keep', 2, 'another commit, the same schedules'),
    ]
  })
}

async function newWorkspace(app: App): Promise<Context> {
  const workspace = await workspaces.insert(app.db, { uid: newUid(), name: `Bench ${newUid()}` })
  const ctx = systemContext(app, 'bench', workspace)
  await createEnvironment(ctx, { displayName: 'production', repositoryUrl: '/nowhere' })
  return ctx
}

async function sync(ctx: Context, commit: string, version: number, all: 'created' | 'changed' | 'unchanged') {
  const files = filesOf(version)
  const outcome = await syncScheduleFiles(ctx, {
    source: { files: async () => ({ commit, fetchedAt: new Date(), warning: '', files }) },
    names: { folders: ['.bolt'], files: [] },
    mayBeMs: 0,
    patienceMs: 0,
    signal: new AbortController().signal,
  })
  assert.ok(outcome.kind === 'synced')
  assert.deepEqual(outcome.changes.plan.findings, [])
  const done = outcome.changes[all]
  assert.equal(typeof done === 'number' ? done : done.length, FILES * PER_FILE)
}

const filesOf = (version: number): SourceFile[] =>
  Array.from({ length: FILES }, (_, file) => ({
    path: `.bolt/team-${file}.yml`,
    content: {
      text: `schedules:\n${Array.from({ length: PER_FILE }, (_, i) => entry(file * PER_FILE + i, version)).join('')}`,
    },
  }))

const entry = (number: number, version: number): string => `  - name: Schedule number ${number}
    slug: schedule-${number}
    schedule: "${number % 60} ${number % 24} * * *"
    timezone: Europe/Berlin
    environment: production
    description: Builds part ${number}, version ${version}
    commands:
      - dbt seed
      - command: dbt build --select tag:part_${number}
        continue_on_error: true
    git_branch: main
    sla_minutes: 30
    notifications:
      slack_channels:
        - channel: "#data"
          events: [failed, sla]
    env_overrides:
      - key: PART
        value: "${number}"
${number % PER_FILE === 0 ? '' : `    schedule_trigger: {enabled: true, schedule_slug: schedule-${number - 1}, trigger_on: [passed]}\n`}`

/** As many rows as a sync writes, without any of its questions. */
async function writeBare(app: App, ctx: Context): Promise<void> {
  for (const { content } of filesOf(1)) if ('text' in content) parse(content.text)
  await inTransaction(app.db, async (tx) => {
    const workspaceId = ctx.workspace!.id
    for (let number = 0; number < FILES * PER_FILE; number++) {
      await sql`/* bench_insert */ insert into schedule (workspace_id, environment_id, slug, name, cron, commands)
        select ${workspaceId}, id, ${`bare-${number}`}, 'Bare', 'OFF', '[]' from environment
        where workspace_id = ${workspaceId} limit 1`.execute(tx)
      await sql`/* bench_variable */ insert into schedule_variable (workspace_id, schedule_id, name, kid, wrapped_key, sealed)
        select ${workspaceId}, id, 'PART', '', '', '' from schedule
        where workspace_id = ${workspaceId} and slug = ${`bare-${number}`}`.execute(tx)
    }
  })
}
