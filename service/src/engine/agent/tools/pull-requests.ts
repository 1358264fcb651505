// Pull and merge requests of the session's own branch. A repetition finds the one that is open. A person merges it.
import { mutate } from '../../../app/mutate.ts'
import { branchPrefixOf } from '../../../domain/agent-session.ts'
import { findAgentPlace } from '../../../store/agent-place.ts'
import * as sessions from '../../../store/agent-sessions.ts'
import type { GitHost } from '../git-host.ts'
import { GitHostFault, gitHostOf } from '../git-host.ts'
import type { ToolDeps } from './deps.ts'
import { serviceTool, textOf, withoutSecrets } from './rights.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import { refused, said } from './tool.ts'

type Deps = Pick<ToolDeps, 'app' | 'http'>

const NO_HOST = 'No git host is set up for this repository: the pushed branch is the result.'
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/

export const pullRequestTools = (deps: Deps): Tool[] => [
  serviceTool('open_pull_request', {
    description:
      "Opens a pull request (merge request) from the session's pushed branch to the branch that the session began from. When there is an open one of the branch already, that one is given.",
    input: {
      type: 'object',
      properties: {
        title: { type: 'string', minLength: 1, maxLength: 200 },
        body: { type: 'string', maxLength: 20_000 },
        draft: { type: 'boolean' },
      },
      required: ['title'],
      additionalProperties: false,
    },
    run: (of, input) => asked(async () => await open(deps, of, input)),
  }),
  serviceTool('list_pull_requests', {
    description: 'Lists the open pull requests (merge requests) of the repository.',
    input: { type: 'object', properties: {}, required: [], additionalProperties: false },
    run: (of) =>
      asked(async () => {
        const host = await hostOf(deps, of)
        if (host === null) return said(NO_HOST)
        const found = await host.listOpen(of.signal)
        if (found.length === 0) return said('There are no open pull requests.')
        const lines = found.map(({ number, title, url, author, headBranch, baseBranch }) =>
          JSON.stringify({ number, title, url, author, branch: headBranch, base: baseBranch }),
        )
        return said(lines.join('\n'))
      }),
  }),
]

async function open(deps: Deps, of: ToolContext, input: Record<string, unknown>): Promise<ToolResult> {
  const now = await sessions.find(of.caller.db, of.session.workspaceId, of.session.id)
  const branch = now?.branch ?? ''
  if (branch === '') return refused('Nothing was pushed yet: commit and push first.')
  if (!branch.startsWith(branchPrefixOf(of.session.id)))
    return refused('Only branches of this session have pull requests.')
  const host = await hostOf(deps, of)
  if (host === null) return said(`${NO_HOST} Branch: ${branch}`)
  const base = await baseOf(of)
  const footer = `\n\nWritten by the agent ${of.session.agent}, session ${of.session.id}. Read it before you merge it.`
  const pull = await host.open(
    {
      branch,
      base,
      title: withoutSecrets(of, String(input.title).replace(/\s+/g, ' ').trim()),
      body: withoutSecrets(of, `${textOf(input, 'body') ?? ''}${footer}`),
      isDraft: input.draft === true,
    },
    of.signal,
  )
  await mutate({ ...of.caller, idempotency: null }, (unit) =>
    sessions.setPullRequest(unit.db, of.session.workspaceId, of.session.id, pull.url),
  )
  return said(`Pull request ${pull.number} is open: ${pull.url}`)
}

/** A session that began from a commit goes back to the default branch. */
async function baseOf({ session, caller }: ToolContext): Promise<string> {
  if (!COMMIT.test(session.baseBranch)) return session.baseBranch
  return (await findAgentPlace(caller.db, session.workspaceId, session.environmentId))?.defaultBranch ?? 'main'
}

async function hostOf(deps: Deps, { session, caller }: ToolContext): Promise<GitHost | null> {
  const place = await findAgentPlace(caller.db, session.workspaceId, session.environmentId)
  return place === null ? null : await gitHostOf(deps, session.workspaceId, place.repositoryUrl)
}

async function asked(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof GitHostFault) return refused(error.message)
    throw error
  }
}
