// The HTML of a mail. It stands on its own: no picture, style or script from elsewhere, so that opening it tells nobody
// anything; tables, because some programs know nothing else; colours for light and dark.
import type { RunReport } from '../run-report.ts'
import type { Notice } from './notice.ts'
import type { Fact, NoticeEvent } from './words.ts'
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

export const MOST_OUTPUT = 4096
export const MOST_COMMAND = 1000
export const MOST_NODES = 50

export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

const ACCENTS: Readonly<Record<NoticeEvent, string>> = {
  failed: '#c62828',
  passed: '#2e7d32',
  sla: '#b26a00',
  test: '#3451b2',
}

const LABELS: Readonly<Record<NoticeEvent, string>> = {
  failed: 'Failed',
  passed: 'Passed',
  sla: 'Late',
  test: 'Test',
}

const SANS = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
const MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace"

/** Programs that take no style block show the light colours, which stand on the elements themselves. */
const STYLE = `:root{color-scheme:light dark;supported-color-schemes:light dark}
body,table,td{-webkit-text-size-adjust:100%}
@media (max-width:600px){.outer{padding:0!important}.card{border-radius:0!important}.pad{padding-left:20px!important;padding-right:20px!important}.button{display:block!important;margin:0 0 10px!important;text-align:center!important}}
@media (prefers-color-scheme:dark){.page{background:#14161a!important}.card{background:#1d2026!important;border-left-color:#33373f!important;border-right-color:#33373f!important;border-bottom-color:#33373f!important}.ink{color:#eceef2!important}.soft{color:#a2a9b5!important}.row{border-color:#2c3038!important}.code{background:#14161a!important;border-color:#33373f!important;color:#e3e6eb!important}.button{background:#e3e6eb!important;color:#14161a!important}.quiet{background:#1d2026!important;color:#eceef2!important;border-color:#4a505b!important}.own{color:#eceef2!important}.failed{background:#45191b!important;color:#ffb3ad!important}.passed{background:#15351c!important;color:#a5dba9!important}.sla{background:#3d2c0a!important;color:#f5cf86!important}.test{background:#1c2750!important;color:#b9c6ff!important}}`

const TINTS: Readonly<Record<NoticeEvent, string>> = {
  failed: '#fdecea',
  passed: '#e8f5e9',
  sla: '#fff4e0',
  test: '#e8ecfb',
}

