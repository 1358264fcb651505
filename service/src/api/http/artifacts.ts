// Files of runs, by signed links: no credentials, the link is all.
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { openSignedFile } from '../../app/artifacts.ts'
import type { App } from '../../app/context.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import { asAttachment, parseRange } from './download.ts'

export interface ArtifactRouteOptions {
  readonly app: App
  readonly blobs: BlobStore
}

export function registerArtifacts(server: FastifyInstance, { app, blobs }: ArtifactRouteOptions): void {
  server.get('/files/:id/:name', { config: { access: 'signed-link' } }, async (request, reply) => {
    const file = await openSignedFile(app, blobs, request.raw.url ?? '')
    asAttachment(reply, file.name, 'application/octet-stream').header('accept-ranges', 'bytes')
    const range = parseRange(request.headers.range, file.size)
    if (range === null) return await reply.code(416).header('content-range', `bytes */${file.size}`).send()
    if (range !== undefined) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${file.size}`)
    reply.header('content-length', range === undefined ? file.size : range.end - range.start + 1)
    // An empty stream: anything else would make the length its own.
    if (request.method === 'HEAD') return await reply.send(Readable.from([]))
    return await reply.send(await file.open(range))
  })
}
