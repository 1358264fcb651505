// Bytes of a command, from its pipes to the database: redacted per stream, in batches, with a bounded memory. Whoever
// writes waits while the database is behind, and the command with it.
//
//   pending    redacted, not yet sent: 1 MiB at most, then `write` waits
//   retained   sent and readable, perhaps not yet on the database's disk: 4 MiB at most, then one append is durable,
//              and with it all before it. After a crash of the database they are sent again, at the same offsets.
//
// Past the cap the command goes on and the log does not: the last 1 MiB of each stream is kept aside and added at the
// end, after a line that says how much is missing.
import { setTimeout as pause } from 'node:timers/promises'
import type { NeedleIndex } from '../../domain/redaction.ts'
import { cutBefore } from '../../domain/utf8.ts'
import type { LogChunk, LogOffsets, LogStream } from '../../store/command-logs.ts'
import * as logs from '../../store/command-logs.ts'
import type { Db } from '../../store/database.ts'
import { isUnavailable } from '../../store/database.ts'
import { LogTail } from './log-tail.ts'
import { persist } from './persist.ts'
import { indexSecrets, Redactor } from './redactor.ts'

const MOST_PENDING = 1024 * 1024
const MOST_RETAINED = 4 * 1024 * 1024
/** Of one append. */
const MOST_CHUNKS = 4
const INTERVAL_MS = 200
/** The first bytes after a quiet time go almost at once. */
const SHORTEST_WAIT_MS = 10
export const LOG_CAP_BYTES = 1024 * 1024 * 1024
const PATIENCE_MS = 120_000
const NEVER = new AbortController().signal

export interface LogOptions {
  /** Values to mask, or what `indexSecrets` made of them for another log of the run. */
  readonly secrets: readonly string[] | NeedleIndex
  readonly capBytes?: number
  /** `YYYY-MM-DD`, the partition; the database's own day otherwise. */
  readonly day?: string
  /** How long a database that does not answer is waited for. */
  readonly patienceMs?: number
  /** Ends the waiting of everybody with its reason; what was not sent is lost. */
  readonly signal?: AbortSignal
  /** Called when much that was held is needed no longer. */
  readonly relieve?: () => void
}

export interface CommandLog {
  /** Resolves when there is room for more; rejects when the log cannot be written any longer. */
  write(stream: LogStream, bytes: Buffer): Promise<void>
  /** A line of the service's own on stderr, never cut off by the cap. */
  note(text: string): Promise<void>
  /** Resolves when every byte is durable and readable and the log says that it is complete. Safe to call twice. */
  finish(): Promise<void>
}

/** Somebody else closed the log: the run was given up, and its worker must stop. */
export class LogClosed extends Error {
  override readonly name = 'LogClosed'
  constructor(commandId: number) {
    super(`The log of command ${commandId} was closed: its run has ended without this worker.`)
  }
}

interface Batch {
  readonly from: LogOffsets
  readonly to: LogOffsets
  readonly chunks: readonly LogChunk[]
}

export async function openLog(db: Db, commandId: number, options: LogOptions): Promise<CommandLog> {
  const from = await persist(() => logs.open(db, commandId, options.day ?? null), options.signal ?? NEVER)
  if (from === null) throw new LogClosed(commandId)
  return new Shipper(db, commandId, from, options)
}

class Shipper implements CommandLog {
  readonly #db: Db
  readonly #commandId: number
  readonly #patienceMs: number
  readonly #signal: AbortSignal | undefined
  readonly #relieve: () => void
  readonly #redactors: Readonly<Record<LogStream, Redactor>>
  readonly #tail: LogTail
  readonly #pending: Record<LogStream, Buffer[]> = { stdout: [], stderr: [] }
  #pendingBytes = 0
  #retained: Batch[] = []
  #end: LogOffsets
  #sending: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #lastSent = Number.NEGATIVE_INFINITY
  #failure: { readonly error: unknown } | null = null
  #finished: Promise<void> | null = null

  constructor(db: Db, commandId: number, from: LogOffsets, options: LogOptions) {
    this.#db = db
    this.#commandId = commandId
    this.#end = from
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
    this.#signal = options.signal
    this.#relieve = options.relieve ?? (() => {})
    const index = Array.isArray(options.secrets) ? indexSecrets(options.secrets) : (options.secrets as NeedleIndex)
    this.#redactors = { stdout: new Redactor(index), stderr: new Redactor(index) }
    this.#tail = new LogTail(options.capBytes ?? LOG_CAP_BYTES, from.stdout + from.stderr)
  }

