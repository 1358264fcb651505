// A notice in Slack's Block Kit. Its limits: 50 blocks, 150 characters in a header, 3,000 in a text, 2,000 in a field, and,
// nowhere written but met by others, about 13,000 in all blocks together.
import type { RunReport } from '../run-report.ts'
import type { Notice } from './notice.ts'
import { fill } from './template.ts'
import type { NoticeEvent } from './words.ts'
import {
  cut,
  facts,
  failedCommand,
  headline,
  lastLinesWithin,
  moreNodes,
  nodeText,
  oneLine,
  openLabel,
  plain,
  summary,
} from './words.ts'

export interface SlackMessage {
  /** What is read out or shown in a notification. */
  readonly text: string
  readonly blocks: readonly SlackBlock[]
}

interface SlackText {
  readonly type: 'mrkdwn' | 'plain_text'
  readonly text: string
  readonly emoji?: boolean
}

interface SlackButton {
  readonly type: 'button'
  readonly text: SlackText
  readonly url: string
  readonly action_id: string
  readonly style?: 'primary' | 'danger'
}

export type SlackBlock =
  | { readonly type: 'header'; readonly text: SlackText }
  | { readonly type: 'section'; readonly text: SlackText }
  | { readonly type: 'section'; readonly fields: readonly SlackText[] }
  | { readonly type: 'context'; readonly elements: readonly SlackText[] }
  | { readonly type: 'actions'; readonly elements: readonly SlackButton[] }

const MARKS: Readonly<Record<NoticeEvent, string>> = {
  failed: ':red_circle:',
  passed: ':large_green_circle:',
  sla: ':large_yellow_circle:',
  test: ':wave:',
}

const MOST_HEADER = 150
const MOST_TEXT = 3000
const MOST_FIELD = 2000
const MOST_OUTPUT = 2500
const MOST_NODES = 15
const MOST_URL = 3000

/** The three characters that steer Slack's markup; without them no mention, link or channel can be forged. */
export const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Cut so that what Slack counts, the escaped text, fits. */
export function escapedWithin(text: string, most: number): string {
  const whole = escapeSlack(text)
  if (whole.length <= most) return whole
  let kept = ''
  for (const character of text) {
    const next = escapeSlack(character)
    if (kept.length + next.length >= most) break
    kept += next
  }
  return `${kept}…`
}

/** Backticks end a code span or block early. */
const code = (text: string): string => text.replaceAll('`', "'")

const mrkdwn = (text: string): SlackText => ({ type: 'mrkdwn', text })
const section = (text: string): SlackBlock => ({ type: 'section', text: mrkdwn(text) })

export function renderSlack(notice: Notice): SlackMessage {
  const { event, report, template } = notice
  const title = `${headline(report, event)}. ${summary(report, event)}`
  const text = `${MARKS[event]} ${escapedWithin(title, MOST_TEXT - 40)}`
  if (template !== null) {
    const filled = cut(fill(template.text, report, event, escapeSlack), MOST_TEXT * 3)
    return { text, blocks: [...chunks(filled).map(section), ...actions(report, event)] }
  }
  const header: SlackBlock = {
    type: 'header',
    text: {
      type: 'plain_text',
      text: `${MARKS[event]} ${cut(headline(report, event), MOST_HEADER - 30)}`,
      emoji: true,
    },
  }
  const under = section(escapedWithin(summary(report, event), MOST_TEXT))
  if (event === 'test') return { text, blocks: [header, under, ...actions(report, event)] }
  return {
    text,
    blocks: [
      header,
      under,
      ...(event === 'failed' ? failure(report) : []),
      { type: 'section', fields: facts(report).map(field) },
      ...actions(report, event),
    ],
  }
}

const field = (fact: { name: string; value: string; code?: true }): SlackText => {
  const value = escapedWithin(fact.code ? code(fact.value) : fact.value, MOST_FIELD - 100)
  return mrkdwn(`*${fact.name}*\n${fact.code ? `\`${value}\`` : value}`)
}

function failure(report: RunReport): SlackBlock[] {
  const command = failedCommand(report)
  const blocks: SlackBlock[] = []
  if (command !== null) {
    const exit = command.returnCode === null ? '' : ` ended with ${command.returnCode}`
    blocks.push(section(`\`${escapedWithin(code(plain(command.command)), 600)}\`${exit}`))
    const output = code(lastLinesWithin(command.lastLines.map(plain), MOST_OUTPUT))
    if (output !== '') blocks.push(section(`\`\`\`\n${escapedWithin(output, MOST_TEXT - 10)}\n\`\`\``))
  }
  if (report.failedNodes.length > 0) {
    const shown = report.failedNodes.slice(0, MOST_NODES).map((one) => `• ${escapedWithin(nodeText(one), 150)}`)
    const more = moreNodes(report, shown.length)
    const lines = [...shown, ...(more > 0 ? [`and ${more} more`] : [])]
    blocks.push(section(`*Failed in dbt (${report.failedNodeCount})*\n${lines.join('\n')}`))
  }
  return blocks
}

function actions(report: RunReport, event: NoticeEvent): SlackBlock[] {
  const { run, failedCommand: log } = report.links
  const button = (action: string, label: string, url: string): SlackButton => ({
    type: 'button',
    text: { type: 'plain_text', text: label, emoji: true },
    url,
    action_id: action,
  })
  const elements = [
    button('open_run', openLabel(event), run),
    ...(log === null ? [] : [button('open_log', 'Open the log', log)]),
  ].filter((one) => one.url.length <= MOST_URL)
  return elements.length === 0 ? [] : [{ type: 'actions', elements }]
}

/** A text of any length in pieces that fit, cut between lines where there are any. */
function chunks(text: string): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest.length > MOST_TEXT) {
    const line = rest.lastIndexOf('\n', MOST_TEXT)
    const space = line > 0 ? line : rest.lastIndexOf(' ', MOST_TEXT)
    const at = space > 0 ? space : MOST_TEXT
    pieces.push(rest.slice(0, at))
    rest = rest.slice(at).trimStart()
  }
  return [...pieces, ...(rest === '' ? [] : [rest])].filter((one) => one.trim() !== '')
}

/** What becomes of the notice that a run is late when the run has ended: it says so in its place. */
export function renderSlackUpdate({ event, report }: Notice): SlackMessage {
  const title = `${cut(oneLine(report.schedule.name), MOST_HEADER - 60)} was late and ${event}`
  const text = `${MARKS[event]} ${escapedWithin(`${title}. ${summary(report, event)}`, MOST_TEXT - 40)}`
  return {
    text,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: `${MARKS[event]} ${title}`, emoji: true } },
      section(escapedWithin(summary(report, event), MOST_TEXT)),
      ...actions(report, event),
    ],
  }
}