/** @param own the words of the workspace in place of ours, as HTML; null for ours */
export function mailPage(notice: Notice, subject: string, own: string | null): string {
  const { event, report } = notice
  const body = own === null ? builtIn(notice) : ownWords(own)
  const accent = ACCENTS[event]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f3f4f6">
<div style="display:none;max-height:0;overflow:hidden">${escapeHtml(summary(report, event))}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:#f3f4f6">
<tr><td class="outer" align="center" style="padding:32px 16px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" style="max-width:640px;background:#ffffff;border:1px solid #e1e4e8;border-top:4px solid ${accent};border-radius:8px;font-family:${SANS};text-align:left">
<tr><td class="pad" style="padding:28px 32px 0">
<span class="${event}" style="display:inline-block;padding:3px 10px;border-radius:999px;background:${TINTS[event]};color:${accent};font-size:12px;line-height:18px;font-weight:600;letter-spacing:.02em">${LABELS[event]}</span>
<h1 class="ink" style="margin:12px 0 4px;color:#1b1f24;font-size:22px;line-height:30px;font-weight:650;overflow-wrap:anywhere">${escapeHtml(headline(report, event))}</h1>
<p class="soft" style="margin:0 0 20px;color:#57606a;font-size:15px;line-height:22px;overflow-wrap:anywhere">${escapeHtml(summary(report, event))}</p>
</td></tr>
${body}
<tr><td class="pad" style="padding:24px 32px 28px">${buttons(report, event)}</td></tr>
</table>
<p class="soft" style="margin:16px 0 0;padding:0 16px;color:#6e7781;font-family:${SANS};font-size:12px;line-height:18px">${escapeHtml(footer(event, report))}</p>
</td></tr>
</table>
</body>
</html>
`
}

const ownWords = (html: string): string =>
  `<tr><td class="own pad" style="padding:8px 32px 0;font-size:15px;line-height:24px;white-space:pre-wrap">${html}</td></tr>`

const footer = (event: NoticeEvent, { schedule, workspace }: RunReport): string =>
  event === 'test'
    ? 'Sent by Yardmaster because somebody asked for a test.'
    : `Sent by Yardmaster for ${oneLine(schedule.name)} in ${oneLine(workspace.name)}. Who gets it is set in the schedule.`

function buttons(report: RunReport, event: NoticeEvent): string {
  const button = (label: string, url: string, quiet: boolean): string => {
    const look = quiet
      ? 'background:#ffffff;color:#1b1f24;border:1px solid #d0d7de'
      : 'background:#1b1f24;color:#ffffff;border:1px solid transparent'
    return `<a class="button${quiet ? ' quiet' : ''}" href="${escapeHtml(url)}" style="display:inline-block;margin:0 8px 0 0;padding:9px 18px;border-radius:6px;${look};font-size:14px;line-height:20px;font-weight:600;text-decoration:none">${label}</a>`
  }
  const log = report.links.failedCommand
  return button(openLabel(event), report.links.run, false) + (log === null ? '' : button('Open the log', log, true))
}

function builtIn({ event, report }: Notice): string {
  if (event === 'test') return ''
  const rows = facts(report).map(row).join('\n')
  return `${event === 'failed' ? failure(report) : ''}<tr><td class="pad" style="padding:4px 32px 0">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="font-size:14px;line-height:20px">
${rows}
</table></td></tr>`
}

function row(fact: Fact): string {
  const value = escapeHtml(fact.value)
  const shown = fact.code ? `<span style="font-family:${MONO};font-size:13px;line-height:1">${value}</span>` : value
  return `<tr><td class="soft row" width="128" valign="top" style="padding:8px 12px 8px 0;border-top:1px solid #eaeef2;color:#57606a;white-space:nowrap">${fact.name}</td><td class="ink row" valign="top" style="padding:8px 0;border-top:1px solid #eaeef2;color:#1b1f24;overflow-wrap:anywhere">${shown}</td></tr>`
}

const label = (text: string): string =>
  `<p class="ink" style="margin:0 0 8px;color:#1b1f24;font-size:14px;line-height:20px;font-weight:600">${text}</p>`

function failure(report: RunReport): string {
  const command = failedCommand(report)
  const parts: string[] = []
  if (command !== null) {
    const exit =
      command.returnCode === null
        ? ''
        : ` <span class="soft" style="color:#57606a">ended with ${command.returnCode}</span>`
    const text = escapeHtml(cut(plain(command.command), MOST_COMMAND))
    parts.push(
      `<p class="ink" style="margin:0 0 8px;color:#1b1f24;font-size:14px;line-height:20px;overflow-wrap:anywhere"><span style="font-family:${MONO};font-size:13px;font-weight:600">${text}</span>${exit}</p>`,
    )
    const output = lastLinesWithin(command.lastLines.map(plain), MOST_OUTPUT)
    if (output !== '')
      parts.push(
        `<pre class="code" style="margin:0 0 20px;padding:12px 14px;background:#f6f8fa;border:1px solid #e1e4e8;border-radius:6px;color:#24292f;font-family:${MONO};font-size:12px;line-height:18px;white-space:pre-wrap;overflow-wrap:anywhere">${escapeHtml(output)}</pre>`,
      )
  }
  if (report.failedNodes.length > 0) {
    const items = report.failedNodes.slice(0, MOST_NODES).map((node) => {
      const why =
        node.message === ''
          ? ''
          : `<br><span class="soft" style="color:#57606a;font-size:13px">${escapeHtml(cut(oneLine(node.message), 300))}</span>`
      return `<li style="margin:0 0 6px"><span style="font-family:${MONO};font-size:13px">${escapeHtml(nodeText(node))}</span>${why}</li>`
    })
    const more = moreNodes(report, items.length)
    if (more > 0) items.push(`<li class="soft" style="margin:0;color:#57606a">and ${more} more</li>`)
    parts.push(
      label(`Failed in dbt (${report.failedNodeCount})`),
      `<ul class="ink" style="margin:0 0 20px;padding:0 0 0 18px;color:#1b1f24;font-size:14px;line-height:20px;overflow-wrap:anywhere">${items.join('')}</ul>`,
    )
  }
  return parts.length === 0 ? '' : `<tr><td class="pad" style="padding:0 32px">${parts.join('\n')}</td></tr>\n`
}
