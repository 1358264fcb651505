// What a git host tells of a repository, in our words. Its messages are read with care: fields may be missing, and none of
// their texts is believed to be more than a text.
import { sessionOfBranch } from './agent-session.ts'
import { clean, field } from './foreign-json.ts'
import { repositoryOf } from './repository-address.ts'

export const GIT_PROVIDERS = ['github', 'gitlab'] as const
export type GitProvider = (typeof GIT_PROVIDERS)[number]

/** Where their interfaces are, unless the integration names another place. */
export const GIT_APIS: Readonly<Record<GitProvider, string>> = {
  github: 'https://api.github.com',
  gitlab: 'https://gitlab.com/api/v4',
}

export interface PullRequest {
  readonly provider: GitProvider
  /** As `repositoryOf` writes it. */
  readonly repository: string
  readonly number: number
  readonly title: string
  readonly url: string
  readonly author: string
  readonly headCommit: string
  readonly headBranch: string
  readonly baseBranch: string
  /** The change comes from another repository, whose people are not ours. */
  readonly isFork: boolean
}

export type GitEvent =
  /** Opened, reopened, or new commits. */
  | { readonly kind: 'open'; readonly pull: PullRequest }
  | { readonly kind: 'closed'; readonly pull: PullRequest }
  | { readonly kind: 'merged'; readonly pull: PullRequest }
  | { readonly kind: 'pushed'; readonly repository: string; readonly branch: string }
  /** Nothing that concerns us. */
  | { readonly kind: 'other' }

const OTHER: GitEvent = { kind: 'other' }
const LONGEST = 500
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/

const text = (value: unknown, ...path: readonly string[]): string => clean(path.reduce(field, value), LONGEST)

const INT_MAX = 2 ** 31 - 1

function numberAt(value: unknown, ...path: readonly string[]): number | null {
  const found = path.reduce(field, value)
  return typeof found === 'number' && Number.isInteger(found) && found > 0 && found <= INT_MAX ? found : null
}

/** Null when something that we need is missing. */
function complete(pull: Omit<PullRequest, 'number'> & { readonly number: number | null }): PullRequest | null {
  const { number, repository, headCommit, headBranch, baseBranch } = pull
  if (number === null || repository === '' || headBranch === '' || baseBranch === '') return null
  return COMMIT.test(headCommit) ? { ...pull, number } : null
}

const asEvent = (kind: 'open' | 'closed' | 'merged', pull: PullRequest | null): GitEvent =>
  pull === null ? OTHER : { kind, pull }

/** A hook of GitHub: the name of its event, and its body. */
export function readGithubHook(event: string, body: unknown): GitEvent {
  const repository = repositoryOf(text(body, 'repository', 'clone_url'))
  if (event === 'push') return pushed(repository, text(body, 'ref'))
  if (event !== 'pull_request') return OTHER
  const pull = readGithubPull(field(body, 'pull_request'), repository)
  switch (text(body, 'action')) {
    case 'opened':
    case 'reopened':
    case 'synchronize':
      return asEvent('open', pull)
    case 'closed':
      return asEvent(field(field(body, 'pull_request'), 'merged') === true ? 'merged' : 'closed', pull)
    default:
      return OTHER
  }
}

/** As it stands in hooks and in lists. */
export function readGithubPull(pull: unknown, repository: string): PullRequest | null {
  const [head, base] = [numberAt(pull, 'head', 'repo', 'id'), numberAt(pull, 'base', 'repo', 'id')]
  return complete({
    provider: 'github',
    repository,
    number: numberAt(pull, 'number'),
    title: text(pull, 'title'),
    url: text(pull, 'html_url'),
    author: text(pull, 'user', 'login'),
    headCommit: text(pull, 'head', 'sha'),
    headBranch: text(pull, 'head', 'ref'),
    baseBranch: text(pull, 'base', 'ref'),
    // A fork that was deleted has no repository any more: it is one all the same.
    isFork: head === null || head !== base,
  })
}

/** A hook of GitLab. */
export function readGitlabHook(body: unknown): GitEvent {
  const repository = repositoryOf(text(body, 'project', 'git_http_url'))
  const kind = text(body, 'object_kind')
  if (kind === 'push') return pushed(repository, text(body, 'ref'))
  if (kind !== 'merge_request') return OTHER
  const merge = field(body, 'object_attributes')
  const pull = complete({
    provider: 'gitlab',
    repository,
    number: numberAt(merge, 'iid'),
    title: text(merge, 'title'),
    url: text(merge, 'url'),
    author: text(body, 'user', 'username'),
    headCommit: text(merge, 'last_commit', 'id'),
    headBranch: text(merge, 'source_branch'),
    baseBranch: text(merge, 'target_branch'),
    isFork: numberAt(merge, 'source_project_id') !== numberAt(merge, 'target_project_id'),
  })
  switch (text(merge, 'action')) {
    case 'open':
    case 'reopen':
      return asEvent('open', pull)
    case 'update':
      // Only new commits have the one before them; a changed title has not.
      return text(merge, 'oldrev') === '' ? OTHER : asEvent('open', pull)
    case 'merge':
      return asEvent('merged', pull)
    case 'close':
      return asEvent('closed', pull)
    default:
      return OTHER
  }
}

/** As GitLab lists merge requests. */
export function readGitlabMerge(merge: unknown, repository: string): PullRequest | null {
  return complete({
    provider: 'gitlab',
    repository,
    number: numberAt(merge, 'iid'),
    title: text(merge, 'title'),
    url: text(merge, 'web_url'),
    author: text(merge, 'author', 'username'),
    headCommit: text(merge, 'sha'),
    headBranch: text(merge, 'source_branch'),
    baseBranch: text(merge, 'target_branch'),
    isFork: numberAt(merge, 'source_project_id') !== numberAt(merge, 'target_project_id'),
  })
}

function pushed(repository: string, ref: string): GitEvent {
  const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1]
  return branch === undefined || repository === '' ? OTHER : { kind: 'pushed', repository, branch }
}

/**
 * Whether a person must have seen a commit before it runs: a run has the secrets of its environment, and what it executes
 * comes from somebody else's repository, or was written by a model.
 */
export const needsWord = ({ isFork, headBranch }: Pick<PullRequest, 'isFork' | 'headBranch'>): boolean =>
  isFork || sessionOfBranch(headBranch) !== null

/** What a run of it checks out: a fork's branch is not in our repository, its commit can be fetched. */
export const branchOfPull = ({ isFork, headBranch, headCommit }: PullRequest): string =>
  isFork ? headCommit : headBranch
