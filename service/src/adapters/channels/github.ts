// GitHub's REST interface: a status on a commit, and one comment on a pull request, found again by its marker. A status of
// the same context takes the place of the one before it; a comment whose answer was lost is found, so neither doubles.
import type { CommitStatus, PullComment, StatusState } from '../../domain/messages/pull-request.ts'
import { GIT_APIS } from '../../domain/pull-request.ts'
import type { Channel, Outgoing, SendResult } from '../../ports/channel.ts'
import type { ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, delivered, openApi, secretOf, settled } from './api.ts'
import { type Comments, commentIdOf, earlierComment, keepComment } from './pull-comment.ts'

const STATES: Readonly<Record<StatusState, string>> = {
  pending: 'pending',
  running: 'pending',
  success: 'success',
  failure: 'failure',
  canceled: 'error',
}
/** What GitHub takes. */
const LONGEST_DESCRIPTION = 140
const PAGE = 100
const MOST_PAGES = 10

export function githubChannel(deps: ChannelDeps): Channel {
  return { kind: 'github', send: (out, signal) => settled(() => send(deps, out, signal)) }
}

async function send(deps: ChannelDeps, out: Outgoing, signal: AbortSignal): Promise<SendResult> {
  const api = openApi(deps, out, signal)
  const base = apiBase(out, GIT_APIS.github)
  const headers = {
    authorization: `Bearer ${secretOf(out, 'token', 'GitHub')}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    'user-agent': 'yardmaster',
  }
  const call = (method: 'GET' | 'POST' | 'PATCH', path: string, json?: object, expect?: readonly number[]) =>
    api.call({ method, url: base + path, headers, ...(json !== undefined && { json }) }, expect)

  if (out.event === 'status') {
    const { path, commit, context, state, description, url } = out.body as CommitStatus
    const answer = await call('POST', `/repos/${path}/statuses/${commit}`, {
      state: STATES[state],
      context,
      description: description.slice(0, LONGEST_DESCRIPTION),
      target_url: url,
    })
    return delivered(answer)
  }
  const { path, number, marker, text } = out.body as PullComment
  const comments: Comments = {
    list: async (page) => {
      if (page > MOST_PAGES) return []
      const found = await call('GET', `/repos/${path}/issues/${number}/comments?per_page=${PAGE}&page=${page}`)
      return Array.isArray(found.json) ? found.json : []
    },
    create: (body): Promise<ApiAnswer> => call('POST', `/repos/${path}/issues/${number}/comments`, { body }),
    change: (id, body): Promise<ApiAnswer> =>
      call('PATCH', `/repos/${path}/issues/comments/${encodeURIComponent(id)}`, { body }, [404]),
  }
  const kept = await keepComment(comments, { known: earlierComment(out), marker, text })
  return delivered(kept.answer, { comment: kept.id ?? commentIdOf(kept.answer.json) })
}
