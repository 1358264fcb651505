// Malformed requests over real sockets against the real service, and what became of it.
import type { Facts, Malformed } from './malformed/facts.ts'
import { malformed } from './malformed/index.ts'
import { INSPECTABLE, type Memory, memoryOf } from './memory.ts'
import { type Random, seeded } from './random.ts'
import { exchange } from './raw-http.ts'
import { graphql, type ServiceProcess, startProcess } from './service.ts'

export interface FuzzReport {
  readonly sent: number
  readonly families: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  /** Answers that must not be: 5xx, no answer where one is due, something that is not JSON. */
  readonly wrong: readonly string[]
  readonly ms: readonly number[]
  /** Before and after, each after a collection of garbage. */
  readonly memory: readonly [before: Memory, after: Memory]
  /** Lines of the service's log at level error, or about an unhandled rejection. */
  readonly complaints: readonly string[]
  /** Whether it still answers as it should. */
  readonly well: boolean
}

/** Out of the way: this is about requests that get as far as they can. */
const LIMITS = {
  YARDMASTER_REQUESTS_PER_SECOND: '100000',
  YARDMASTER_REQUEST_BURST: '1000000',
  YARDMASTER_BAD_CREDENTIALS_PER_MINUTE: '100000',
  YARDMASTER_SIGN_INS_PER_MINUTE: '100000',
  YARDMASTER_LOG_LEVEL: 'error',
}

export async function fuzz(options: {
  readonly count: number
  readonly seed: number
  readonly warmUp: number
  readonly clients: number
}): Promise<FuzzReport> {
  const service = await startProcess({ env: { ...LIMITS, ...INSPECTABLE } })
  try {
    const facts = { key: service.key, workspaceUid: service.workspaceUid, origin: service.url }
    const random = seeded(options.seed)
    await signInTogether(service)
    await run(service, options.warmUp, options.clients, random, facts)
    const before = await memoryOf(service)
    const result = await run(service, options.count, options.clients, random, facts)
    const after = await memoryOf(service)
    const complaints = service
      .stderr()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"|unhandled|uncaught/i.test(line))
    return { ...result, sent: options.count, memory: [before, after], complaints, well: await isWell(service) }
  } finally {
    await service.stop()
  }
}

/** A password's hash takes 19 MiB, which the allocator keeps for the next: as many at once as there ever are. */
async function signInTogether({ url }: ServiceProcess): Promise<void> {
  const headers = { origin: url, 'content-type': 'application/x-www-form-urlencoded' }
  const one = () => fetch(`${url}/signin`, { method: 'POST', headers, body: 'email=a%40example.com&password=x' })
  for (let round = 0; round < 5; round++) {
    for (const answer of await Promise.all(Array.from({ length: 6 }, one))) await answer.text()
  }
}

type Outcome = Pick<FuzzReport, 'families' | 'statuses' | 'wrong' | 'ms'>

async function run(
  service: ServiceProcess,
  count: number,
  clients: number,
  random: Random,
  facts: Facts,
): Promise<Outcome> {
  const port = Number(new URL(service.url).port)
  const families = new Map<string, number>()
  const statuses = new Map<string, number>()
  const wrong: string[] = []
  const ms: number[] = []
  const tally = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1)
  let left = count
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const request = malformed(random, facts)
      tally(families, request.family)
      try {
        const answer = await exchange(port, request)
        tally(statuses, String(answer.status ?? 'closed'))
        ms.push(answer.ms)
        const fault = faultOf(request, answer.status, answer.headers, answer.body)
        if (fault !== null)
          wrong.push(`${request.family}: ${fault}: ${shown(request.bytes)} → ${answer.body.slice(0, 300)}`)
      } catch (error) {
        wrong.push(`${request.family}: ${String(error)}: ${shown(request.bytes)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return { families, statuses, wrong, ms }
}

const shown = (bytes: Buffer): string => JSON.stringify(bytes.subarray(0, 700).toString('latin1'))

function faultOf(request: Malformed, status: number | null, headers: string, body: string): string | null {
  if (status === null) return request.mayBeSilent ? null : 'no answer'
  if (Number.isNaN(status) || status >= 500) return `status ${status}`
  if (request.page || status === 303 || /^HEAD /.test(request.bytes.toString('latin1', 0, 5))) return null
  const type = /^content-type: *(.*)$/im.exec(headers)?.[1] ?? ''
  // Pages and their files are reached by some of the odd paths too.
  if (!type.startsWith('application/json'))
    return /^(text\/(html|css|javascript|plain))/.test(type) ? null : `type ${type}`
  try {
    const json = JSON.parse(body)
    return typeof json === 'object' ? null : 'not an object'
  } catch {
    return 'not JSON'
  }
}

async function isWell({ url, key, workspaceUid }: ServiceProcess): Promise<boolean> {
  const health = await fetch(`${url}/readyz`)
  const users = await graphql(url, key, '{ listUsers { ok } }', {}, { 'x-service-workspace': workspaceUid })
  return health.status === 200 && users.status === 200 && users.body.errors === undefined
}
