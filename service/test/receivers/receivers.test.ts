// A receiver that takes anything proves nothing. Every message that the channels send is taken once as it is; then it is
// spoiled in one place at a time, and every spoiled copy must be refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { datadogChannel } from '../../src/adapters/channels/datadog.ts'
import { incidentIoChannel } from '../../src/adapters/channels/incident-io.ts'
import { newRelicChannel } from '../../src/adapters/channels/new-relic.ts'
import { pagerDutyChannel } from '../../src/adapters/channels/pagerduty.ts'
import { slackChannel } from '../../src/adapters/channels/slack.ts'
import { teamsChannel } from '../../src/adapters/channels/teams.ts'
import { smtpMailer } from '../../src/adapters/mail/smtp.ts'
import { renderMail } from '../../src/domain/messages/mail.ts'
import type { Outgoing } from '../../src/ports/channel.ts'
import { channelDeps, line } from '../support/channels.ts'
import {
  DATADOG_ENTRY,
  failedReport,
  INCIDENT_IO_ENTRY,
  lateReport,
  NEW_RELIC_ENTRY,
  news,
  notice,
  PAGERDUTY_ENTRY,
  passedReport,
} from '../support/reports.ts'
import { datadogReceiver } from './datadog.ts'
import { incidentIoReceiver } from './incident-io.ts'
import { newRelicReceiver } from './new-relic.ts'
import { pagerDutyReceiver } from './pagerduty.ts'
import type { Asked, Receiver } from './receiver.ts'
import { slackReceiver } from './slack.ts'
import { faultOf, smtpReceiver } from './smtp.ts'
import { teamsReceiver } from './teams.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** One kind of receiver, with how it is told things and what of its messages may be left out. */
interface Case {
  readonly receiver: Receiver
  tell(): Promise<void>
  /** The headers without which nobody is let in. */
  readonly credentials: readonly string[]
  /** Keys that the documentation calls optional, wherever they stand. */
  readonly optional: readonly string[]
  /** Before each question: brings the receiver into a state in which the unspoiled message would be taken. */
  prepare?(asked: Asked): void
  /** Whether an object may hold keys that nobody documented. */
  readonly open?: true
}

const INCIDENT_NEWS = <Entry>(entry: Entry): Partial<Outgoing>[] => [
  { event: 'failed', body: news(failedReport, entry) },
  { event: 'failed', body: news(failedReport, entry) },
  { event: 'passed', body: news(passedReport, entry) },
]
const NOTICES: Partial<Outgoing>[] = [
  { event: 'sla', body: notice('sla', lateReport) },
  { event: 'failed', body: notice('failed', failedReport) },
]

async function told(to: ReturnType<typeof line>, all: readonly Partial<Outgoing>[]): Promise<void> {
  for (const one of all) {
    const sent = await to.send(one)
    assert.equal(sent.kind, 'delivered', sent.answer)
  }
}

const deps = channelDeps()