  async write(stream: LogStream, bytes: Buffer): Promise<void> {
    if (this.#finished !== null) throw new Error('written to a log that was finished')
    this.#add(stream, this.#tail.admit(stream, this.#redactors[stream].write(bytes)))
    await this.#room()
  }

  async note(text: string): Promise<void> {
    if (this.#finished !== null) throw new Error('written to a log that was finished')
    // What the redactor holds back comes before the note.
    const redactor = this.#redactors.stderr
    const rest = redactor.end()
    const line = Buffer.concat([redactor.write(Buffer.from(`yardmaster: ${text}\n`)), redactor.end()])
    this.#add('stderr', this.#tail.admit('stderr', rest))
    this.#add('stderr', this.#tail.note(line))
    await this.#room()
  }

  finish(): Promise<void> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  async #finish(): Promise<void> {
    for (const stream of ['stdout', 'stderr'] as const) {
      this.#add(stream, this.#tail.admit(stream, this.#redactors[stream].end()))
      this.#add(stream, this.#tail.close(stream))
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#sending
    while (this.#pendingBytes > 0 && this.#failure === null) await this.#send(true)
    this.#throwFailure()
    await this.#persist(async () => {
      if (await logs.finish(this.#db, this.#commandId, this.#end)) return
      // Closed with another end, or the database lost the last appends: sending again tells.
      await this.#resend()
      if (!(await logs.finish(this.#db, this.#commandId, this.#end))) throw new LogClosed(this.#commandId)
    })
    this.#retained = []
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  #add(stream: LogStream, bytes: Buffer): void {
    if (bytes.length === 0) return
    // A copy where the bytes are a small part of a large buffer, which they would otherwise keep in memory.
    this.#pending[stream].push(bytes.buffer.byteLength > 4 * bytes.length ? Buffer.from(bytes) : bytes)
    this.#pendingBytes += bytes.length
  }

  /** Sees to it that what is pending goes, and waits while there is too much of it. */
  async #room(): Promise<void> {
    this.#throwFailure()
    if (this.#pendingBytes >= logs.CHUNK_BYTES) this.#kick()
    else if (this.#pendingBytes > 0) this.#arm()
    while (this.#pendingBytes > MOST_PENDING) {
      this.#kick()
      await this.#sending
    }
    this.#throwFailure()
  }

  #arm(): void {
    if (this.#timer !== null || this.#sending !== null) return
    const since = performance.now() - this.#lastSent
    this.#timer = setTimeout(() => this.#kick(), Math.max(SHORTEST_WAIT_MS, INTERVAL_MS - since))
  }

  #kick(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#sending ??= this.#send(false).finally(() => {
      this.#sending = null
      if (this.#failure !== null || this.#finished !== null) return
      if (this.#pendingBytes >= logs.CHUNK_BYTES) this.#kick()
      else if (this.#pendingBytes > 0) this.#arm()
    })
  }

  /** Never rejects: what went wrong is for the next one who writes. */
  async #send(all: boolean): Promise<void> {
    const batch = this.#take(all)
    if (batch === null) return
    this.#lastSent = performance.now()
    this.#retained.push(batch)
    const durable = sizeOf(this.#retained) > MOST_RETAINED
    try {
      await this.#persist(async (again) => {
        if (again || !(await logs.append(this.#db, this.#commandId, batch.from, batch.chunks, durable)))
          await this.#resend()
      })
      if (durable) this.#retained = []
      if (sizeOf([batch]) >= logs.CHUNK_BYTES) this.#relieve()
    } catch (error) {
      this.#failure ??= { error }
      this.#pendingBytes = 0
      this.#pending.stdout = []
      this.#pending.stderr = []
    }
  }

  #take(all: boolean): Batch | null {
    const from = this.#end
    const to = { ...from }
    const chunks: LogChunk[] = []
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#pending[stream].length === 0) continue
      let rest = Buffer.concat(this.#pending[stream])
      // A busy stdout leaves room for stderr.
      const most = stream === 'stdout' && this.#pending.stderr.length > 0 ? MOST_CHUNKS - 1 : MOST_CHUNKS
      while (rest.length > 0 && chunks.length < most) {
        const cut = cutOf(rest, all)
        if (cut === 0) break
        chunks.push({ stream, start: to[stream], bytes: rest.subarray(0, cut) })
        to[stream] += cut
        this.#pendingBytes -= cut
        rest = rest.subarray(cut)
        // What is left of a line waits for its end, for one interval.
        if (!all && rest.length < logs.CHUNK_BYTES) break
      }
      this.#pending[stream] = rest.length === 0 ? [] : [rest]
    }
    if (chunks.length === 0) return null
    this.#end = to
    return { from, to, chunks }
  }

  /** Sends everything that the database does not have: after a lost answer, and after a crash that lost appends. */
  async #resend(): Promise<void> {
    const has = await logs.read(this.#db, this.#commandId)
    if (has === null) throw new LogClosed(this.#commandId)
    const same = (one: LogOffsets): boolean => one.stdout === has.stdout && one.stderr === has.stderr
    if (same(this.#end)) return
    const first = this.#retained.findIndex((batch) => same(batch.from))
    if (first === -1) throw new LogClosed(this.#commandId)
    for (const batch of this.#retained.slice(first)) {
      if (!(await logs.append(this.#db, this.#commandId, batch.from, batch.chunks, true)))
        throw new LogClosed(this.#commandId)
    }
  }

  /** Tries for as long as the database is away, within the patience. */
  async #persist(work: (again: boolean) => Promise<void>): Promise<void> {
    const start = performance.now()
    for (let tries = 0; ; tries++) {
      this.#signal?.throwIfAborted()
      try {
        return await work(tries > 0)
      } catch (error) {
        if (!isUnavailable(error) || performance.now() - start > this.#patienceMs) throw error
        await pause(Math.min(2_000, 50 * 2 ** Math.min(tries, 6)), undefined, { signal: this.#signal })
      }
    }
  }
}

const sizeOf = (batches: readonly Batch[]): number =>
  batches.reduce((sum, { from, to }) => sum + to.stdout - from.stdout + to.stderr - from.stderr, 0)

/** After a line where one ends, else between characters; `all`: nothing may stay. */
function cutOf(bytes: Buffer, all: boolean): number {
  const most = Math.min(bytes.length, logs.CHUNK_BYTES)
  if (all && most === bytes.length) return most
  const line = bytes.lastIndexOf(0x0a, most - 1) + 1
  if (line > 0) return line
  return cutBefore(bytes, most)
}
