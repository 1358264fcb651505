// Pull requests without hooks: a look at the host every minute, for a service that cannot be reached from outside. What it
// sees goes the same way as a hook, so both together start nothing twice.
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { mutate } from '../app/mutate.ts'
import { takeGitEvent } from '../app/pull-requests.ts'
import { field } from '../domain/foreign-json.ts'
import { type GitEvent, type GitProvider, readGithubPull, readGitlabMerge } from '../domain/pull-request.ts'
import { pathOfRepository } from '../domain/repository-address.ts'
import { OutgoingFault, type OutgoingHttp } from '../ports/outgoing-http.ts'
import * as polls from '../store/pull-request-polls.ts'
import type { Periodic } from './periodic.ts'

export interface PullRequestPollOptions {
  readonly http: OutgoingHttp
  readonly everyMs?: number
}

const EVERY_MS = 60_000
const CALL_MS = 15_000
const LARGEST_ANSWER = 4 * 1024 * 1024
const PAGE = 30

export function pullRequestPoll(app: App, { http, everyMs = EVERY_MS }: PullRequestPollOptions): Periodic {
  return {
    name: 'pull requests',
    everyMs,
    runOnce: async () => {
      for (const one of await polls.listPolled(app.db, app.vault)) {
        try {
          await look(app, http, one)
        } catch (error) {
          if (!(error instanceof OutgoingFault)) throw error
          app.log.warn(
            { workspace: one.workspace.uid, repository: one.repository, reason: error.message },
            'a git host could not be asked for pull requests; it will be tried again',
          )
        }
      }
    },
  }
}

async function look(app: App, http: OutgoingHttp, polled: polls.PolledRepository): Promise<void> {
  for (const one of await listPulls(http, polled)) {
    const event = eventOf(polled, one)
    if (event === null) continue
    await mutate(systemContext(app, 'pull requests', polled.workspace), (unit) =>
      takeGitEvent(unit, polled.workspace, event),
    )
  }
}

async function listPulls(http: OutgoingHttp, { provider, apiUrl, token, repository }: polls.PolledRepository) {
  const path = pathOfRepository(repository)!
  const url =
    provider === 'github'
      ? `${apiUrl}/repos/${path}/pulls?state=all&sort=updated&direction=desc&per_page=${PAGE}`
      : `${apiUrl}/projects/${encodeURIComponent(path)}/merge_requests?state=all&order_by=updated_at&sort=desc&per_page=${PAGE}`
  const headers: Record<string, string> =
    provider === 'github'
      ? {
          authorization: `Bearer ${token}`,
          accept: 'application/vnd.github+json',
          'x-github-api-version': '2022-11-28',
          'user-agent': 'yardmaster',
        }
      : { 'private-token': token }
  const answer = await http.call(
    { method: 'GET', url, headers, largestAnswer: LARGEST_ANSWER },
    AbortSignal.timeout(CALL_MS),
  )
  if (answer.status !== 200) throw new OutgoingFault(`${provider} answered ${answer.status}`)
  let found: unknown
  try {
    found = JSON.parse(answer.body)
  } catch {
    throw new OutgoingFault(`${provider} sent something that is no JSON, or more than ${LARGEST_ANSWER} bytes`)
  }
  // The oldest change first, as hooks would have come.
  return Array.isArray(found) ? found.toReversed() : []
}

/** Null for what was over before anybody looked. */
function eventOf(polled: polls.PolledRepository, one: unknown): GitEvent | null {
  const { provider, repository, known, since } = polled
  const pull = provider === 'github' ? readGithubPull(one, repository) : readGitlabMerge(one, repository)
  if (pull === null) return null
  const state = stateOf(provider, one)
  if (state === 'open') return { kind: 'open', pull }
  if (known.has(pull.number)) return { kind: state, pull }
  const mergedAt = Date.parse(String(field(one, 'merged_at') ?? ''))
  return state === 'merged' && mergedAt > since.getTime() ? { kind: 'merged', pull } : null
}

function stateOf(provider: GitProvider, one: unknown): 'open' | 'closed' | 'merged' {
  const state = field(one, 'state')
  if (state === 'open' || state === 'opened') return 'open'
  const merged = provider === 'github' ? typeof field(one, 'merged_at') === 'string' : state === 'merged'
  return merged ? 'merged' : 'closed'
}
