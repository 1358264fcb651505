// Messages of git hosts in their documented forms, cut down to what a receiver reads, and signed as they sign.
import { createHmac, randomUUID } from 'node:crypto'
import type { GitProvider, PullRequest } from '../../src/domain/pull-request.ts'
import { readGithubPull } from '../../src/domain/pull-request.ts'

export const HOOK_SECRET = 'a-secret-that-hooks-are-signed-with'

export interface TestPull {
  readonly number?: number
  readonly commit?: string
  readonly branch?: string
  readonly base?: string
  readonly isFork?: boolean
  readonly repository?: string
}

const commitOf = (pull: TestPull): string => pull.commit ?? 'a'.repeat(40)

export function githubPull(pull: TestPull = {}): Record<string, unknown> {
  const number = pull.number ?? 7
  return {
    number,
    state: 'open',
    merged_at: null,
    title: 'Add amounts',
    html_url: `https://github.com/acme/shop/pull/${number}`,
    user: { login: 'ana' },
    head: { sha: commitOf(pull), ref: pull.branch ?? 'feature', repo: { id: pull.isFork ? 99 : 1 } },
    base: { ref: pull.base ?? 'main', repo: { id: 1 } },
  }
}

export const githubHook = (action: string, pull: TestPull = {}, merged = false): object => ({
  action,
  number: pull.number ?? 7,
  pull_request: { ...githubPull(pull), merged },
  repository: { clone_url: pull.repository ?? 'https://github.com/acme/shop.git' },
})

export function gitlabMerge(pull: TestPull = {}): Record<string, unknown> {
  const number = pull.number ?? 7
  return {
    iid: number,
    state: 'opened',
    merged_at: null,
    title: 'Add amounts',
    web_url: `https://gitlab.com/acme/shop/-/merge_requests/${number}`,
    author: { username: 'ana' },
    sha: commitOf(pull),
    source_branch: pull.branch ?? 'feature',
    target_branch: pull.base ?? 'main',
    source_project_id: pull.isFork ? 99 : 1,
    target_project_id: 1,
  }
}

export const gitlabHook = (action: string, pull: TestPull = {}, more: object = {}): object => ({
  object_kind: 'merge_request',
  user: { username: 'ana' },
  project: { git_http_url: pull.repository ?? 'https://gitlab.com/acme/shop.git' },
  object_attributes: {
    ...gitlabMerge(pull),
    url: `https://gitlab.com/acme/shop/-/merge_requests/${pull.number ?? 7}`,
    last_commit: { id: commitOf(pull) },
    action,
    ...more,
  },
})

export interface SignedHook {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export function signHook(
  provider: GitProvider,
  message: object,
  { secret = HOOK_SECRET, id = randomUUID() as string, event = 'pull_request' } = {},
): SignedHook {
  const body = Buffer.from(JSON.stringify(message))
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  return provider === 'github'
    ? { body, headers: { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': signature } }
    : { body, headers: { 'x-gitlab-event': 'Merge Request Hook', 'x-gitlab-token': secret, 'idempotency-key': id } }
}

/** A fork's, which waits to be allowed. */
export const TEST_PULL: PullRequest = readGithubPull(githubPull({ isFork: true }), 'github.com/acme/shop')!
