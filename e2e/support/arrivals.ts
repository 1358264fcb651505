// A workspace that is set up for every receiver, and everything between the end of a run and them, with the test's own time.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { messageChannels } from '../../service/src/adapters/channels/index.ts'
import { smtpMailer } from '../../service/src/adapters/mail/smtp.ts'
import type { Context } from '../../service/src/app/context.ts'
import { createEnvironment } from '../../service/src/app/environments.ts'
import { incidentHandler } from '../../service/src/app/incidents.ts'
import { noticeHandler } from '../../service/src/app/notices.ts'
import { finishRun } from '../../service/src/app/runs.ts'
import { createSchedule } from '../../service/src/app/schedules.ts'
import { triggerRun } from '../../service/src/app/trigger-run.ts'
import type { WorkspaceRef } from '../../service/src/domain/actor.ts'
import type { RunOutcome } from '../../service/src/domain/run.ts'
import { type DeliverySender, deliverySender } from '../../service/src/engine/delivery-sender.ts'
import { deadlines, runEvents } from '../../service/src/engine/run-events.ts'
import * as deliveries from '../../service/src/store/deliveries.ts'
import { type AllReceivers, setUpIntegrations, startReceivers, TELLS_ALL } from '../../service/test/receivers/all.ts'
import type { TestApp } from '../../service/test/support/app.ts'
import { receiverHttp } from '../../service/test/support/channels.ts'
import { inUnit } from '../../service/test/support/deliveries.ts'

export type Counts = Readonly<
  Record<'slack' | 'teams' | 'inbox' | 'pagerduty' | 'incidentIo' | 'datadog' | 'newRelic', number>
>

export interface Arrivals extends AsyncDisposable {
  readonly workspace: WorkspaceRef
  readonly inside: Context
  readonly all: AllReceivers
  readonly sender: DeliverySender
  /** One that waits for an answer only so long. */
  senderWithin(timeoutMs: number): DeliverySender
  /** Tells everybody everything, unless said otherwise. Gives its slug. */
  schedule(more?: object): Promise<string>
  begin(slug: string, prNumber?: number): Promise<number>
  end(runId: number, kind: RunOutcome['kind']): Promise<void>
  /** Handles the events that are due. */
  handle(): Promise<void>
  /** Begins, ends and handles. */
  run(slug: string, kind: RunOutcome['kind'], prNumber?: number): Promise<number>
  /** Tells that it is late, as the watch over deadlines does. */
  late(runId: number): Promise<void>
  listed(): Promise<deliveries.Delivery[]>
  statesOf(channel: string): Promise<string[]>
  /** Sends until nothing waits, moving the clock on by half an hour at a time. */
  untilSettled(): Promise<void>
  /** What each receiver holds. */
  counts(): Counts
}

let made = 0

export async function startArrivals(t: TestApp): Promise<Arrivals> {
  const all = await startReceivers()
  const workspace = await t.workspace()
  const inside = t.inside(workspace)
  await createEnvironment(inside, { displayName: 'production' })
  await setUpIntegrations(inside, all)
  const mailer = smtpMailer({ url: all.smtp.url, from: 'Yardmaster <yard@mail.example.com>' })
  const senderWithin = (timeoutMs: number): DeliverySender => {
    const channels = messageChannels({ http: receiverHttp(timeoutMs), clock: t.clock, mailer })
    return deliverySender(t.app, { channels, random: () => 0.5 })
  }
  const sender = senderWithin(8000)

  const begin: Arrivals['begin'] = async (slug, prNumber) =>
    (await triggerRun(inside, { slug, prNumber: prNumber ?? null })).runId
  const end: Arrivals['end'] = async (runId, kind) => {
    const outcome: RunOutcome = kind === 'failed' ? { kind, detail: 'The worker was lost.' } : { kind }
    await inUnit(t, (unit) => finishRun(unit, runId, 0, outcome))
  }
  const handle = (): Promise<void> => runEvents(t.app, [noticeHandler(t.app), incidentHandler(t.app)]).runOnce()
  const listed = () => deliveries.list(t.app.db, workspace.id, {}, { offset: 0, limit: 1000 })

  return {
    ...{ workspace, inside, all, sender, senderWithin, begin, end, handle, listed },
    schedule: async (more = TELLS_ALL) => {
      const fields = { schedule: 'OFF', environment: 'production', commands: ['dbt build'] }
      return (await createSchedule(inside, { name: `Nightly ${++made}`, ...fields, ...more })).slug
    },
    run: async (slug, kind, prNumber) => {
      const runId = await begin(slug, prNumber)
      await end(runId, kind)
      await handle()
      return runId
    },
    late: async (runId) => {
      await sql`update run set late_at = clock_timestamp() - interval '1 second' where id = ${runId}`.execute(t.app.db)
      await deadlines(t.app).runOnce()
      await handle()
    },
    statesOf: async (channel) => (await listed()).flatMap((one) => (one.channel === channel ? [one.state] : [])),
    untilSettled: async () => {
      for (let hours = 0; hours < 60; hours++) {
        await sender.runOnce()
        if ((await listed()).every((one) => one.state !== 'waiting')) return
        t.clock.advance(1_800_000)
      }
      assert.fail('something still waits')
    },
    counts: () => ({
      slack: all.slack.messages.length,
      teams: all.teams.cards.length,
      inbox: all.smtp.inbox.length,
      pagerduty: all.pagerduty.incidents.length,
      incidentIo: all.incidentIo.incidents.length,
      datadog: all.datadog.incidents.length,
      newRelic: all.newRelic.events.length,
    }),
    [Symbol.asyncDispose]: () => all[Symbol.asyncDispose](),
  }
}
