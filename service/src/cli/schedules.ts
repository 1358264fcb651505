import { resolve } from 'node:path'
import type { Command } from 'commander'
import { exportSchedules } from '../app/schedule-export.ts'
import type { SyncOutcome } from '../app/schedule-sync.ts'
import { planScheduleFiles, readAll, syncScheduleFiles } from '../app/schedule-sync.ts'
import { listSchedules } from '../app/schedules.ts'
import { openSource } from '../compose/worker.ts'
import { checkFiles } from '../domain/schedule-file-plan.ts'
import { writeScheduleFile } from '../domain/schedule-file-write.ts'
import { inWorkspace, withApp } from './app.ts'
import { addCommand, addNoun, optionalArg, type Shell } from './command.ts'
import { WORKSPACE } from './options.ts'
import { readCheckout } from './schedules-folder.ts'
import { changeRows, changeText, counted, findingText, shownFindings } from './schedules-text.ts'
import { table } from './table.ts'

interface Options {
  readonly workspace?: string
}

const PATH = () => optionalArg('path', 'a checkout of the repository, or one file (default: the working folder)')

export function registerSchedules(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'schedules', 'schedules of a workspace, and the files that hold them')
  list(noun, shell)
  validate(noun, shell)
  plan(noun, shell)
  sync(noun, shell)
  exportAll(noun, shell)
}

function list(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the active schedules of a workspace',
      examples: ['yardmaster schedules list', 'yardmaster schedules list --json'],
    },
    async ({ options, load, print }) => {
      const filter = { inactive: 'exclude', suspended: null, offset: 0, limit: 10_000 } as const
      const { schedules } = await inWorkspace(load(), options.workspace, (ctx) => listSchedules(ctx, filter))
      const rows = schedules.map((one) => ({
        slug: one.slug,
        name: one.name,
        schedule: one.cron,
        timezone: one.timezone,
        environment: one.environment,
        suspended: one.suspended,
        source: one.source,
        file: one.sourceFile ?? '',
        nextRunAt: one.nextDueAt,
        lastRunState: one.lastRunState,
      }))
      const cells = rows.map((one) => [
        one.slug,
        one.name,
        one.schedule,
        one.environment,
        one.suspended,
        one.file,
        one.nextRunAt,
      ])
      print(rows, table(['SLUG', 'NAME', 'SCHEDULE', 'ENVIRONMENT', 'SUSPENDED', 'FILE', 'NEXT RUN'], cells))
      return undefined
    },
  ).option(...WORKSPACE)
}

function validate(noun: Command, shell: Shell): void {
  addCommand(
    noun,
    shell,
    {
      name: 'validate',
      args: [PATH()],
      summary: 'check files that hold schedules, without a service or a database',
      details:
        'For use before a merge: every fault is printed as FILE:LINE:COLUMN, and with one the exit code is 1. Whether ' +
        'environments are there, and schedules that no file makes, only yardmaster schedules plan can tell.',
      examples: ['yardmaster schedules validate', 'yardmaster schedules validate ../dbt-project --json'],
    },
    async ({ args, cli, load, print }) => {
      const found = await readCheckout(resolve(cli.cwd, args[0] ?? '.'), load().config.schedules)
      const { files, findings } = checkFiles(await readAll(found))
      const schedules = files.reduce((sum, one) => sum + one.schedules, 0)
      const { faults, warnings } = shownFindings(findings)
      const total = `${counted(files.length, 'file')}, ${counted(schedules, 'schedule')}, ${counted(faults.length, 'fault')}.`
      print({ files, faults, warnings }, `${findingText(findings)}${total}\n`)
      return faults.length > 0 ? 1 : undefined
    },
  )
}

function plan(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'plan',
      args: [PATH()],
      summary: 'show what the files of a checkout would change in a workspace, and change nothing',
      details: 'The exit code is 1 when a file has faults: its schedules would stay as they are.',
      examples: ['yardmaster schedules plan', 'yardmaster schedules plan ../dbt-project --workspace 4f1c9e2ab0d37c58'],
    },
    async ({ args, cli, options, load, print }) => {
      const loaded = load()
      const found = await readCheckout(resolve(cli.cwd, args[0] ?? '.'), loaded.config.schedules)
      const changes = await withApp(loaded, async (app) =>
        planScheduleFiles(app.context(await app.workspace(options.workspace)), found),
      )
      const { findings } = changes.plan
      const { faults, warnings } = shownFindings(findings)
      print(
        { changes: changeRows(changes), unchanged: changes.unchanged, faults, warnings },
        `${findingText(findings)}${changeText(changes)}`,
      )
      return faults.length > 0 ? 1 : undefined
    },
  ).option(...WORKSPACE)
}

const PATIENCE_MS = 60_000

function sync(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'sync',
      summary: "bring a workspace's schedules in line with the files of its repository now",
      details:
        'A server does it every ten minutes by itself. The exit code is 1 when a file has faults or cannot be read.',
      examples: ['yardmaster schedules sync', 'yardmaster schedules sync --workspace 4f1c9e2ab0d37c58'],
    },
    async ({ cli, options, load, print }) => {
      const loaded = load()
      const { config } = loaded
      const outcome = await withApp(loaded, async (app) =>
        syncScheduleFiles(app.context(await app.workspace(options.workspace)), {
          source: openSource(config, app.app, cli.env),
          names: config.schedules,
          mayBeMs: 0,
          patienceMs: PATIENCE_MS,
          signal: new AbortController().signal,
        }),
      )
      const { data, text, failed } = outcomeText(outcome)
      print(data, text)
      return failed ? 1 : undefined
    },
  ).option(...WORKSPACE)
}

function outcomeText(outcome: SyncOutcome): { data: object; text: string; failed: boolean } {
  const { kind } = outcome
  switch (outcome.kind) {
    case 'no-repository':
    case 'stopped': {
      const text = 'This workspace has no repository: yardmaster environments set --repository.\n'
      return { data: { kind }, text, failed: true }
    }
    case 'unread':
      return { data: { kind, warning: outcome.warning }, text: `${outcome.warning}\n`, failed: true }
    case 'unchanged': {
      const { commit, warning } = outcome
      const text = `${warning && `${warning}\n`}Nothing to do: the schedules stand at ${commit.slice(0, 12)}.\n`
      return { data: { kind, commit, warning }, text, failed: false }
    }
    case 'synced': {
      const { commit, warning, changes } = outcome
      const { faults, warnings } = shownFindings(changes.plan.findings)
      const head = `${warning && `${warning}\n`}${findingText(changes.plan.findings)}`
      return {
        data: { kind, commit, warning, changes: changeRows(changes), unchanged: changes.unchanged, faults, warnings },
        text: `${head}${changeText(changes)}The schedules stand at ${commit.slice(0, 12)}.\n`,
        failed: faults.length > 0,
      }
    }
  }
}

function exportAll(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'export',
      summary: 'print the schedules that no file made as a file that reads back to the same',
      details:
        'Values of variables are never printed: a comment names those that are to be filled in. To hand a schedule over ' +
        'to a file, merge the file and delete the schedule: the next sync brings it back with its slug and its runs.',
      examples: ['yardmaster schedules export', 'yardmaster schedules export --workspace 4f1c9e2ab0d37c58'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => exportSchedules(ctx))
      const yaml = writeScheduleFile(all)
      print({ schedules: all.map((one) => one.slug), yaml }, yaml)
      return undefined
    },
  ).option(...WORKSPACE)
}
