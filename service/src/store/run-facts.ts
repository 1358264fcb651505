// Everything that executing a run needs to know, read once when it begins.
import { sql } from 'kysely'
import type { Deferral } from '../domain/schedule.ts'
import type { CommandRow } from './commands.ts'
import * as commands from './commands.ts'
import type { Db } from './database.ts'
import * as environments from './environments.ts'
import * as secrets from './secrets.ts'
import type { Vault } from './vault.ts'

export interface RunFacts {
  readonly runId: number
  readonly attempt: number
  readonly workspaceId: number
  readonly workspaceUid: string
  readonly scheduleId: number
  readonly scheduleSlug: string
  readonly scheduleName: string
  readonly environmentId: number
  readonly environmentActive: boolean
  readonly repositoryUrl: string
  readonly installStep: string | null
  readonly pythonPackages: readonly string[]
  readonly excludedFiles: readonly string[] | null
  readonly branch: string
  /** Exactly this one, whatever the branch has come to; null is the branch's head. */
  readonly wantedCommit: string | null
  readonly prNumber: number | null
  readonly actor: string
  readonly reason: string
  readonly timeLimitSeconds: number | null
  readonly stopSeconds: number
  readonly turboCi: Deferral | null
  readonly deferredSchedule: Deferral | null
  readonly retryOf: number | null
  readonly commands: readonly CommandRow[]
}

export async function readFacts(db: Db, runId: number): Promise<RunFacts> {
  const { rows } = await sql<Omit<RunFacts, 'commands'>>`/* run_facts */ select r.id as "runId", r.attempt,
      r.workspace_id as "workspaceId", w.uid as "workspaceUid", r.schedule_id as "scheduleId",
      s.slug as "scheduleSlug", s.name as "scheduleName", r.environment_id as "environmentId",
      e.archived_at is null as "environmentActive", e.repository_url as "repositoryUrl",
      e.install_step as "installStep", e.python_packages as "pythonPackages", e.excluded_files as "excludedFiles",
      r.branch, r.wanted_commit as "wantedCommit", r.pr_number as "prNumber", r.actor, r.reason, r.time_limit_seconds as "timeLimitSeconds",
      e.stop_seconds as "stopSeconds", s.turbo_ci as "turboCi", s.deferred_schedule as "deferredSchedule",
      r.retry_of as "retryOf"
    from run r join workspace w on w.id = r.workspace_id join schedule s on s.id = r.schedule_id
      join environment e on e.id = r.environment_id
    where r.id = ${runId}`.execute(db)
  const facts = rows[0]!
  return { ...facts, commands: await commands.listOfRun(db, facts.workspaceId, runId) }
}

/** Variables, secrets and credentials of a run, opened: they live in memory for its time only. */
export interface RunValues {
  readonly workspace: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string>>
  readonly credentials: { readonly username?: string; readonly token?: string; readonly ssh_key?: string }
  readonly files: readonly { readonly name: string; readonly content: string }[]
  /** Everything that must not be readable in output. */
  readonly secrets: readonly string[]
}

export async function openValues(
  db: Db,
  vault: Vault,
  of: { readonly workspaceId: number; readonly environmentId: number },
): Promise<RunValues> {
  const [plain, sealed] = await Promise.all([
    environments.listVariables(db, of.workspaceId),
    secrets.openAll(db, vault, of.workspaceId, of.environmentId),
  ])
  const layer = (environmentId: number | null): Record<string, string> =>
    Object.fromEntries([
      ...plain.filter((one) => one.environmentId === environmentId).map((one) => [one.name, one.value]),
      ...sealed
        .filter((one) => one.environmentId === environmentId && one.kind === 'variable')
        .map((one) => [one.name, one.value]),
    ])
  // The environment's come after the workspace's and win.
  const named = (kind: string): Map<string, string> =>
    new Map(sealed.filter((one) => one.kind === kind).map((one) => [one.name, one.value]))
  return {
    workspace: layer(null),
    environment: layer(of.environmentId),
    credentials: Object.fromEntries(named('credential')),
    files: [...named('file')].map(([name, content]) => ({ name, content })),
    secrets: sealed.map((one) => one.value),
  }
}
