import type { Context } from '../../../app/context.ts'
import * as pulls from '../../../app/pull-requests.ts'
import { presentPullRequest } from '../present/pull-request.ts'
import type { AllowedPullRequest, MutationAllowPullRequestArgs, PullRequests } from '../wire-types.ts'

export const pullRequestResolvers = {
  async listPullRequests(ctx: Context): Promise<PullRequests> {
    return { ok: true, pullRequests: (await pulls.listPullRequests(ctx)).map(presentPullRequest) }
  },
  async allowPullRequest(ctx: Context, args: MutationAllowPullRequestArgs): Promise<AllowedPullRequest> {
    return { ok: true, ...(await pulls.allowPullRequest(ctx, args)) }
  },
}
