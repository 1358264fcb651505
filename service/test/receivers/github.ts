// GitHub's REST interface, as far as pull requests go: statuses of commits, comments of issues, the list of pulls.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface GithubReceiver extends Receiver {
  readonly token: string
  readonly statuses: readonly { readonly commit: string; readonly state: string; readonly context: string }[]
  readonly comments: { readonly id: number; readonly number: number; body: string }[]
  /** What the list of pulls answers. */
  pulls: unknown[]
}

const TOKEN = 'ghp_test-token-of-a-repository'
const status = z.strictObject({
  state: z.enum(['error', 'failure', 'pending', 'success']),
  target_url: z.url().optional(),
  description: z.string().max(140).optional(),
  context: z.string().min(1).optional(),
})
const comment = z.strictObject({ body: z.string().min(1).max(65_536) })
const pull = z.strictObject({
  title: z.string().min(1).max(256),
  body: z.string().max(65_536).optional(),
  head: z.string().min(1),
  base: z.string().min(1),
  draft: z.boolean().optional(),
})

const fault = (code: number, message: string): Answer => ({ status: code, json: { message } })

/** @param repository its owner and name */
export async function githubReceiver(repository = 'acme/shop'): Promise<GithubReceiver> {
  const own = `/repos/${repository}/`
  const statuses: { commit: string; state: string; context: string }[] = []
  const comments: { id: number; number: number; body: string }[] = []

  const handle = (asked: Asked): Answer => {
    const { method, headers } = asked
    if (headers.authorization !== `Bearer ${TOKEN}`) return fault(401, 'Bad credentials')
    if ((headers['user-agent'] ?? '') === '') return fault(403, 'Request forbidden by administrative rules')
    if (headers['x-github-api-version'] !== '2022-11-28') return fault(400, 'unsupported version')
    if (!asked.path.startsWith(own)) return fault(404, 'Not Found')
    const path = asked.path.slice(own.length)
    if (method === 'GET' && path === 'pulls') return { status: 200, json: headed(asked) }
    if (method === 'POST' && path === 'pulls') return opened(asked)
    const [, commit] = /^statuses\/([0-9a-f]{40})$/.exec(path) ?? []
    if (method === 'POST' && commit !== undefined) {
      const read = parseBody(asked, status)
      if ('fault' in read) return fault(422, read.fault)
      statuses.push({ commit, state: read.body.state, context: read.body.context ?? 'default' })
      return { status: 201, json: { id: statuses.length, state: read.body.state } }
    }
    const [, number] = /^issues\/(\d+)\/comments$/.exec(path) ?? []
    if (number !== undefined) return method === 'GET' ? listed(asked, Number(number)) : written(asked, Number(number))
    const [, id] = /^issues\/comments\/(\d+)$/.exec(path) ?? []
    return method === 'PATCH' && id !== undefined ? changed(asked, Number(id)) : fault(404, 'Not Found')
  }

  /** As `head=owner:branch` asks for. */
  const headed = ({ query }: Asked): unknown[] => {
    const head = query.get('head')
    const branchOf = (one: unknown): string => (one as { head: { ref: string } }).head.ref
    return receiver.pulls.filter((one) => head === null || `${repository.split('/')[0]}:${branchOf(one)}` === head)
  }
  const opened = (asked: Asked): Answer => {
    const read = parseBody(asked, pull)
    if ('fault' in read) return fault(422, read.fault)
    const { title, body = '', head, base, draft = false } = read.body
    const isThere = receiver.pulls.some((one) => (one as { head: { ref: string } }).head.ref === head)
    if (isThere) return fault(422, `A pull request already exists for ${head}.`)
    const number = 70 + receiver.pulls.length
    const made = {
      number,
      state: 'open',
      title,
      body,
      draft,
      html_url: `https://github.com/${repository}/pull/${number}`,
      user: { login: 'bot' },
      head: { ref: head, sha: 'c'.repeat(40), repo: { id: 1 } },
      base: { ref: base, repo: { id: 1 } },
    }
    receiver.pulls.push(made)
    return { status: 201, json: made }
  }
  const listed = ({ query }: Asked, number: number): Answer => {
    const [size, page] = [Number(query.get('per_page') ?? 30), Number(query.get('page') ?? 1)]
    const of = comments.filter((one) => one.number === number)
    return { status: 200, json: of.slice((page - 1) * size, page * size).map(({ id, body }) => ({ id, body })) }
  }
  const written = (asked: Asked, number: number): Answer => {
    const read = parseBody(asked, comment)
    if ('fault' in read) return fault(422, read.fault)
    const made = { id: 1000 + comments.length, number, body: read.body.body }
    comments.push(made)
    return { status: 201, json: { id: made.id, body: made.body } }
  }
  const changed = (asked: Asked, id: number): Answer => {
    const read = parseBody(asked, comment)
    if ('fault' in read) return fault(422, read.fault)
    const found = comments.find((one) => one.id === id)
    if (found === undefined) return fault(404, 'Not Found')
    found.body = read.body.body
    return { status: 200, json: { id, body: found.body } }
  }

  const receiver: GithubReceiver = Object.assign(await startReceiver(handle), {
    token: TOKEN,
    statuses,
    comments,
    pulls: [] as unknown[],
  })
  return receiver
}
