// GitLab's REST interface: the status of a commit, and one note on a merge request, found again by its marker.
import type { CommitStatus, PullComment, StatusState } from '../../domain/messages/pull-request.ts'
import { GIT_APIS } from '../../domain/pull-request.ts'
import type { Channel, Outgoing, SendResult } from '../../ports/channel.ts'
import type { ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, delivered, Ended, openApi, secretOf, settled } from './api.ts'
import { type Comments, commentIdOf, earlierComment, keepComment } from './pull-comment.ts'

const STATES: Readonly<Record<StatusState, string>> = {
  pending: 'pending',
  running: 'running',
  success: 'success',
  failure: 'failed',
  canceled: 'canceled',
}
const LONGEST_DESCRIPTION = 255
const PAGE = 100
const MOST_PAGES = 10

export function gitlabChannel(deps: ChannelDeps): Channel {
  return { kind: 'gitlab', send: (out, signal) => settled(() => send(deps, out, signal)) }
}

async function send(deps: ChannelDeps, out: Outgoing, signal: AbortSignal): Promise<SendResult> {
  const api = openApi(deps, out, signal)
  const base = apiBase(out, GIT_APIS.gitlab)
  const headers = { 'private-token': secretOf(out, 'token', 'GitLab') }
  const call = (method: 'GET' | 'POST' | 'PUT', path: string, json?: object, expect?: readonly number[]) =>
    api.call({ method, url: base + path, headers, ...(json !== undefined && { json }) }, expect)

  if (out.event === 'status') {
    const { path, commit, context, state, description, url } = out.body as CommitStatus
    const answer = await call(
      'POST',
      `/projects/${encodeURIComponent(path)}/statuses/${commit}`,
      { state: STATES[state], name: context, description: description.slice(0, LONGEST_DESCRIPTION), target_url: url },
      [400],
    )
    // The state that it has already is refused: an earlier try wrote it.
    if (answer.status === 400 && !/cannot transition status/i.test(answer.text)) {
      throw new Ended({ kind: 'refused', status: 400, answer: answer.text })
    }
    return delivered(answer)
  }
  const { path, number, marker, text } = out.body as PullComment
  const notes = `/projects/${encodeURIComponent(path)}/merge_requests/${number}/notes`
  const comments: Comments = {
    list: async (page) => {
      if (page > MOST_PAGES) return []
      const found = await call('GET', `${notes}?per_page=${PAGE}&page=${page}&sort=asc&order_by=created_at`)
      return Array.isArray(found.json) ? found.json : []
    },
    create: (body): Promise<ApiAnswer> => call('POST', notes, { body }),
    change: (id, body): Promise<ApiAnswer> => call('PUT', `${notes}/${encodeURIComponent(id)}`, { body }, [404]),
  }
  const kept = await keepComment(comments, { known: earlierComment(out), marker, text })
  return delivered(kept.answer, { comment: kept.id ?? commentIdOf(kept.answer.json) })
}
