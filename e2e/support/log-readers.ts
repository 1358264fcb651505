/** Clients that read the output of one command by cursor, each in its own way, and how long each answer took. */
import { createHash, type Hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from './runs.ts'

const QUERY = `query ($id: Int!, $cursor: String) { boltCommandLogs(commandId: $id, cursor: $cursor) {
  lines { stream line } cursor finished } }`

export interface Batch {
  readonly lines: readonly { readonly stream: 'STDOUT' | 'STDERR'; readonly line: string }[]
  readonly cursor: string
  readonly finished: boolean
}

/** Of every answer, in ms. */
export class Answers {
  readonly ms: number[] = []

  async read(client: Client, id: number, cursor: string | null): Promise<Batch> {
    const began = performance.now()
    const batch: Batch = await client.ask(QUERY, { id, cursor })
    this.ms.push(performance.now() - began)
    return batch
  }
}

export interface WholeLog {
  readonly stdout: string
  readonly stderr: string
  readonly bytes: readonly [number, number]
  readonly batches: number
  /** Of lines that were longer than a batch may be, or batches with too many. */
  readonly wrong: number
  /** The last lines of each stream, for what is said there. */
  readonly tail: Readonly<Record<'STDOUT' | 'STDERR', string>>
}

const MIB = 1024 * 1024

/** From the beginning to the end, hashing all lines in a row. `cursors` gets those that it came by. */
export async function readWhole(
  client: Client,
  id: number,
  answers: Answers,
  cursors: string[] = [],
): Promise<WholeLog> {
  const hashes: Record<'STDOUT' | 'STDERR', Hash> = { STDOUT: createHash('sha256'), STDERR: createHash('sha256') }
  const bytes = { STDOUT: 0, STDERR: 0 }
  const tail = { STDOUT: '', STDERR: '' }
  let [batches, wrong] = [0, 0]
  for (let cursor: string | null = null; ; ) {
    const batch = await answers.read(client, id, cursor)
    batches++
    let size = 0
    for (const { stream, line } of batch.lines) {
      hashes[stream].update(line)
      const length = Buffer.byteLength(line)
      bytes[stream] += length
      size += length
      tail[stream] = (tail[stream] + line).slice(-4_000)
    }
    if (size > MIB || batch.lines.length > 1_000) wrong++
    if (batch.finished) {
      const [stdout, stderr] = [hashes.STDOUT.digest('hex'), hashes.STDERR.digest('hex')]
      return { stdout, stderr, bytes: [bytes.STDOUT, bytes.STDERR], batches, wrong, tail }
    }
    // As a client would: at once while there is more, after a pause when there is not.
    if (batch.cursor === cursor || batch.lines.length === 0) await pause(100)
    cursor = batch.cursor
    if (batches % 50 === 0) cursors.push(cursor)
  }
}

/** Somebody who watches: begins at a place that another reader came by, reads on for a while, and begins elsewhere. */
export async function watch(
  client: Client,
  id: number,
  answers: Answers,
  how: { readonly cursors: readonly string[]; readonly pauseMs: number; readonly until: () => boolean },
): Promise<void> {
  let cursor: string | null = null
  for (let count = 0; !how.until(); count++) {
    if (count % 20 === 0) cursor = how.cursors[Math.floor(Math.random() * how.cursors.length)] ?? null
    cursor = (await answers.read(client, id, cursor)).cursor
    await pause(how.pauseMs)
  }
}
