// A notice as a mail, in text and in HTML.
import type { RunReport } from '../run-report.ts'
import { escapeHtml, MOST_COMMAND, MOST_NODES, MOST_OUTPUT, mailPage } from './mail-page.ts'
import type { Notice } from './notice.ts'
import { fill } from './template.ts'
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
} from './words.ts'

export interface MailMessage {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const MOST_SUBJECT = 200

const asItIs = (value: string): string => value

export function renderMail(notice: Notice): MailMessage {
  const { event, report, template } = notice
  const ownSubject = template === null ? '' : oneLine(fill(template.subject, report, event, asItIs))
  const subject = cut(ownSubject || usualSubject(notice), MOST_SUBJECT)
  if (template === null) return { subject, text: textOf(notice), html: mailPage(notice, subject, null) }
  const text = plain(fill(template.text, report, event, asItIs))
  // The workspace's own words are text too: whoever writes a template does not write the page.
  const own = plain(fill(escapeHtml(template.text), report, event, escapeHtml))
  return { subject, text: `${text.trimEnd()}\n\n${linksText(notice)}`, html: mailPage(notice, subject, own) }
}

/** In plain letters, so that it needs no encoding where the name of the schedule needs none. */
const usualSubject = ({ event, report }: Notice): string =>
  `${headline(report, event)} (${event === 'test' ? oneLine(report.workspace.name) : `run ${report.run.id}`})`

function textOf(notice: Notice): string {
  const { event, report } = notice
  const lines = [headline(report, event), summary(report, event), '']
  if (event !== 'test') {
    if (event === 'failed') lines.push(...failureText(report))
    const all = facts(report)
    const width = Math.max(...all.map((one) => one.name.length))
    lines.push(...all.map((one) => `${`${one.name}:`.padEnd(width + 2)}${one.value}`), '')
  }
  return `${lines.join('\n')}\n${linksText(notice)}`
}

function failureText(report: RunReport): string[] {
  const command = failedCommand(report)
  const lines: string[] = []
  if (command !== null) {
    const exit = command.returnCode === null ? '' : ` ended with ${command.returnCode}`
    lines.push(`$ ${cut(plain(command.command), MOST_COMMAND)}${exit}`)
    const output = lastLinesWithin(command.lastLines.map(plain), MOST_OUTPUT)
    if (output !== '') lines.push(...output.split('\n').map((line) => `  ${line}`))
    lines.push('')
  }
  if (report.failedNodes.length > 0) {
    lines.push(`Failed in dbt (${report.failedNodeCount}):`)
    lines.push(...report.failedNodes.slice(0, MOST_NODES).map((one) => `  - ${withMessage(one)}`))
    const more = moreNodes(report, Math.min(report.failedNodes.length, MOST_NODES))
    lines.push(...(more > 0 ? [`  - and ${more} more`] : []), '')
  }
  return lines
}

const withMessage = (node: RunReport['failedNodes'][number]): string =>
  node.message === '' ? nodeText(node) : `${nodeText(node)}: ${cut(oneLine(node.message), 300)}`

const linksText = ({ event, report }: Notice): string => {
  const { run, failedCommand: log } = report.links
  return [`${event === 'test' ? 'Yardmaster' : 'Run'}: ${run}`, ...(log === null ? [] : [`Log: ${log}`]), ''].join('\n')
}
