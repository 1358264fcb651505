// What an incident says, whoever keeps it. One incident stands for a schedule that fails: the first failed run opens it, the
// next ones are added, and the first that passes closes it.
import type { RunReport } from '../run-report.ts'
import {
  cut,
  facts,
  failedCommand,
  headline,
  lastLinesWithin,
  moreNodes,
  nodeText,
  oneLine,
  plain,
  summary,
  timeText,
} from './words.ts'

export type IncidentEvent = 'failed' | 'passed'

/** What is kept with the delivery; `Entry` is what the schedule says about this service. */
export interface IncidentNews<Entry = unknown> {
  readonly report: RunReport
  readonly entry: Entry
  /** The same for all incidents of a schedule and entry. */
  readonly key: string
}

/** A failed run, as short as a list of them needs it. */
export interface FailedRun {
  readonly run: number
  readonly at: string
  readonly link: string
}

const failedRun = (report: RunReport): FailedRun => ({
  run: report.run.id,
  at: timeText(report.run.endDttm ?? report.run.startDttm),
  link: report.links.run,
})

const MOST_OUTPUT = 2000
const MOST_NODES = 20
const MOST_LISTED = 20

/** Names the run: by it an earlier try of the same delivery is known again. */
export const incidentTitle = (report: RunReport, most: number): string => {
  const run = ` (run ${report.run.id})`
  return cut(headline(report, 'failed'), most - run.length) + run
}

/** What happened, in plain text. */
export function incidentDetails(report: RunReport, most: number): string {
  const lines = [summary(report, 'failed'), `Run: ${report.links.run}`]
  if (report.links.failedCommand !== null) lines.push(`Log: ${report.links.failedCommand}`)
  lines.push('', ...facts(report).map((one) => `${one.name}: ${one.value}`))
  const command = failedCommand(report)
  if (command !== null) {
    const exit = command.returnCode === null ? '' : ` ended with ${command.returnCode}`
    lines.push('', `$ ${cut(oneLine(command.command), 500)}${exit}`)
    const output = lastLinesWithin(command.lastLines.map(plain), MOST_OUTPUT)
    if (output !== '') lines.push(output)
  }
  if (report.failedNodes.length > 0) {
    const shown = report.failedNodes.slice(0, MOST_NODES).map((one) => `- ${nodeText(one)}`)
    const more = moreNodes(report, shown.length)
    lines.push('', `Failed in dbt (${report.failedNodeCount}):`, ...shown, ...(more > 0 ? [`- and ${more} more`] : []))
  }
  return cut(lines.join('\n'), most)
}

export const noteText = (report: RunReport): string => {
  const command = failedCommand(report)
  const what = command === null ? '' : ` Failed: ${cut(oneLine(command.command), 200)}`
  return `${summary(report, 'failed')}${what}\n${report.links.run}`
}

export const closingText = (report: RunReport): string => `${summary(report, 'passed')} ${report.links.run}`

/** The failures after the first: how many, and the latest of them. */
export interface Further {
  readonly count: number
  readonly latest: readonly FailedRun[]
}

export const NO_FURTHER: Further = { count: 0, latest: [] }

export const addFailure = (further: Further, report: RunReport): Further => ({
  count: further.count + 1,
  latest: [...further.latest, failedRun(report)].slice(-MOST_LISTED),
})

/**
 * The text of an incident whose service has no notes: the first failure and the list of later ones, each time whole, so that
 * a repeated call changes nothing.
 */
export function runningDetails(first: string, { count, latest }: Further, most: number): string {
  if (count === 0) return cut(first, most)
  const hidden = count - latest.length
  const list = [
    `Also failed since then (${count}):`,
    ...(hidden > 0 ? [`- ${hidden} earlier ones`] : []),
    ...latest.map((one) => `- run ${one.run}, ${one.at}: ${one.link}`),
  ].join('\n')
  return `${cut(first, Math.max(200, most - list.length - 2))}\n\n${list}`
}
