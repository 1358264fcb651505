// GitLab's REST interface, as far as merge requests go: statuses of commits, notes, the list of merge requests.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface GitlabReceiver extends Receiver {
  readonly token: string
  readonly statuses: readonly { readonly commit: string; readonly state: string; readonly name: string }[]
  readonly notes: { readonly id: number; readonly number: number; body: string }[]
  /** What the list of merge requests answers. */
  merges: unknown[]
}

const TOKEN = 'glpat-test-token-of-a-project'
const PROJECT = '/projects/acme%2Fshop'
const status = z.strictObject({
  state: z.enum(['pending', 'running', 'success', 'failed', 'canceled', 'skipped']),
  name: z.string().min(1).max(255).optional(),
  description: z.string().max(255).optional(),
  target_url: z.url().max(255).optional(),
})
const note = z.strictObject({ body: z.string().min(1).max(1_000_000) })
const merge = z.strictObject({
  title: z.string().min(1).max(255),
  description: z.string().max(1_048_576).optional(),
  source_branch: z.string().min(1),
  target_branch: z.string().min(1),
})

const fault = (code: number, message: string): Answer => ({ status: code, json: { message } })

export async function gitlabReceiver(): Promise<GitlabReceiver> {
  const statuses: { commit: string; state: string; name: string }[] = []
  const notes: { id: number; number: number; body: string }[] = []

  const handle = (asked: Asked): Answer => {
    const { method, headers } = asked
    if (headers['private-token'] !== TOKEN) return fault(401, '401 Unauthorized')
    if (!asked.path.startsWith(`${PROJECT}/`)) return fault(404, '404 Project Not Found')
    const path = asked.path.slice(PROJECT.length)
    if (method === 'GET' && path === '/merge_requests') return { status: 200, json: sourced(asked) }
    if (method === 'POST' && path === '/merge_requests') return opened(asked)
    const [, commit] = /^\/statuses\/([0-9a-f]{40})$/.exec(path) ?? []
    if (method === 'POST' && commit !== undefined) return marked(asked, commit)
    const [, number, id] = /^\/merge_requests\/(\d+)\/notes(?:\/(\d+))?$/.exec(path) ?? []
    if (number === undefined) return fault(404, '404 Not Found')
    if (method === 'GET') return listed(asked, Number(number))
    return method === 'PUT' ? changed(asked, Number(id)) : written(asked, Number(number))
  }

  const marked = (asked: Asked, commit: string): Answer => {
    const read = parseBody(asked, status)
    if ('fault' in read) return fault(400, read.fault)
    const { state, name = 'default' } = read.body
    const last = statuses.findLast((one) => one.commit === commit && one.name === name)
    if (last?.state === state) return fault(400, `Cannot transition status via :run from :${state}`)
    statuses.push({ commit, state, name })
    return { status: 201, json: { id: statuses.length, status: state, name } }
  }
  const sourceOf = (one: unknown): string => (one as { source_branch: string }).source_branch
  const sourced = ({ query }: Asked): unknown[] => {
    const branch = query.get('source_branch')
    return receiver.merges.filter((one) => branch === null || sourceOf(one) === branch)
  }
  const opened = (asked: Asked): Answer => {
    const read = parseBody(asked, merge)
    if ('fault' in read) return fault(400, read.fault)
    const { source_branch } = read.body
    if (receiver.merges.some((one) => sourceOf(one) === source_branch)) {
      return { status: 409, json: { message: [`Another open merge request already exists for ${source_branch}`] } }
    }
    const iid = 70 + receiver.merges.length
    const made = {
      ...read.body,
      iid,
      state: 'opened',
      web_url: `https://gitlab.com/acme/shop/-/merge_requests/${iid}`,
      author: { username: 'bot' },
      sha: 'c'.repeat(40),
      source_project_id: 1,
      target_project_id: 1,
    }
    receiver.merges.push(made)
    return { status: 201, json: made }
  }
  const listed = ({ query }: Asked, number: number): Answer => {
    const [size, page] = [Number(query.get('per_page') ?? 20), Number(query.get('page') ?? 1)]
    const of = notes.filter((one) => one.number === number)
    return { status: 200, json: of.slice((page - 1) * size, page * size).map(({ id, body }) => ({ id, body })) }
  }
  const written = (asked: Asked, number: number): Answer => {
    const read = parseBody(asked, note)
    if ('fault' in read) return fault(400, read.fault)
    const made = { id: 300 + notes.length, number, body: read.body.body }
    notes.push(made)
    return { status: 201, json: { id: made.id, body: made.body } }
  }
  const changed = (asked: Asked, id: number): Answer => {
    const read = parseBody(asked, note)
    if ('fault' in read) return fault(400, read.fault)
    const found = notes.find((one) => one.id === id)
    if (found === undefined) return fault(404, '404 Not found')
    found.body = read.body.body
    return { status: 200, json: { id, body: found.body } }
  }

  const receiver: GitlabReceiver = Object.assign(await startReceiver(handle), {
    token: TOKEN,
    statuses,
    notes,
    merges: [] as unknown[],
  })
  return receiver
}
