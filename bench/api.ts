// Requests per second of two operations through the whole service, as a ratio to a bare Fastify that runs the same
// statements through the same pool and sends the same JSON (support/bare.ts). Both stand at once on one embedded
// PostgreSQL and are measured in turns, three times; the figure is the median of the three ratios.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { createLog } from '../service/src/adapters/log.ts'
import type { App } from '../service/src/app/context.ts'
import { systemContext } from '../service/src/app/context.ts'
import { inviteUser } from '../service/src/app/users.ts'
import { openApp } from '../service/src/compose/open.ts'
import { loadConfig } from '../service/src/config/load.ts'
import { newUid } from '../service/src/domain/ids.ts'
import { parseBearer } from '../service/src/domain/key.ts'
import * as people from '../service/src/store/people.ts'
import * as workspaces from '../service/src/store/workspaces.ts'
import type { Figure } from './support/figure.ts'
import { inTemporaryFolder, type Listening, median, postgresCpuMicroseconds, start } from './support/processes.ts'

const USERS = 50
const INVITATIONS = 5
const CONNECTIONS = 16
// By number, because it is calls that make the engine compile: on a busy machine three seconds were too few of them.
const WARM_UP_REQUESTS = 15_000
const TURNS = 3
// A turn goes back and forth between the two, a second each, and counts by the median of these pairs: what else the
// machine does hits both alike, or spoils one pair and not the turn.
const SLICES = 7
const SLICE_SECONDS = 1
const LEAST = 0.6

const OPERATIONS = {
  listUsers:
    '{ listUsers { ok activeUsers { uid email name accountType } invitedUsers { email accountType inviteStatus } } }',
  apiKeyIdentity: '{ apiKeyIdentity { isValid capabilities } }',
} as const

interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export async function benchApi(): Promise<Figure[]> {
  return await inTemporaryFolder(async (folder) => {
    const env = {
      YARDMASTER_DATA: join(folder, 'data'),
      YARDMASTER_PORT: '0',
      YARDMASTER_LOG_LEVEL: 'info',
      YARDMASTER_REQUESTS_PER_SECOND: '100000',
      YARDMASTER_REQUEST_BURST: '1000000',
    }
    const options = { cwd: folder, env }
    const service = await start('serve.ts', [], options)
    try {
      const key = (await readFile(join(env.YARDMASTER_DATA, 'first-key'), 'utf8')).trim()
      const workspaceUid = await fillWorkspace(env, folder)
      const bare = await start('bare.ts', [parseBearer(key)!.publicId, workspaceUid], options)
      try {
        const headers = {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'x-service-workspace': workspaceUid,
        }
        const figures: Figure[] = []
        for (const [operation, query] of Object.entries(OPERATIONS)) {
          const body = JSON.stringify({ query })
          const sides = {
            service: { target: { url: `${service.url}/graphql`, headers, body }, process: service },
            bare: { target: { url: `${bare.url}/${operation}`, headers, body }, process: bare },
          }
          figures.push(await compare(operation, sides, env.YARDMASTER_DATA))
        }
        return figures
      } finally {
        await bare.stop()
      }
    } finally {
      await service.stop()
    }
  })
}

/** As a command beside the running service, as an operator would. */
async function fillWorkspace(env: Readonly<Record<string, string>>, cwd: string): Promise<string> {
  const { config } = loadConfig({ env, cwd })
  const opened = await openApp(config, createLog({ level: 'warn' }), { purpose: 'command' })
  try {
    return await makeUsers(opened.app)
  } finally {
    await opened.close()
  }
}

async function makeUsers(app: App): Promise<string> {
  const [workspace] = await workspaces.list(app.db, 'all')
  const there = (await people.listMembers(app.db, workspace!.id)).length
  for (let number = there + 1; number <= USERS; number++) {
    const email = `person-${number}@example.com`
    const person = await people.insert(app.db, {
      uid: newUid(),
      email,
      name: `Person Number ${number}`,
      passwordHash: null,
    })
    await people.join(app.db, workspace!.id, person.id, 'DEVELOPER')
  }
  const context = systemContext(app, 'bench', workspace!)
  for (let number = 1; number <= INVITATIONS; number++) {
    await inviteUser(context, { email: `invited-${number}@example.com`, accountType: 'ANALYST' })
  }
  return workspace!.uid
}

interface Side {
  readonly target: Target
  readonly process: Listening
}

async function compare(
  operation: string,
  sides: { readonly service: Side; readonly bare: Side },
  dataFolder: string,
): Promise<Figure> {
  const { service, bare } = sides
  const answers = await Promise.all([answerOf(service.target), answerOf(bare.target)])
  assert.equal(answers[0], answers[1], `${operation}: both send the same bytes`)
  for (const { target } of [bare, service]) await measure(target, { amount: WARM_UP_REQUESTS })
  const turns: Pair[][] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const pairs: Pair[] = []
    for (let slice = 0; slice < SLICES; slice++) {
      pairs.push({ bare: await rateOf(bare, dataFolder), service: await rateOf(service, dataFolder) })
    }
    turns.push(pairs)
  }
  const ratios = turns.map((pairs) => median(pairs.map((pair) => pair.service.perSecond / pair.bare.perSecond)))
  const all = turns.flat()
  const middle = (side: keyof Pair, what: keyof Rate) => Math.round(median(all.map((pair) => pair[side][what])))
  const [cpu, bareCpu] = [middle('service', 'cpu'), middle('bare', 'cpu')]
  return {
    name: operation,
    measured: `${middle('service', 'perSecond')} requests/s`,
    floor: `${middle('bare', 'perSecond')} requests/s`,
    ratio: median(ratios),
    bound: { least: LEAST },
    notes:
      `${answers[0].length} bytes; turns ${ratios.map((one) => one.toFixed(2)).join(', ')}; ` +
      `processor ${cpu} to ${bareCpu} µs a request (${(bareCpu / cpu).toFixed(2)}); ` +
      `memory ${service.process.memory()} to ${bare.process.memory()} MiB`,
  }
}

interface Rate {
  readonly perSecond: number
  /** Microseconds of the processor for each request, PostgreSQL's included: what is left to compare on a busy machine. */
  readonly cpu: number
}

interface Pair {
  readonly service: Rate
  readonly bare: Rate
}

async function rateOf({ target, process }: Side, dataFolder: string): Promise<Rate> {
  const used = () => process.cpuMicroseconds() + postgresCpuMicroseconds(dataFolder)
  const before = used()
  const { requests, seconds } = await measure(target, { duration: SLICE_SECONDS })
  return { perSecond: requests / seconds, cpu: (used() - before) / requests }
}

async function answerOf(target: Target): Promise<string> {
  const response = await fetch(target.url, { method: 'POST', headers: { ...target.headers }, body: target.body })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

async function measure(
  target: Target,
  extent: { readonly duration: number } | { readonly amount: number },
): Promise<{ requests: number; seconds: number }> {
  const result = await autocannon({
    url: target.url,
    method: 'POST',
    headers: { ...target.headers },
    body: target.body,
    connections: CONNECTIONS,
    ...extent,
  })
  const failed = result.errors + result.timeouts + result.non2xx
  assert.equal(failed, 0, `${failed} requests to ${target.url} failed`)
  return { requests: result.requests.total, seconds: result.duration }
}