const CASES: Readonly<Record<string, () => Promise<Case>>> = {
  slack: async () => {
    const receiver = await slackReceiver()
    const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token }, address: '#alerts' }
    return {
      receiver,
      tell: () => told(line(slackChannel(deps), common), NOTICES),
      credentials: ['authorization'],
      optional: ['emoji', 'blocks', 'unfurl_links', 'unfurl_media', 'thread_ts', 'reply_broadcast'],
    }
  },
  teams: async () => {
    const receiver = await teamsReceiver()
    const common = { secrets: { url: receiver.webhook } }
    return {
      receiver,
      tell: () => told(line(teamsChannel(deps), common), NOTICES),
      credentials: [],
      optional: [
        ...['msteams', 'fallbackText', 'actions', 'bleed', 'wrap', 'size', 'weight', 'color', 'style', 'spacing'],
        'fontType',
      ],
    }
  },
  pagerduty: async () => {
    const receiver = await pagerDutyReceiver()
    const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token } }
    return {
      receiver,
      tell: () => told(line(pagerDutyChannel(deps), common), INCIDENT_NEWS(PAGERDUTY_ENTRY)),
      credentials: ['authorization', 'accept', 'from'],
      optional: [
        ...['priority', 'urgency', 'incident_key', 'body', 'assignments', 'escalation_policy', 'incident_type'],
        ...['status', 'resolution'],
      ],
      prepare: (asked) => {
        for (const incident of receiver.incidents)
          Object.assign(incident, { status: asked.path === '/incidents' ? 'resolved' : 'triggered' })
      },
    }
  },
  'incident.io': async () => {
    const receiver = await incidentIoReceiver()
    const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token } }
    const entry = { ...INCIDENT_IO_ENTRY, severity: 'Major', type: 'Data', status: 'Triage' }
    return {
      receiver,
      tell: () => told(line(incidentIoChannel(deps), common), INCIDENT_NEWS(entry)),
      credentials: ['authorization'],
      optional: ['name', 'summary', 'mode', 'severity_id', 'incident_status_id', 'incident_type_id'],
    }
  },
  datadog: async () => {
    const receiver = await datadogReceiver()
    const { apiKey, applicationKey } = receiver
    const common = { settings: { apiUrl: receiver.url }, secrets: { apiKey, applicationKey } }
    return {
      receiver,
      tell: () => told(line(datadogChannel(deps), common), INCIDENT_NEWS(DATADOG_ENTRY)),
      credentials: ['dd-api-key', 'dd-application-key'],
      optional: ['fields', 'severity', 'state', 'summary', 'notification_handles', 'relationships'],
    }
  },
  'new relic': async () => {
    const receiver = await newRelicReceiver()
    const { accountId, licenseKey } = receiver
    const common = { settings: { apiUrl: receiver.url, accountId }, secrets: { licenseKey } }
    return {
      receiver,
      tell: () => told(line(newRelicChannel(deps), common), INCIDENT_NEWS(NEW_RELIC_ENTRY)),
      credentials: ['api-key'],
      optional: [],
      open: true,
    }
  },
}

/** The value with one place replaced; `undefined` takes it away. */
function replaced(
  value: Json,
  path: readonly (string | number)[],
  by: (old: Json) => Json | undefined,
): Json | undefined {
  const [key, ...rest] = path
  if (key === undefined) return by(value)
  const copy = structuredClone(value) as Record<string | number, Json>
  const inner = replaced(copy[key]!, rest, by)
  if (inner !== undefined) copy[key] = inner
  else if (Array.isArray(copy)) copy.splice(Number(key), 1)
  else delete copy[key]
  return copy as Json
}

function* paths(value: Json, at: (string | number)[] = []): Generator<(string | number)[]> {
  yield at
  if (typeof value !== 'object' || value === null) return
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value))
    yield* paths((value as Record<string | number, Json>)[key]!, [...at, key])
}

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Wrong types, unknown keys, missing fields: one fault in each copy, with what it is. */
function* spoiledBodies(body: Json, { optional, open }: Case): Generator<[string, Json]> {
  for (const path of paths(body)) {
    const last = path.at(-1)
    const name = path.join('.') || 'all'
    yield [`${name} of another type`, replaced(body, path, (old) => (typeof old === 'object' ? 7 : { wrong: [old] }))!]
    if (open === undefined) {
      const extra = replaced(body, path, (old) => (isObject(old) ? { ...old, not_documented: 'x' } : old))!
      if (JSON.stringify(extra) !== JSON.stringify(body)) yield [`${name} with an unknown key`, extra]
    }
    const isFree = typeof last !== 'string' || optional.includes(last) || (open === true && last !== 'eventType')
    if (!isFree) yield [`without ${name}`, replaced(body, path, () => undefined)!]
  }
}

async function ask(
  receiver: Receiver,
  asked: Asked,
  change: { headers?: object; body?: string } = {},
): Promise<boolean> {
  const query = asked.query.size > 0 ? `?${asked.query}` : ''
  const headers = Object.fromEntries(
    Object.entries({ ...asked.headers, ...change.headers }).filter(
      ([name, value]) =>
        value !== undefined && !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
    ),
  ) as Record<string, string>
  const body = change.body ?? asked.body
  const answer = await fetch(`${receiver.url}${asked.path}${query}`, {
    method: asked.method,
    headers,
    ...(body !== '' && { body }),
  })
  const text = await answer.text()
  const isOk = answer.ok && !/"ok":false/.test(text)
  return isOk
}

