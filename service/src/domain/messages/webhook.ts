// What a webhook says, from the report of a run. The forms are those of docs/notifications.md: field for field, with
// the documents that fetch the rest.
import { WIRE_STATES } from '../run.ts'
import type { ReportedCommand, RunReport } from '../run-report.ts'

export const WEBHOOK_EVENTS = ['bolt.run.started', 'bolt.run.completed', 'dinoai.run.completed'] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Receivers may refuse more than this; without the lists of files a body stays under it. */
export const MOST_BODY_BYTES = 256 * 1024

const commandQuery = (id: number): string =>
  `query { boltCommand(commandId: ${id}) { ok id command startDttm endDttm stdout stderr returnCode scheduleRunId resources { id path } } }`

const resourceQuery = (id: number): string => `query { boltResourceUrl(resourceId: ${id}) { ok url } }`

/** The text of the body, exactly as it is signed. */
export function runWebhook(event: string, report: RunReport): string {
  const whole = JSON.stringify(bodyOf(event, report, 'with files'))
  if (Buffer.byteLength(whole) <= MOST_BODY_BYTES) return whole
  const short = JSON.stringify(bodyOf(event, report, 'without files'))
  return Buffer.byteLength(short) <= MOST_BODY_BYTES ? short : JSON.stringify(cutBody(event, report))
}

function bodyOf(event: string, report: RunReport, which: 'with files' | 'without files') {
  const { workspace, schedule, run } = report
  return {
    event,
    api_url: report.apiUrl,
    workspace: { uid: workspace.uid, name: workspace.name },
    schedule: { slug: schedule.slug, name: schedule.name, uuid: schedule.uuid },
    run: {
      id: run.id,
      state: WIRE_STATES[run.state],
      actor: run.actor,
      actor_email: run.actorEmail,
      reason: run.reason,
      start_dttm: run.startDttm,
      end_dttm: run.endDttm,
      branch: run.branch,
      commit_hash: run.commitHash,
      pull_request_id: run.prNumber === null ? null : String(run.prNumber),
      parent_schedule_run_id: run.parentScheduleRunId,
    },
    commands: report.commands.map((one) => commandOf(one, which)),
    ...(which === 'without files' && { truncated: true }),
  }
}

const commandOf = (one: ReportedCommand, which: 'with files' | 'without files') => ({
  id: one.id,
  command: one.command,
  start_dttm: one.startDttm,
  end_dttm: one.endDttm,
  return_code: one.returnCode,
  status: one.state.toUpperCase(),
  api_query: commandQuery(one.id),
  json_resources:
    which === 'without files'
      ? []
      : one.jsonResources.map(({ id, path }) => ({ id, path, resource_query: resourceQuery(id) })),
})

const SHORT_COMMAND = 200

/** A thousand commands of 100 KB: each is cut, and then as many as there is room for are named, the last ones first. */
function cutBody(event: string, report: RunReport) {
  const body = bodyOf(event, report, 'without files')
  const commands = body.commands.map((one) => ({ ...one, command: cut(one.command) }))
  const reason = cut(body.run.reason)
  const head = { ...body, run: { ...body.run, reason }, commands: [] }
  let room = MOST_BODY_BYTES - Buffer.byteLength(JSON.stringify(head))
  let from = commands.length
  while (from > 0) {
    room -= Buffer.byteLength(JSON.stringify(commands[from - 1])) + 1
    if (room < 0) break
    from--
  }
  return { ...head, commands: commands.slice(from), truncated: true }
}

const cut = (text: string): string =>
  text.length > SHORT_COMMAND ? `${text.slice(0, SHORT_COMMAND).toWellFormed()}…` : text

/** What is sent to try a webhook out. */
export const testWebhook = (test: WebhookTest): string =>
  JSON.stringify({ event: 'test', api_url: test.apiUrl, workspace: test.workspace })

export interface WebhookTest {
  readonly apiUrl: string
  readonly workspace: { readonly uid: string; readonly name: string }
}
