/**
 * Every statement that this process sends to PostgreSQL, its threads included, may be lied about. Loaded with --import
 * ahead of everything else, it stands in front of pg's client, through which all of it goes: the pool, BEGIN, COMMIT and
 * ROLLBACK, pg-boss, listeners, the thread that renews leases.
 *
 *   before   the statement does not happen: the server refuses it, or the connection is lost ahead of it
 *   after    it happens (a COMMIT commits), and the connection is lost ahead of the answer
 *   delay    it waits, before or after
 *   drop     the connection is lost while it is under way, or another connection is, whatever that is doing
 *
 * What is armed and what was counted lies in memory that all threads share.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData, threadId } from 'node:worker_threads'
import pg from 'pg'
import { seeded } from '../random.ts'

export const KINDS = ['before', 'after', 'delay', 'drop'] as const
export type Kind = (typeof KINDS)[number]

const SLOTS = ['armed', 'seed', 'delayMs', 'perMille', 'operations', 'threads', 'commits', ...KINDS] as const
type Slot = (typeof SLOTS)[number]

const NAME = 'yardmaster lies'
if (isMainThread) setEnvironmentData(NAME, new SharedArrayBuffer(SLOTS.length * 4))
const shared = new Int32Array(getEnvironmentData(NAME) as unknown as SharedArrayBuffer)
const get = (slot: Slot): number => Atomics.load(shared, SLOTS.indexOf(slot))
const set = (slot: Slot, value: number): number => Atomics.store(shared, SLOTS.indexOf(slot), value)
const count = (slot: Slot): number => Atomics.add(shared, SLOTS.indexOf(slot), 1)

export interface Lies {
  readonly seed: number
  readonly delayMs: number
  /** Of each kind, in a thousand statements. */
  readonly perMille: number
}

export function arm({ seed, delayMs, perMille }: Lies): void {
  set('seed', seed)
  set('delayMs', delayMs)
  set('perMille', perMille)
  set('armed', 1)
}

const exempted = new Set<string>()

/** Statements of this role are left alone: whoever checks needs the truth. */
export const exempt = (role: string): void => void exempted.add(role)

export const disarm = (): void => void set('armed', 0)

/** Statements since it was armed, and what was done to them; `commits`: lost answers of a COMMIT that had happened. */
export const counted = (): Readonly<Record<Exclude<Slot, 'armed' | 'seed' | 'delayMs' | 'perMille'>, number>> => ({
  operations: get('operations'),
  threads: get('threads'),
  commits: get('commits'),
  before: get('before'),
  after: get('after'),
  delay: get('delay'),
  drop: get('drop'),
})

/** The part of pg's client that its types leave out. */
type Wired = pg.Client & { connection: { stream: { destroy(): void } } }
type Answer = (error: Error | null | undefined, result?: pg.QueryResult) => void

let random: ReturnType<typeof seeded> | undefined
const seen = new Set<Wired>()

/** Answers of commits are lost more often than others: what nobody knows then is the hardest part. */
const LOST_COMMITS = 0.15
const isCommit = (text: string): boolean => /^\s*commit\b/i.test(text)

function draw(text: string): Kind | null {
  // Each thread draws by itself: the order of statements is never the same twice, the mixture is.
  random ??= seeded(get('seed') * 1000 + threadId)
  if (isCommit(text) && random.chance(LOST_COMMITS)) return 'after'
  const at = Math.floor(random.next() * 1000)
  return KINDS[Math.floor(at / get('perMille'))] ?? null
}

const lost = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
const cut = (client: Wired): void => void client.connection.stream.destroy()
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const REFUSED = `do $$ begin raise exception 'refused for a test' using errcode = '57014'; end $$`

async function lie(kind: Kind, client: Wired, text: string, send: (text?: string) => Promise<pg.QueryResult>) {
  const isControl = /^\s*(begin|commit|rollback|start|end)\b/i.test(text)
  count(kind)
  switch (kind) {
    case 'before':
      // The server itself never refuses to begin or to roll back.
      if (!isControl && random!.chance(0.5)) return await send(REFUSED)
      cut(client)
      throw lost()
    case 'after': {
      await send()
      if (isCommit(text)) count('commits')
      cut(client)
      throw lost()
    }
    case 'delay': {
      const isLate = random!.chance(0.5)
      if (!isLate) await wait(get('delayMs'))
      const result = await send()
      if (isLate) await wait(get('delayMs'))
      return result
    }
    case 'drop': {
      const other = random!.chance(0.3) ? random!.pick([...seen]) : client
      const result = send()
      cut(other)
      return await result
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: pg's overloads pass through here
const real: any = pg.Client.prototype.query

// biome-ignore lint/suspicious/noExplicitAny: the same
function query(this: Wired, ...args: any[]): any {
  const [first, values] = args
  const text = typeof first === 'string' ? first : (first?.text as string | undefined)
  const isLeftAlone = get('armed') === 0 || exempted.has(this.user ?? '')
  if (isLeftAlone || text === undefined || typeof first?.submit === 'function') return real.apply(this, args)
  count('operations')
  if (!isMainThread) count('threads')
  if (!seen.has(this)) {
    seen.add(this)
    this.once('end', () => seen.delete(this))
  }
  const kind = draw(text)
  if (kind === null) return real.apply(this, args)
  const callback =
    args.find((one): one is Answer => typeof one === 'function') ?? (first?.callback as Answer | undefined)
  const send = (instead?: string): Promise<pg.QueryResult> =>
    new Promise((resolve, reject) => {
      const answer: Answer = (error, result) => (error ? reject(error) : resolve(result!))
      if (instead !== undefined) real.call(this, instead, answer)
      else if (typeof first === 'string') real.call(this, first, Array.isArray(values) ? values : undefined, answer)
      else real.call(this, { ...first, callback: undefined }, Array.isArray(values) ? values : undefined, answer)
    })
  const result = lie(kind, this, text, send)
  if (callback === undefined) return result
  result.then(
    (value) => callback(null, value),
    (error: Error) => callback(error),
  )
}

pg.Client.prototype.query = query as typeof pg.Client.prototype.query
