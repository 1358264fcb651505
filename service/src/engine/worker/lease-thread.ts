// The thread that renews leases, with a connection of its own: a busy event loop or a full pool of the worker does not
// stop it. It says when the last renewal that went well began; the worker decides from that (lease-keeper.ts).
import { parentPort, workerData } from 'node:worker_threads'
import type { Connection } from '../../store/connection.ts'
import { openDatabase } from '../../store/database.ts'
import { renew } from '../../store/run-hold.ts'

export interface LeaseThreadData {
  readonly connection: Connection
  readonly workerId: string
  readonly leaseMs: number
  readonly beatMs: number
  /** One 64-bit number: when the last good beat began, in milliseconds of the process's monotonic clock. */
  readonly lastGood: SharedArrayBuffer
}

export type ToThread =
  | { readonly kind: 'hold'; readonly runId: number; readonly attempt: number }
  | { readonly kind: 'release'; readonly runId: number }
  | { readonly kind: 'stop' }

export type FromThread =
  | { readonly kind: 'lost'; readonly runId: number; readonly attempt: number }
  | { readonly kind: 'failed'; readonly message: string }

const port = parentPort!
const data = workerData as LeaseThreadData
const lastGood = new BigInt64Array(data.lastGood)
const holds = new Map<number, number>()
// Long enough for a busy host to answer, short enough for a second try before the worker gives its runs up.
const answerMs = Math.min(5000, data.leaseMs * 0.375)
const database = openDatabase(data.connection, {
  poolSize: 1,
  queryTimeoutMs: answerMs,
  connectTimeoutMs: answerMs,
  applicationName: 'yardmaster lease',
})

const nowMs = (): bigint => process.hrtime.bigint() / 1_000_000n
const send = (message: FromThread): void => port.postMessage(message)

async function beat(): Promise<void> {
  const renewed = [...holds].map(([runId, attempt]) => ({ runId, attempt }))
  if (renewed.length === 0) return
  const began = nowMs()
  try {
    const kept = await renew(database.kysely, data.workerId, renewed, data.leaseMs)
    Atomics.store(lastGood, 0, began)
    for (const { runId, attempt } of renewed) {
      // Released meanwhile: it ended, as it should.
      if (kept.has(runId) || holds.get(runId) !== attempt) continue
      holds.delete(runId)
      send({ kind: 'lost', runId, attempt })
    }
  } catch (error) {
    send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}

let stopped = false
let timer: NodeJS.Timeout | undefined

async function loop(): Promise<void> {
  const began = nowMs()
  await beat()
  if (stopped) return
  timer = setTimeout(() => void loop(), Math.max(50, data.beatMs - Number(nowMs() - began)))
}

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'hold':
      holds.set(message.runId, message.attempt)
      return
    case 'release':
      holds.delete(message.runId)
      return
    case 'stop':
      stopped = true
      clearTimeout(timer)
      void database.close().finally(() => port.close())
  }
})

void loop()
