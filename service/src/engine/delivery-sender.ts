// Takes what is due out of the service. Any number of servers do this at once: a delivery is claimed before it is sent,
// and claimed by one. Slow receivers hold up nobody else: of each target only a few deliveries are under way at a time.
//
// A receiver can see a delivery twice when the sender died, or lost the database, between its answer and our note of
// it. The id is the same then; docs/notifications.md says which receivers can tell.
import type { App } from '../app/context.ts'
import { nextTry } from '../domain/delivery.ts'
import { INTEGRATION_KINDS } from '../domain/integration.ts'
import type { Channel, Outgoing, SendResult } from '../ports/channel.ts'
import { inTransaction } from '../store/database.ts'
import type { AfterTry, ClaimedDelivery } from '../store/deliveries.ts'
import * as deliveries from '../store/deliveries.ts'
import * as integrations from '../store/integrations.ts'
import type { QueueService } from '../store/queue.ts'
import * as webhooks from '../store/webhooks.ts'
import type { Service } from './periodic.ts'
import { startWakeable } from './wakeable.ts'
import { indexSecrets, Redactor } from './worker/redactor.ts'

export interface DeliverySenderOptions {
  readonly channels: readonly Channel[]
  /** 0 to 1, for the jitter. */
  readonly random?: () => number
  /** Under way at once in this process, and of those to one target. */
  readonly parallel?: number
  readonly perTarget?: number
  /** After this a try is given up, whatever its channel does. */
  readonly tryMs?: number
  readonly observe?: (delivery: { channel: string; outcome: SendResult['kind']; seconds: number }) => void
}

export interface DeliverySender {
  /** Sends all that is due now, and waits for it. */
  runOnce(): Promise<void>
  /** Begins what there is room for; whether it began any. */
  step(): Promise<boolean>
  /** Resolves when any of those under way has ended; null when none is. */
  nextEnd(): Promise<void> | null
  /** Begins nothing new, gives what is under way a moment, then cuts it off. */
  stop(): Promise<void>
}

const PARALLEL = 32
const PER_TARGET = 4
/** A channel may make several calls of at most ten seconds each. */
const TRY_MS = 30_000
/** Longer than a try by far: clocks of two servers may differ, and the answer must be written too. */
const CLAIM_MS = 75_000
const STOP_MS = 5000
const LONGEST_ANSWER = 2000

export function deliverySender(app: App, options: DeliverySenderOptions): DeliverySender {
  const { parallel = PARALLEL, perTarget = PER_TARGET, tryMs = TRY_MS, random = Math.random } = options
  const channels = new Map<string, Channel>(options.channels.map((one) => [one.kind, one]))
  const underWay = new Set<Promise<void>>()
  const busy = new Map<string, number>()
  const cutOff = new AbortController()
  let stopping = false

  const step = async (): Promise<boolean> => {
    const limit = parallel - underWay.size
    if (limit <= 0 || stopping) return false
    const now = app.clock.now()
    const until = new Date(now.getTime() + CLAIM_MS)
    const claimed = await inTransaction(app.db, (tx) => deliveries.claimDue(tx, { now, until, limit, perTarget, busy }))
    for (const one of claimed) {
      busy.set(one.target, (busy.get(one.target) ?? 0) + 1)
      const work: Promise<void> = attempt(one, now).finally(() => {
        const left = busy.get(one.target)! - 1
        if (left === 0) busy.delete(one.target)
        else busy.set(one.target, left)
        underWay.delete(work)
      })
      underWay.add(work)
    }
    return claimed.length > 0
  }

  /** Never rejects: what cannot be written down is found again when its claim runs out. */
  const attempt = async (one: ClaimedDelivery, startedAt: Date): Promise<void> => {
    const began = performance.now()
    try {
      const opened = await open(app, one)
      const sent = await send(one, opened)
      const seconds = (performance.now() - began) / 1000
      options.observe?.({ channel: one.channel, outcome: sent.kind, seconds })
      const answer = shown(sent.answer, opened.kind === 'ready' ? Object.values(opened.out.secrets) : [])
      const ended = {
        startedAt,
        durationMs: Math.round(seconds * 1000),
        status: sent.status,
        outcome: sent.kind,
        answer,
      } as const
      const after = decide(one, sent, app.clock.now(), random())
      if (!(await inTransaction(app.db, (tx) => deliveries.endTry(tx, one, ended, after)))) {
        app.log.warn({ delivery: one.id }, 'a delivery took so long that another sender has it')
      } else if (after.state === 'dead') {
        app.log.warn(
          { delivery: one.id, channel: one.channel, tries: one.number, status: sent.status },
          'a delivery was given up; it can be sent again',
        )
      }
    } catch (error) {
      app.log.error({ err: error, delivery: one.id }, 'what became of a delivery was not written; it is tried again')
    }
  }

  const send = async (one: ClaimedDelivery, opened: Opened): Promise<SendResult> => {
    if (opened.kind === 'gone') return { kind: 'refused', status: null, answer: opened.reason }
    const channel = channels.get(one.channel)
    if (channel === undefined) return { kind: 'refused', status: null, answer: 'Nothing here sends this any more.' }
    const signal = AbortSignal.any([AbortSignal.timeout(tryMs), cutOff.signal])
    try {
      return await Promise.race([channel.send(opened.out, signal), aborted(signal)])
    } catch (error) {
      if (signal.aborted) return { kind: 'again', status: null, answer: 'No answer in time.' }
      app.log.error({ err: error, delivery: one.id, channel: one.channel }, 'a channel broke')
      return { kind: 'again', status: null, answer: 'The service itself failed to send this; its log says why.' }
    }
  }

  const nextEnd = (): Promise<void> | null => (underWay.size > 0 ? Promise.race(underWay) : null)

  return {
    step,
    nextEnd,
    runOnce: async () => {
      while ((await step()) || underWay.size > 0) await nextEnd()
    },
    stop: async () => {
      stopping = true
      const timer = setTimeout(() => cutOff.abort(), STOP_MS)
      while (underWay.size > 0) await Promise.all(underWay)
      clearTimeout(timer)
    },
  }
}

