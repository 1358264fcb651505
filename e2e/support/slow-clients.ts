// Clients that take their time, or far too much room, while one that behaves goes on asking.
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { exchange, http } from './raw-http.ts'
import { graphql, type ServiceProcess } from './service.ts'

export interface Siege {
  /** Connections whose headers, or bodies, come byte by byte. */
  readonly slow: number
  /** Connections that asked once and stay. */
  readonly idle: number
  /** Connections that ask for a large answer and do not read it. */
  readonly unread: number
  readonly seconds: number
}

export interface Steady {
  readonly ms: readonly number[]
  readonly failed: number
}

export interface SiegeReport {
  /** The client that behaves: before anybody troubles the service, and meanwhile. */
  readonly calm: Steady
  readonly steady: Steady
  /** Slow connections that the service ended, and what it said last. */
  readonly ended: number
  readonly timedOut: number
  /** How many of each were open at the same time. */
  readonly open: { readonly slow: number; readonly idle: number; readonly unread: number }
  readonly bombs: number
  /** Bombs that were answered with something else than 431 or an end. */
  readonly wrongBombs: readonly string[]
  /** Descriptors of the service before, and after everybody has gone. */
  readonly descriptors: readonly [before: number, after: number]
  readonly well: boolean
}

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** How many a process may have. */
export function descriptorLimitOf(pid: number): number {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1]
  return soft === 'unlimited' ? 1_000_000 : Number(soft)
}

export async function besiege(service: ServiceProcess, siege: Siege): Promise<SiegeReport> {
  const { port } = new URL(service.url)
  const before = descriptorsOf(service.pid)
  const sockets = new Set<Socket>()
  const state = { going: true, ended: 0, timedOut: 0 }
  const open = (greeting: Buffer): Promise<Socket | null> =>
    new Promise((resolve) => {
      const socket = connect({ port: Number(port), host: '127.0.0.1' })
      socket.on('error', () => resolve(null))
      socket.once('close', () => sockets.delete(socket))
      socket.once('connect', () => {
        sockets.add(socket)
        socket.write(greeting)
        resolve(socket)
      })
    })

  const first = startSteady(service)
  await pause(2_000)
  const calm = await first.stop()
  const idle = await openMany(siege.idle, () => openIdle(open))
  const unread = await openMany(siege.unread, () => openUnread(open, service))
  const steady = startSteady(service)
  const loris = Array.from({ length: siege.slow }, (_, at) => beSlow(at, open, state))
  const bombing = bomb(Number(port), state)
  await pause(siege.seconds * 1_000)
  const counts = { slow: [...sockets].length - idle.size - unread.size, idle: alive(idle), unread: alive(unread) }
  const measured = await steady.stop()
  state.going = false
  for (const socket of sockets) socket.destroy()
  await Promise.all(loris)
  const { bombs, wrongBombs } = await bombing
  const after = await leastDescriptors(service.pid, before + 20)
  const answer = await graphql(service.url, service.key, '{ listWorkspaces { ok } }')
  return {
    calm,
    steady: measured,
    ended: state.ended,
    timedOut: state.timedOut,
    open: counts,
    bombs,
    wrongBombs,
    descriptors: [before, after],
    well: answer.status === 200,
  }
}

type Open = (greeting: Buffer) => Promise<Socket | null>

const alive = (sockets: ReadonlySet<Socket>): number => [...sockets].filter((one) => !one.destroyed).length

/** Two hundred at a time: what is tried here is many connections, not many that come in the same moment. */
async function openMany(count: number, make: () => Promise<Socket | null>): Promise<Set<Socket>> {
  const made = new Set<Socket>()
  for (let left = count; left > 0; left -= 200) {
    const some = await Promise.all(Array.from({ length: Math.min(200, left) }, make))
    for (const one of some) if (one !== null) made.add(one)
  }
  return made
}

async function openIdle(open: Open): Promise<Socket | null> {
  const request = http({ method: 'GET', path: '/healthz', headers: [['Connection', 'keep-alive']] })
  const socket = await open(request)
  if (socket === null) return null
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve())
    socket.once('close', () => resolve())
  })
  socket.resume()
  return socket
}

async function openUnread(open: Open, { key }: ServiceProcess): Promise<Socket | null> {
  const query =
    '{ __schema { types { name fields { name args { name type { name } } type { name ofType { name } } } } } }'
  const one = http({
    headers: [
      ['Content-Type', 'application/json'],
      ['Authorization', `Bearer ${key}`],
      ['Connection', 'keep-alive'],
    ],
    body: JSON.stringify({ query }),
  })
  const socket = await open(Buffer.concat(Array(5).fill(one)))
  socket?.pause()
  return socket
}

/** Headers, or a body, that never come to an end; a new one for each that the service ends. */
async function beSlow(
  at: number,
  open: Open,
  state: { going: boolean; ended: number; timedOut: number },
): Promise<void> {
  const headers = 'POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
  const bodies = `${headers}Content-Length: 5000\r\n\r\n{`
  const isBody = at % 4 === 3
  while (state.going) {
    const socket = await open(Buffer.from(isBody ? bodies : headers))
    if (socket === null) {
      await pause(100)
      continue
    }
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk
    })
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    let over = false
    void closed.then(() => {
      over = true
    })
    while (state.going && !over) {
      socket.write(isBody ? ' ' : `X-${at}: y\r\n`)
      await Promise.race([closed, pause(1_500 + (at % 7) * 100)])
    }
    if (!state.going) return
    state.ended++
    if (said.startsWith('HTTP/1.1 408')) state.timedOut++
  }
}

async function bomb(
  port: number,
  state: { readonly going: boolean },
): Promise<{ bombs: number; wrongBombs: string[] }> {
  const wrongBombs: string[] = []
  let bombs = 0
  const shapes = [
    () => http({ headers: [['X-Bomb', 'x'.repeat(1_000_000)]] }),
    () => http({ headers: Array.from({ length: 5_000 }, (_, at) => [`X-${at}`, 'y'.repeat(20)] as const) }),
    () => http({ path: `/${'x'.repeat(200_000)}`, method: 'GET' }),
  ]
  while (state.going) {
    for (const shape of shapes) {
      const answer = await exchange(port, { bytes: shape() })
      bombs++
      if (answer.status !== 431 && answer.status !== null)
        wrongBombs.push(`${answer.status} ${answer.body.slice(0, 100)}`)
    }
    await pause(50)
  }
  return { bombs, wrongBombs }
}

function startSteady({ url, key }: ServiceProcess): { stop(): Promise<Steady> } {
  const worker = new Worker(join(import.meta.dirname, 'steady-client.ts'), { workerData: { url, key, pauseMs: 25 } })
  const result = new Promise<Steady>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return {
    stop: () => {
      worker.postMessage('stop')
      return result
    },
  }
}

/** As soon as no more than these are left, or ten seconds have passed. */
async function leastDescriptors(pid: number, wanted: number): Promise<number> {
  let least = descriptorsOf(pid)
  for (let tries = 0; tries < 100 && least > wanted; tries++) {
    await pause(100)
    least = Math.min(least, descriptorsOf(pid))
  }
  return least
}

export const percentile = (of: readonly number[], share: number): number =>
  of.toSorted((one, other) => one - other)[Math.min(of.length - 1, Math.floor(of.length * share))] ?? 0
