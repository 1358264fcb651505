// Words, lengths and times as messages write them. Everything here is pure; what a service allows in length or
// escaping is in the file of that service.
import { WIRE_STATES } from '../run.ts'
import type { FailedNode, ReportedCommand, RunReport } from '../run-report.ts'

/** `test` is what the test button sends. */
export type NoticeEvent = 'failed' | 'passed' | 'sla' | 'test'

/** As the interface writes it. */
export const stateWord = (report: RunReport): string => WIRE_STATES[report.run.state]

/** 3725 → 1 h 2 min 5 s. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor((whole % 86_400) / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'min'],
    [whole % 60, 's'],
  ] as const
  const told = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`)
  return told.length === 0 ? '0 s' : told.join(' ')
}

/** `2026-03-02 09:00:00.123456` → `2026-03-02 09:00 UTC`. */
export const timeText = (wire: string): string => (wire === '' ? '' : `${wire.slice(0, 16).replace('T', ' ')} UTC`)

/** At most so many UTF-16 units, never half a character. */
export function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`
}

/** The last lines that fit, whole ones as far as there are any. */
export function lastLinesWithin(lines: readonly string[], most: number): string {
  const kept: string[] = []
  let room = most
  for (const line of lines.toReversed()) {
    if (line.length > room) {
      if (kept.length === 0) kept.push(cut(line, room))
      break
    }
    kept.push(line)
    room -= line.length + 1
  }
  return kept.toReversed().join('\n')
}

/** What steers a terminal or hides itself in a text has no place in a message. Line breaks and tabs stay. */
export const plain = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
    .replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, '')
    .replace(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '')
    .toWellFormed()

export const oneLine = (text: string): string => plain(text).replace(/\s+/g, ' ').trim()

const failedCommands = (report: RunReport): ReportedCommand[] =>
  report.commands.filter((one) => one.state === 'failed' || one.state === 'stopped')

/** The first command that failed: what came after it mostly failed because of it. */
export const failedCommand = (report: RunReport): ReportedCommand | null => failedCommands(report)[0] ?? null

const VERBS = { failed: 'failed', passed: 'passed', sla: 'is late' } as const

/** Nightly build failed. */
export const headline = (report: RunReport, event: NoticeEvent): string =>
  event === 'test' ? 'Test message' : `${oneLine(report.schedule.name)} ${VERBS[event]}`

/** One sentence under the headline. */
export function summary(report: RunReport, event: NoticeEvent): string {
  const { run } = report
  const took = run.seconds === null ? '' : ` after ${durationText(run.seconds)}`
  switch (event) {
    case 'passed':
      return `Run ${run.id} passed${took}.`
    case 'sla': {
      const deadline = durationText(run.slaSeconds ?? run.seconds ?? 0)
      // It may have ended before anybody could be told.
      if (run.endDttm !== null)
        return `Run ${run.id} was still going after ${deadline}, its deadline; it has ended${took}.`
      return `Run ${run.id} is still going after ${deadline}, its deadline.`
    }
    case 'test':
      return `Messages of the workspace ${oneLine(report.workspace.name)} arrive here.`
    case 'failed':
      return `Run ${run.id} failed${took}.${run.detail === '' ? '' : ` ${oneLine(run.detail)}`}`
  }
}

export interface Fact {
  readonly name: string
  readonly value: string
  /** Written in a fixed-width face. */
  readonly code?: true
}

const MOST_FACT = 400

/** Everything that is said in a table of two columns, in this order. */
export function facts(report: RunReport): Fact[] {
  const { run } = report
  const who = run.actorEmail === '' || run.actorEmail === run.actor ? run.actor : `${run.actor} (${run.actorEmail})`
  const others = failedCommands(report).length - 1
  const all: (Fact | null)[] = [
    { name: 'Workspace', value: report.workspace.name },
    { name: 'State', value: stateWord(report) },
    run.startDttm === '' ? null : { name: 'Started', value: timeText(run.startDttm) },
    run.seconds === null ? null : { name: 'Duration', value: durationText(run.seconds) },
    { name: 'Started by', value: run.reason === '' ? who : `${who}: ${run.reason}` },
    run.branch === '' ? null : { name: 'Branch', value: run.branch, code: true },
    run.commitHash === '' ? null : { name: 'Commit', value: run.commitHash.slice(0, 12), code: true },
    run.prNumber === null ? null : { name: 'Pull request', value: `#${run.prNumber}` },
    run.parentScheduleRunId === null ? null : { name: 'Parent run', value: String(run.parentScheduleRunId) },
    others < 1 ? null : { name: 'Also failed', value: others === 1 ? '1 more command' : `${others} more commands` },
  ]
  return all.filter((one) => one !== null).map((one) => ({ ...one, value: cut(oneLine(one.value), MOST_FACT) }))
}

/** model.shop.orders → orders (model); a test keeps the name that people gave it, without dbt's hash. */
export function nodeText(node: FailedNode): string {
  const parts = node.uniqueId.split('.')
  const kind = parts[0] ?? ''
  const rest = parts.slice(2)
  if (kind === 'test' && rest.length > 1 && /^[0-9a-f]{8,}$/.test(rest.at(-1)!)) rest.pop()
  const name = rest.join('.') || node.uniqueId
  return oneLine(kind === '' || rest.length === 0 ? name : `${name} (${kind})`)
}

/** What stands on the button that leads to the service. */
export const openLabel = (event: NoticeEvent): string => (event === 'test' ? 'Open Yardmaster' : 'Open the run')

/** How many more there are than are shown. */
export const moreNodes = (report: RunReport, shown: number): number => Math.max(0, report.failedNodeCount - shown)
