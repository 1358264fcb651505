// Where git hosts send their hooks: POST /hooks/github/<workspace> and /hooks/gitlab/<workspace>. The body is kept as it
// came, because it is what is signed.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { App } from '../../app/context.ts'
import { type PushedBranch, takeHook } from '../../app/git-hooks.ts'
import type { HookHeaders } from '../../domain/hook-signature.ts'
import { GIT_PROVIDERS, type GitProvider } from '../../domain/pull-request.ts'

export interface GitHookOptions {
  readonly app: App
  readonly onPushed: (pushed: PushedBranch) => void
}

/** GitHub sends up to 25 MB; what concerns us is far smaller. */
const LARGEST_HOOK = 5 * 1024 * 1024
const UID = /^[a-z0-9]{16}$/

export function registerGitHooks(server: FastifyInstance, { app, onPushed }: GitHookOptions): void {
  void server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: LARGEST_HOOK }, (_request, body, parsed) =>
      parsed(null, body),
    )
    for (const provider of GIT_PROVIDERS) {
      scope.post(
        `/hooks/${provider}/:workspace`,
        { config: { access: 'signed-hook' }, bodyLimit: LARGEST_HOOK },
        (request, reply) => take(provider, request).then((taken) => reply.code(taken.status).send(taken.body)),
      )
    }
    done()
  })

  async function take(provider: GitProvider, request: FastifyRequest) {
    const { workspace } = request.params as { workspace: string }
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? undefined : value]),
    ) as HookHeaders
    const hook = { provider, workspaceUid: UID.test(workspace) ? workspace : '', headers, body }
    const { status, message, runIds } = await takeHook(app, hook, onPushed)
    app.log.info({ provider, status, runs: runIds.length }, 'a hook of a git host came')
    return { status, body: status === 200 ? { ok: true, message, runIds } : { errors: [{ message }] } }
  }
}