type Opened = { readonly kind: 'ready'; readonly out: Outgoing } | { readonly kind: 'gone'; readonly reason: string }

/** The delivery with what it takes to send it now: settings and secrets are those of this moment. */
async function open({ db, vault }: App, one: ClaimedDelivery): Promise<Opened> {
  const { id, event, address, body, workspaceId } = one
  const earlier = await deliveries.listEarlier(db, one)
  const ready = (settings: Outgoing['settings'], secrets: Outgoing['secrets']): Opened => ({
    kind: 'ready',
    out: { id, event, address, body, settings, secrets, earlier },
  })
  if (one.webhookId !== null) {
    const webhook = await webhooks.open(db, vault, workspaceId, one.webhookId)
    if (webhook === null) return { kind: 'gone', reason: 'The webhook was deleted.' }
    if (!webhook.enabled) return { kind: 'gone', reason: 'The webhook is switched off.' }
    const secrets = webhook.secrets.map((secret, index) => [`secret${index}`, secret])
    return ready({ url: webhook.url }, Object.fromEntries(secrets))
  }
  const integrationId = one.integrationId ?? (await findIntegration(db, one))
  if (integrationId === null) return ready({}, {})
  const integration = await integrations.open(db, vault, workspaceId, integrationId)
  if (integration === null) return { kind: 'gone', reason: 'The integration was removed.' }
  return ready(integration.settings, integration.secrets)
}

/** One that was set up after the delivery was written. */
async function findIntegration(db: App['db'], one: ClaimedDelivery): Promise<number | null> {
  const kind = INTEGRATION_KINDS.find((known) => known === one.channel)
  if (kind === undefined) return null
  const found = await integrations.findByName(db, one.workspaceId, kind, kind === 'teams' ? one.address : '')
  return found?.id ?? null
}

function decide(one: ClaimedDelivery, sent: SendResult, now: Date, random: number): AfterTry {
  if (sent.kind === 'delivered') return { state: 'delivered', at: now, result: sent.result ?? null }
  if (sent.kind === 'refused') return { state: 'dead', at: now }
  const { seriesTries: tries, seriesAt: startedAt } = one
  const nextTryAt = nextTry({ tries, startedAt, now, random, afterSeconds: sent.afterSeconds })
  return nextTryAt === null ? { state: 'dead', at: now } : { state: 'waiting', nextTryAt }
}

/** A receiver may repeat what it was sent, credentials among it. */
function shown(answer: string, secrets: readonly string[]): string {
  const redactor = new Redactor(indexSecrets(secrets))
  const clean = Buffer.concat([redactor.write(Buffer.from(answer)), redactor.end()])
    .toString()
    .replaceAll('\0', '')
  return clean.length > LONGEST_ANSWER ? `${clean.slice(0, LONGEST_ANSWER).toWellFormed()}…` : clean
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })

/** Begins something whenever there is room, as soon as a job of the queue says that there is something. */
export async function startDeliverySender(
  app: App,
  queue: QueueService,
  options: DeliverySenderOptions,
): Promise<Service> {
  const sender = deliverySender(app, options)
  const loop = startWakeable(app.log, {
    name: 'delivery sender',
    everyMs: 1000,
    runOnce: async () => {
      while (await sender.step()) {
        // Until there is no room, or nothing that is due.
      }
    },
    sooner: () => sender.nextEnd(),
  })
  await queue.work('delivery', async () => loop.wake())
  return {
    stop: async () => {
      await loop.stop()
      await sender.stop()
    },
  }
}
