import type { StoredPull } from '../../../app/pull-requests.ts'
import { needsWord } from '../../../domain/pull-request.ts'
import type { PullRequestState, PullRequest as WirePullRequest } from '../wire-types.ts'

export const presentPullRequest = (one: StoredPull): WirePullRequest => {
  const isAllowed = one.allowedCommit === one.headCommit
  return {
    id: one.id,
    provider: one.provider,
    repository: one.repository,
    number: one.number,
    title: one.title,
    url: one.url,
    author: one.author,
    headCommit: one.headCommit,
    headBranch: one.headBranch,
    baseBranch: one.baseBranch,
    isFork: one.isFork,
    state: one.state.toUpperCase() as PullRequestState,
    waits: needsWord(one) && one.state === 'open' && !isAllowed,
    allowedBy: isAllowed ? one.allowedBy : '',
    updatedDttm: one.updatedAt,
  }
}
