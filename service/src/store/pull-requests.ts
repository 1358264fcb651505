// Pull requests that somebody told of, and the hooks that told.
import { sql } from 'kysely'
import type { GitProvider, PullRequest } from '../domain/pull-request.ts'
import type { Db } from './database.ts'

export type PullState = 'open' | 'closed' | 'merged'

export interface StoredPull extends PullRequest {
  readonly id: number
  readonly workspaceId: number
  readonly state: PullState
  readonly allowedCommit: string
  readonly allowedBy: string
  /** As on the wire. */
  readonly updatedAt: string
}

const columns = sql`id, workspace_id as "workspaceId", provider, repository, number, title, url, author,
  head_commit as "headCommit", head_branch as "headBranch", base_branch as "baseBranch", is_fork as "isFork", state,
  allowed_commit as "allowedCommit", allowed_by as "allowedBy", wire_time(updated_at) as "updatedAt"`

/** False when the hook was taken before. */
export async function takeHook(
  tx: Db,
  workspaceId: number,
  provider: GitProvider | 'slack',
  id: string,
): Promise<boolean> {
  const done = await sql`/* git_hook_take */ insert into git_hook (workspace_id, provider, id)
    values (${workspaceId}, ${provider}, ${id}) on conflict do nothing`.execute(tx)
  return done.numAffectedRows === 1n
}

/** Old enough that no host sends one again. */
export async function forgetHooks(db: Db, days: number): Promise<void> {
  await sql`/* git_hook_forget */ delete from git_hook
    where received_at < clock_timestamp() - ${days}::integer * interval '1 day'`.execute(db)
}

/** Its row as it was; null when it is new. Two that tell of the same one stand in line, also while it has no row. */
export async function lock(tx: Db, workspaceId: number, pull: PullRequest): Promise<StoredPull | null> {
  const name = `pull request ${workspaceId} ${pull.repository} ${pull.number}`
  await sql`/* pull_request_line */ select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx)
  const { rows } = await sql<StoredPull>`/* pull_request_lock */ select ${columns} from pull_request
    where workspace_id = ${workspaceId} and repository = ${pull.repository} and number = ${pull.number}
    for update`.execute(tx)
  return rows[0] ?? null
}

/** Gives the row as it is now. A commit that was allowed stays so; another one was not. */
export async function save(tx: Db, workspaceId: number, pull: PullRequest, state: PullState): Promise<StoredPull> {
  const { rows } = await sql<StoredPull>`/* pull_request_save */ insert into pull_request (workspace_id, provider,
      repository, number, title, url, author, head_commit, head_branch, base_branch, is_fork, state)
    values (${workspaceId}, ${pull.provider}, ${pull.repository}, ${pull.number}, ${pull.title}, ${pull.url},
      ${pull.author}, ${pull.headCommit}, ${pull.headBranch}, ${pull.baseBranch}, ${pull.isFork}, ${state})
    on conflict (workspace_id, repository, number) do update set title = excluded.title, url = excluded.url,
      author = excluded.author, head_commit = excluded.head_commit, head_branch = excluded.head_branch,
      base_branch = excluded.base_branch, is_fork = excluded.is_fork, state = excluded.state,
      updated_at = clock_timestamp()
    returning ${columns}`.execute(tx)
  return rows[0]!
}

export async function allow(tx: Db, id: number, commit: string, by: string): Promise<void> {
  await sql`/* pull_request_allow */ update pull_request set allowed_commit = ${commit}, allowed_by = ${by},
      updated_at = clock_timestamp() where id = ${id}`.execute(tx)
}

/** Of the workspace, latest first. */
export async function list(db: Db, workspaceId: number, limit: number): Promise<StoredPull[]> {
  const { rows } = await sql<StoredPull>`/* pull_request_list */ select ${columns} from pull_request
    where workspace_id = ${workspaceId} order by updated_at desc, id desc limit ${limit}`.execute(db)
  return rows
}

export async function lockById(tx: Db, workspaceId: number, id: number): Promise<StoredPull | null> {
  const { rows } = await sql<StoredPull>`/* pull_request_lock_by_id */ select ${columns} from pull_request
    where workspace_id = ${workspaceId} and id = ${id} for update`.execute(tx)
  return rows[0] ?? null
}

/** Every pull request of this number: repositories of one workspace may each have one. */
export async function listByNumber(db: Db, workspaceId: number, number: number): Promise<StoredPull[]> {
  const { rows } = await sql<StoredPull>`/* pull_request_by_number */ select ${columns} from pull_request
    where workspace_id = ${workspaceId} and number = ${number} order by id`.execute(db)
  return rows
}

export interface Candidate {
  readonly scheduleId: number
  readonly repositoryUrl: string
  readonly branch: string
}

/** Schedules that take part: active, not suspended, while scheduling is on. By id, the order of locks. */
export async function listCandidates(db: Db, workspaceId: number, wanted: 'turbo ci' | 'merge'): Promise<Candidate[]> {
  const { rows } = await sql<Candidate>`/* pull_request_schedules */ select s.id as "scheduleId",
      e.repository_url as "repositoryUrl", coalesce(s.git_branch, e.deployment_branch, e.default_branch) as branch
    from schedule s join environment e on e.id = s.environment_id join workspace w on w.id = s.workspace_id
    where s.workspace_id = ${workspaceId} and s.deleted_at is null and not s.suspended and w.archived_at is null
      and e.archived_at is null and (select scheduling from account limit 1)
      and ${wanted === 'merge' ? sql`s.trigger_on_merge` : sql`coalesce((s.turbo_ci ->> 'enabled')::boolean, false)`}
    order by s.id`.execute(db)
  return rows
}

export interface PullRun {
  readonly runId: number
  readonly scheduleName: string
  readonly state: string
  readonly seconds: number | null
}

/** The latest run of each schedule for the pull request, of those that took this commit. */
export async function listRuns(
  db: Db,
  workspaceId: number,
  pull: { readonly number: number; readonly headCommit: string },
): Promise<PullRun[]> {
  const { rows } = await sql<PullRun>`/* pull_request_runs */ select distinct on (s.name, s.id) r.id as "runId",
      s.name as "scheduleName", r.state, extract(epoch from r.ended_at - r.accepted_at)::float8 as seconds
    from run r join schedule s on s.id = r.schedule_id
    where r.workspace_id = ${workspaceId} and r.pr_number = ${pull.number}
      and (r.commit_hash = ${pull.headCommit} or r.wanted_commit = ${pull.headCommit})
    order by s.name, s.id, r.id desc limit 50`.execute(db)
  return rows
}

export interface RunRepository {
  readonly repositoryUrl: string
  readonly scheduleName: string
}

export async function findRepository(db: Db, runId: number): Promise<RunRepository | null> {
  const { rows } = await sql<RunRepository>`/* pull_request_run_repository */ select
      e.repository_url as "repositoryUrl", s.name as "scheduleName"
    from run r join environment e on e.id = r.environment_id join schedule s on s.id = r.schedule_id
    where r.id = ${runId}`.execute(db)
  return rows[0] ?? null
}
