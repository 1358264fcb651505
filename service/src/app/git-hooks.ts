// Inbound hooks of git hosts. The workspace's secret is all that they are known by: whatever is wrong with it, the answer is
// the same. A hook that came before is refused, so that nobody runs something again by sending an old message.
import type { HookHeaders } from '../domain/hook-signature.ts'
import { hookId, isSigned } from '../domain/hook-signature.ts'
import { type GitEvent, type GitProvider, readGithubHook, readGitlabHook } from '../domain/pull-request.ts'
import * as integrations from '../store/integrations.ts'
import * as pulls from '../store/pull-requests.ts'
import * as workspaces from '../store/workspaces.ts'
import type { App } from './context.ts'
import { systemContext } from './context.ts'
import { mutate } from './mutate.ts'
import { takeGitEvent } from './pull-requests.ts'

export interface InboundHook {
  readonly provider: GitProvider
  readonly workspaceUid: string
  readonly headers: HookHeaders
  readonly body: Buffer
}

export interface HookAnswer {
  readonly status: 200 | 400 | 401 | 409
  readonly message: string
  readonly runIds: readonly number[]
}

export interface PushedBranch {
  readonly workspaceId: number
  readonly repository: string
  readonly branch: string
}

const answer = (status: HookAnswer['status'], message: string, runIds: readonly number[] = []): HookAnswer => ({
  status,
  message,
  runIds,
})

const UNKNOWN = answer(401, 'No workspace takes hooks here with this secret.')

/** @param onPushed after the hook was taken, for whoever reads files of that branch; never waited for */
export async function takeHook(
  app: App,
  hook: InboundHook,
  onPushed: (pushed: PushedBranch) => void,
): Promise<HookAnswer> {
  const { provider, headers, body } = hook
  const workspace = await workspaces.findByUid(app.db, hook.workspaceUid)
  const found = workspace && (await integrations.findByName(app.db, workspace.id, provider))
  const opened = found && (await integrations.open(app.db, app.vault, workspace.id, found.id))
  if (!isSigned(provider, opened?.secrets.webhookSecret ?? '', headers, body) || !workspace) return UNKNOWN
  const id = hookId(provider, headers)
  if (id === null) return answer(400, 'The hook says no id of its own, so a repetition could not be told.')
  let json: unknown
  try {
    json = JSON.parse(body.toString())
  } catch {
    return answer(400, 'The body is no JSON: choose application/json as the content type of the hook.')
  }
  const event: GitEvent =
    provider === 'github' ? readGithubHook(headers['x-github-event'] ?? '', json) : readGitlabHook(json)
  const ctx = systemContext(app, 'git hook', workspace)
  const taken = await mutate(ctx, async (unit) => {
    if (!(await pulls.takeHook(unit.db, workspace.id, provider, id))) return null
    return await takeGitEvent(unit, workspace, event)
  })
  if (taken === null) return answer(409, 'This hook was taken before.')
  if (event.kind === 'pushed')
    onPushed({ workspaceId: workspace.id, repository: event.repository, branch: event.branch })
  if (event.kind === 'merged') {
    const { repository, baseBranch } = event.pull
    onPushed({ workspaceId: workspace.id, repository, branch: baseBranch })
  }
  const words = taken.length === 0 ? 'Taken; nothing is to be run.' : `Taken; ${taken.length} runs started.`
  return answer(200, words, taken)
}
