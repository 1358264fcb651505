// Pull and merge requests at the git host of an environment's repository, by the token of the workspace's integration.
import type { App } from '../../app/context.ts'
import { readJson } from '../../domain/foreign-json.ts'
import {
  GIT_APIS,
  GIT_PROVIDERS,
  type GitProvider,
  type PullRequest,
  readGithubPull,
  readGitlabMerge,
} from '../../domain/pull-request.ts'
import { pathOfRepository, repositoryOf } from '../../domain/repository-address.ts'
import { type OutgoingAnswer, OutgoingFault, type OutgoingHttp } from '../../ports/outgoing-http.ts'
import * as integrations from '../../store/integrations.ts'

/** What the host said, in words for the model; never the token. */
export class GitHostFault extends Error {
  override readonly name = 'GitHostFault'
}

export interface NewPullRequest {
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly isDraft: boolean
}

export interface GitHost {
  readonly provider: GitProvider
  listOpen(signal: AbortSignal): Promise<PullRequest[]>
  /** The open one of the branch is given, where there is one. */
  open(pull: NewPullRequest, signal: AbortSignal): Promise<PullRequest>
}

const LARGEST_ANSWER = 4 * 1024 * 1024
const PAGE = 50

/** Null where no integration with a token fits the repository: then the pushed branch is all there is. */
export async function gitHostOf(
  { app, http }: { readonly app: App; readonly http: OutgoingHttp },
  workspaceId: number,
  repositoryUrl: string,
): Promise<GitHost | null> {
  const repository = repositoryOf(repositoryUrl)
  const path = pathOfRepository(repository)
  if (path === null || repository.startsWith('/')) return null
  for (const provider of GIT_PROVIDERS) {
    const found = await integrations.findByName(app.db, workspaceId, provider)
    if (found === null) continue
    const apiUrl = (found.settings.apiUrl ?? GIT_APIS[provider]).replace(/\/+$/, '')
    // Another host's repository is another integration's: its token goes nowhere else.
    if (repository.slice(0, repository.indexOf('/')) !== hostOf(apiUrl)) continue
    const token = (await integrations.open(app.db, app.vault, workspaceId, found.id))?.secrets.token
    if (token === undefined) continue
    const of = { http, apiUrl, token, repository, path }
    return provider === 'github' ? github(of) : gitlab(of)
  }
  return null
}

function hostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl)
  return host === 'api.github.com' ? 'github.com' : host
}

interface Place {
  readonly http: OutgoingHttp
  readonly apiUrl: string
  readonly token: string
  readonly repository: string
  readonly path: string
}

function github({ http, apiUrl, token, repository, path }: Place): GitHost {
  const own = `${apiUrl}/repos/${path}/pulls`
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    'user-agent': 'yardmaster',
  }
  const call = caller(http, headers, token)
  const read = (found: unknown): PullRequest[] => listOf(found).flatMap((one) => readGithubPull(one, repository) ?? [])
  const owner = path.slice(0, path.indexOf('/'))
  return {
    provider: 'github',
    listOpen: async (signal) => read(await call('GET', `${own}?state=open&per_page=${PAGE}`, signal)),
    open: async (pull, signal) => {
      const head = encodeURIComponent(`${owner}:${pull.branch}`)
      const [there] = read(await call('GET', `${own}?state=open&head=${head}&per_page=${PAGE}`, signal)).filter(
        (one) => one.headBranch === pull.branch && !one.isFork,
      )
      if (there !== undefined) return there
      const made = await call('POST', own, signal, {
        title: pull.title,
        body: pull.body,
        head: pull.branch,
        base: pull.base,
        draft: pull.isDraft,
      })
      return whole(readGithubPull(made, repository))
    },
  }
}

function gitlab({ http, apiUrl, token, repository, path }: Place): GitHost {
  const own = `${apiUrl}/projects/${encodeURIComponent(path)}/merge_requests`
  const call = caller(http, { 'private-token': token }, token)
  const read = (found: unknown): PullRequest[] => listOf(found).flatMap((one) => readGitlabMerge(one, repository) ?? [])
  return {
    provider: 'gitlab',
    listOpen: async (signal) => read(await call('GET', `${own}?state=opened&per_page=${PAGE}`, signal)),
    open: async (pull, signal) => {
      const source = encodeURIComponent(pull.branch)
      const [there] = read(await call('GET', `${own}?state=opened&source_branch=${source}`, signal)).filter(
        (one) => one.headBranch === pull.branch && !one.isFork,
      )
      if (there !== undefined) return there
      const made = await call('POST', own, signal, {
        title: pull.isDraft ? `Draft: ${pull.title}` : pull.title,
        description: pull.body,
        source_branch: pull.branch,
        target_branch: pull.base,
      })
      return whole(readGitlabMerge(made, repository))
    },
  }
}

const listOf = (found: unknown): readonly unknown[] => (Array.isArray(found) ? found : [])

function whole(pull: PullRequest | null): PullRequest {
  if (pull === null) throw new GitHostFault('The git host took it, and its answer could not be read.')
  return pull
}

type Call = (method: 'GET' | 'POST', url: string, signal: AbortSignal, json?: object) => Promise<unknown>

const caller =
  (http: OutgoingHttp, headers: Readonly<Record<string, string>>, token: string): Call =>
  async (method, url, signal, json) => {
    let answer: OutgoingAnswer
    try {
      answer = await http.call(
        {
          method,
          url,
          headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
          ...(json !== undefined && { body: JSON.stringify(json) }),
          largestAnswer: LARGEST_ANSWER,
        },
        signal,
      )
    } catch (error) {
      if (error instanceof OutgoingFault) throw new GitHostFault(`The git host: ${error.message}`, { cause: error })
      throw error
    }
    if (answer.status < 200 || answer.status > 299) {
      const text = answer.body.replaceAll(token, '***').slice(0, 500)
      throw new GitHostFault(`The git host answered ${answer.status}: ${text}`)
    }
    return readJson(answer.body)
  }
