// Where Slack sends its events: POST /hooks/slack/<workspace>. The body is kept as it came, because it is what is signed.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../../app/context.ts'
import { takeSlackEvent } from '../../app/slack-events.ts'
import type { HookHeaders } from '../../domain/hook-signature.ts'

const LARGEST_EVENT = 1024 * 1024
const UID = /^[a-z0-9]{16}$/

export function registerSlackEvents(server: FastifyInstance, { app }: { readonly app: App }): void {
  void server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: LARGEST_EVENT }, (_request, body, parsed) =>
      parsed(null, body),
    )
    scope.post(
      '/hooks/slack/:workspace',
      { config: { access: 'signed-hook' }, bodyLimit: LARGEST_EVENT },
      (request, reply) => take(request).then((taken) => reply.code(taken.status).send(taken.body)),
    )
    done()
  })

  async function take(request: FastifyRequest) {
    const { workspace } = request.params as { workspace: string }
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? undefined : value]),
    ) as HookHeaders
    const workspaceUid = UID.test(workspace) ? workspace : ''
    const { status, message, challenge, sessionId } = await takeSlackEvent(app, { workspaceUid, headers, body })
    app.log.info({ status, ...(sessionId !== undefined && { session: sessionId }) }, 'an event of Slack came')
    if (status !== 200) return { status, body: { errors: [{ message }] } }
    return { status, body: challenge === undefined ? { ok: true, message } : { challenge } }
  }
}