for (const [name, make] of Object.entries(CASES)) {
  test(`${name}: every message is taken as it is, and no spoiled copy of it`, async () => {
    const one = await make()
    await using receiver = one.receiver
    await one.tell()
    assert.deepEqual(receiver.refused, [])
    const changes = [...receiver.asked].filter((asked) => asked.method !== 'GET')
    assert.ok(changes.length >= 1)
    const taken: string[] = []
    let tried = 0
    const isTaken = (asked: Asked, change: { headers?: object; body?: string } = {}): Promise<boolean> => {
      one.prepare?.(asked)
      return ask(receiver, asked, change)
    }
    for (const asked of changes) {
      assert.ok(await isTaken(asked), `${asked.path}: the unspoiled one`)
      const at = `${asked.method} ${asked.path}`
      for (const header of one.credentials)
        for (const value of [undefined, 'wrong-credential'])
          if (await isTaken(asked, { headers: { [header]: value } })) taken.push(`${at}: ${header} ${value}`)
      if (await isTaken(asked, { body: '{' })) taken.push(`${at}: no JSON`)
      if (await isTaken(asked, { headers: { 'content-type': 'text/plain' } })) taken.push(`${at}: text/plain`)
      for (const [what, body] of spoiledBodies(JSON.parse(asked.body) as Json, one)) {
        tried += 1
        if (await isTaken(asked, { body: JSON.stringify(body) })) taken.push(`${at}: ${what}`)
      }
    }
    assert.deepEqual(taken, [])
    assert.ok(tried > 20, `${tried} spoiled copies`)
  })
}

test('teams: a card that is too large, or for another address, is refused', async () => {
  await using receiver = await teamsReceiver()
  await told(line(teamsChannel(deps), { secrets: { url: receiver.webhook } }), NOTICES)
  const [asked] = receiver.asked
  const large = JSON.parse(asked!.body)
  large.attachments[0].content.fallbackText = 'x'.repeat(28_000)
  assert.equal(await ask(receiver, asked!, { body: JSON.stringify(large) }), false)
  assert.equal(await ask(receiver, { ...asked!, query: new URLSearchParams('sig=other') }), false)
})

test('mail: what is taken is refused without each of its needed headers, with a long line, or reaching out', async () => {
  await using receiver = await smtpReceiver()
  const mailer = smtpMailer({ url: receiver.url, from: 'yard@mail.example.com' })
  const never = new AbortController().signal
  await mailer.send({ id: 'an-id', to: 'ana@example.com', ...renderMail(notice('failed', failedReport)) }, never)
  const [good] = receiver.received
  assert.equal(faultOf(good!), null)
  for (const name of ['from', 'date', 'message-id', 'subject', 'to', 'mime-version', 'content-type']) {
    const headers = new Map([...good!.headers].filter(([one]) => one !== name))
    assert.notEqual(faultOf({ ...good!, headers }), null, name)
  }
  assert.notEqual(faultOf({ ...good!, raw: `${good!.raw}${'x'.repeat(999)}\r\n` }), null)
  assert.notEqual(faultOf({ ...good!, raw: `${good!.raw}\n` }), null)
  assert.notEqual(faultOf({ ...good!, recipients: ['a@example.com', 'b@example.com'] }), null)
  assert.notEqual(faultOf({ ...good!, html: `${good!.html}<img src="https://evil.example/x.png">` }), null)
  assert.notEqual(faultOf({ ...good!, text: '' }), null)
  // And over the wire: a mail that reaches out is not taken.
  const bad = { id: 'other', to: 'ana@example.com', subject: 'x', text: 'x', html: '<img src="https://evil.example">' }
  await assert.rejects(mailer.send(bad, never), /reaches out/)
})
