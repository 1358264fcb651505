// Whole logs, by signed links.
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { App } from '../../app/context.ts'
import { openSignedLog } from '../../app/log-links.ts'
import { asAttachment } from './download.ts'

export function registerLogs(server: FastifyInstance, { app }: { readonly app: App }): void {
  server.get('/logs/:commandId/:stream', { config: { access: 'signed-link' } }, async (request, reply) => {
    const log = await openSignedLog(app, request.raw.url ?? '')
    asAttachment(reply, log.name, 'text/plain; charset=utf-8')
    if (request.method === 'HEAD') return await reply.send(Readable.from([]))
    return await reply.send(Readable.from(log.content, { objectMode: false }))
  })
}
