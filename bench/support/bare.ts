// The floor of bench/api.ts: a bare Fastify with two routes. They run the statements that the service runs for the same
// requests, through the same pool with the same settings and prepared statements, and send the same JSON. They check
// nothing: no key, no capability, no limit, no GraphQL.
import Fastify from 'fastify'
import { createLog } from '../../service/src/adapters/log.ts'
import { openApp } from '../../service/src/compose/open.ts'
import { loadConfig } from '../../service/src/config/load.ts'
import { openDatabase } from '../../service/src/store/database.ts'
import * as keys from '../../service/src/store/keys.ts'
import * as people from '../../service/src/store/people.ts'

const [publicId, workspaceUid] = process.argv.slice(2) as [string, string]
const { config } = loadConfig({ env: process.env, cwd: process.cwd() })
const log = createLog({ level: config.log.level })
const opened = await openApp(config, log, { purpose: 'command' })
const database = openDatabase(opened.connections.service, {
  poolSize: config.database.poolSize,
  queryTimeoutMs: config.database.queryTimeoutMs,
  applicationName: 'yardmaster bench bare',
})
const db = database.kysely

const server = Fastify({ logger: false })
server.addHook('onResponse', (request, reply, done) => {
  log.debug({ method: request.method, path: request.url, status: reply.statusCode }, 'request answered')
  done()
})

server.post('/listUsers', async (_request, reply) => {
  const key = await keys.authenticate(db, publicId, workspaceUid)
  const id = key!.workspaceId!
  const [active, invited] = await Promise.all([people.listMembers(db, id), people.listInvitations(db, id)])
  const body = JSON.stringify({
    data: {
      listUsers: {
        ok: true,
        activeUsers: active.map(({ uid, email, name, accountType }) => ({ uid, email, name, accountType })),
        invitedUsers: invited.map(({ email, accountType, expired }) => ({
          email,
          accountType,
          inviteStatus: expired ? 'EXPIRED' : 'ACTIVE',
        })),
      },
    },
  })
  return reply.type('application/json; charset=utf-8').send(body)
})

const LABELS: Readonly<Record<string, string>> = {
  'bolt:schedules:admin': 'Bolt Schedules Admin',
  'bolt:schedules:read': 'Bolt Schedules Metadata Viewer',
  'users:admin': 'User Management Admin',
  'users:read': 'User Metadata Viewer',
  'workspaces:read': 'Workspace Metadata Viewer',
  'audit:read': 'Audit Logs viewer',
  'dinoai:agent:trigger': 'Agent Admin',
  'dinoai:agent:read': 'Agent Viewer',
}

server.post('/apiKeyIdentity', async (_request, reply) => {
  const key = await keys.authenticate(db, publicId, workspaceUid)
  const capabilities = key!.capabilities.map((one) => LABELS[one])
  const body = JSON.stringify({ data: { apiKeyIdentity: { isValid: true, capabilities } } })
  return reply.type('application/json; charset=utf-8').send(body)
})

const url = await server.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`listening at ${url}\n`)
process.once('SIGTERM', async () => {
  await server.close()
  await database.close()
  await opened.close()
  process.exit(0)
})
