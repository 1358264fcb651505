// Which repositories are looked at for pull requests: those of schedules that take part, or that wait for the end of one
// that mends them, where the workspace's integration says that it polls and has a token.
import { sql } from 'kysely'
import type { WorkspaceRef } from '../domain/actor.ts'
import { GIT_APIS, type GitProvider } from '../domain/pull-request.ts'
import { repositoryOf } from '../domain/repository-address.ts'
import type { Db } from './database.ts'
import * as integrations from './integrations.ts'
import type { Vault } from './vault.ts'

export interface PolledRepository {
  readonly workspace: WorkspaceRef
  readonly provider: GitProvider
  readonly apiUrl: string
  readonly token: string
  readonly repository: string
  /** Numbers of the pull requests that are known as open. */
  readonly known: ReadonlySet<number>
  /** Since when the integration is there: what was merged before is over. */
  readonly since: Date
}

interface Row {
  readonly integrationId: number
  readonly kind: GitProvider
  readonly workspaceId: number
  readonly uid: string
  readonly name: string
  readonly agents: boolean
  readonly since: Date
  readonly urls: readonly string[]
}

export async function listPolled(db: Db, vault: Vault): Promise<PolledRepository[]> {
  const { rows } = await sql<Row>`/* pull_request_polled */ select i.id as "integrationId", i.kind,
      w.id as "workspaceId", w.uid, w.name, w.agents, i.created_at as since, array(
        select distinct e.repository_url from schedule s join environment e on e.id = s.environment_id
        where s.workspace_id = w.id and s.deleted_at is null and not s.suspended and e.archived_at is null
          and (s.trigger_on_merge or coalesce((s.turbo_ci ->> 'enabled')::boolean, false)
            or exists (select 1 from healing_request h where h.schedule_id = s.id and h.state = 'proposed'
              and h.pull_request <> ''))) as urls
    from integration i join workspace w on w.id = i.workspace_id and w.archived_at is null
    where i.kind in ('github', 'gitlab') and i.removed_at is null and i.settings ->> 'poll' = 'yes'
      and (select scheduling from account limit 1)
    order by i.id`.execute(db)
  const polled: PolledRepository[] = []
  for (const row of rows) {
    const opened = await integrations.open(db, vault, row.workspaceId, row.integrationId)
    const token = opened?.secrets.token
    if (opened === null || token === undefined) continue
    const apiUrl = (opened.settings.apiUrl ?? GIT_APIS[row.kind]).replace(/\/+$/, '')
    const workspace = { id: row.workspaceId, uid: row.uid, name: row.name, agents: row.agents }
    for (const repository of new Set(row.urls.map(repositoryOf))) {
      // Another host's repository is another integration's.
      if (repository.slice(0, repository.indexOf('/')) !== hostOf(apiUrl)) continue
      const known = await listOpen(db, row.workspaceId, repository)
      polled.push({ workspace, provider: row.kind, apiUrl, token, repository, known, since: row.since })
    }
  }
  return polled
}

function hostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl)
  return host === 'api.github.com' ? 'github.com' : host
}

async function listOpen(db: Db, workspaceId: number, repository: string): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ number: number }>`/* pull_request_open */ select number from pull_request
    where workspace_id = ${workspaceId} and repository = ${repository} and state = 'open'`.execute(db)
  return new Set(rows.map((row) => row.number))
}
