// A notice as an adaptive card, posted to the webhook of a Teams workflow. The whole message may have 28 KB. Text of a card
// is Markdown: what came from a run is escaped, so that it cannot become a link.
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
  openLabel,
  plain,
  summary,
} from './words.ts'

type Element = Readonly<Record<string, unknown>>

export interface TeamsMessage {
  readonly type: 'message'
  readonly attachments: readonly [
    {
      readonly contentType: 'application/vnd.microsoft.card.adaptive'
      readonly contentUrl: null
      readonly content: AdaptiveCard
    },
  ]
}

export interface AdaptiveCard {
  readonly $schema: string
  readonly type: 'AdaptiveCard'
  readonly version: '1.4'
  readonly msteams: { readonly width: 'Full' }
  readonly fallbackText: string
  readonly body: readonly Element[]
  readonly actions: readonly Element[]
}

const COLORS: Readonly<Record<NoticeEvent, string>> = {
  failed: 'Attention',
  passed: 'Good',
  sla: 'Warning',
  test: 'Accent',
}

const MOST_OUTPUT = 2500
const MOST_NODES = 15

/** Markdown's own characters, so that they are shown and do nothing. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_[\]()<>#!|~]/g, '\\$&')

const block = (text: string, more: Element = {}): Element => ({ type: 'TextBlock', text, wrap: true, ...more })

export function renderTeams(notice: Notice): TeamsMessage {
  const { event, report, template } = notice
  const body =
    template === null ? builtIn(notice) : [block(fill(template.text, report, event, escapeMarkdown).slice(0, 10_000))]
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          fallbackText: cut(`${headline(report, event)}. ${summary(report, event)}`, 500),
          body,
          actions: actions(report, event),
        },
      },
    ],
  }
}

function builtIn({ event, report }: Notice): Element[] {
  const head = {
    type: 'Container',
    style: event === 'failed' ? 'attention' : event === 'passed' ? 'good' : event === 'sla' ? 'warning' : 'emphasis',
    bleed: true,
    items: [
      block(cut(escapeMarkdown(headline(report, event)), 300), {
        size: 'Large',
        weight: 'Bolder',
        color: COLORS[event],
        style: 'heading',
      }),
      block(cut(escapeMarkdown(summary(report, event)), 1000), { spacing: 'Small' }),
    ],
  }
  if (event === 'test') return [head]
  return [head, ...(event === 'failed' ? failure(report) : []), factSet(report)]
}

const factSet = (report: RunReport): Element => ({
  type: 'FactSet',
  facts: facts(report).map((one) => ({ title: one.name, value: cut(escapeMarkdown(one.value), 500) })),
})

function failure(report: RunReport): Element[] {
  const command = failedCommand(report)
  const elements: Element[] = []
  if (command !== null) {
    const exit = command.returnCode === null ? '' : ` ended with ${command.returnCode}`
    elements.push(block(`${cut(escapeMarkdown(plain(command.command)), 800)}${exit}`, { weight: 'Bolder' }))
    const output = lastLinesWithin(command.lastLines.map(plain), MOST_OUTPUT)
    // Lines of Markdown run together; two breaks keep them apart. Leading spaces are kept by ones that do not break.
    const kept = escapeMarkdown(output).replace(/^ +/gm, (spaces) => '\u00a0'.repeat(spaces.length))
    if (output !== '')
      elements.push({
        type: 'Container',
        style: 'emphasis',
        items: [block(kept.replaceAll('\n', '\n\n'), { fontType: 'Monospace', size: 'Small' })],
      })
  }
  if (report.failedNodes.length > 0) {
    const shown = report.failedNodes.slice(0, MOST_NODES).map((one) => `- ${cut(escapeMarkdown(nodeText(one)), 200)}`)
    const more = moreNodes(report, shown.length)
    const lines = [...shown, ...(more > 0 ? [`- and ${more} more`] : [])]
    elements.push(block(`Failed in dbt (${report.failedNodeCount})`, { weight: 'Bolder' }), block(lines.join('\n')))
  }
  return elements
}

const actions = (report: RunReport, event: NoticeEvent): Element[] => [
  { type: 'Action.OpenUrl', title: openLabel(event), url: report.links.run },
  ...(report.links.failedCommand === null
    ? []
    : [{ type: 'Action.OpenUrl', title: 'Open the log', url: report.links.failedCommand }]),
]
