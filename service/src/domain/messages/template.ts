// The words of a workspace in place of the built-in ones: text with placeholders such as {{run.state}}, and nothing else.
// There is no code in a template, no loop and no condition: whoever may write one cannot make the service do anything.
// What stands in a placeholder is put in as text, so it can neither hold a placeholder nor become markup.
import { invalidInput } from '../errors.ts'
import type { RunReport } from '../run-report.ts'
import { quoted, refuseNul } from '../text.ts'
import type { NoticeEvent } from './words.ts'
import {
  durationText,
  failedCommand,
  headline,
  lastLinesWithin,
  nodeText,
  oneLine,
  plain,
  stateWord,
  summary,
  timeText,
} from './words.ts'

type Fill = (report: RunReport, event: NoticeEvent) => string

const MOST_OUTPUT = 2000

/** Every placeholder that there is. */
export const PLACEHOLDERS = {
  headline: (report, event) => headline(report, event),
  summary: (report, event) => summary(report, event),
  event: (_, event) => event,
  'workspace.name': ({ workspace }) => workspace.name,
  'workspace.uid': ({ workspace }) => workspace.uid,
  'schedule.name': ({ schedule }) => schedule.name,
  'schedule.slug': ({ schedule }) => schedule.slug,
  'run.id': ({ run }) => String(run.id),
  'run.state': (report) => stateWord(report),
  'run.detail': ({ run }) => run.detail,
  'run.actor': ({ run }) => run.actor,
  'run.actorEmail': ({ run }) => run.actorEmail,
  'run.reason': ({ run }) => run.reason,
  'run.start': ({ run }) => timeText(run.startDttm),
  'run.end': ({ run }) => timeText(run.endDttm ?? ''),
  'run.duration': ({ run }) => (run.seconds === null ? '' : durationText(run.seconds)),
  'run.deadline': ({ run }) => (run.slaSeconds === null ? '' : durationText(run.slaSeconds)),
  'run.branch': ({ run }) => run.branch,
  'run.commit': ({ run }) => run.commitHash.slice(0, 12),
  'run.pullRequest': ({ run }) => (run.prNumber === null ? '' : String(run.prNumber)),
  'run.link': ({ links }) => links.run,
  'command.text': (report) => failedCommand(report)?.command ?? '',
  'command.returnCode': (report) => String(failedCommand(report)?.returnCode ?? ''),
  'command.output': (report) => lastLinesWithin(failedCommand(report)?.lastLines.map(plain) ?? [], MOST_OUTPUT),
  'command.link': ({ links }) => links.failedCommand ?? '',
  'failures.count': ({ failedNodeCount }) => String(failedNodeCount),
  'failures.names': ({ failedNodes }) => failedNodes.map(nodeText).join(', '),
} as const satisfies Readonly<Record<string, Fill>>

const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g
/** These keep their line breaks. */
const LINES = new Set<string>(['command.output'])

/**
 * The text with every placeholder filled.
 * @param harmless how a value is made harmless where it is put
 */
export function fill(text: string, report: RunReport, event: NoticeEvent, harmless: (value: string) => string): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => {
    const value = Object.hasOwn(PLACEHOLDERS, name) ? PLACEHOLDERS[name as keyof typeof PLACEHOLDERS] : null
    // A name that is gone since the template was saved is left as it stands, for people to see.
    if (value === null) return whole
    return harmless(LINES.has(name) ? plain(value(report, event)) : oneLine(value(report, event)))
  })
}

const LONGEST_TEXT = 10_000
const LONGEST_SUBJECT = 200

export function parseTemplateText(text: string, field = 'text'): string {
  if (text.trim() === '') throw invalidInput(`${field}: must not be empty.`)
  if (text.length > LONGEST_TEXT)
    throw invalidInput(`${field}: at most ${LONGEST_TEXT} characters, not ${text.length}.`)
  return refuseUnknown(refuseNul(text, field), field)
}

export function parseTemplateSubject(text: string, field = 'subject'): string {
  const subject = text.trim()
  if (subject.length > LONGEST_SUBJECT || /[\r\n]/.test(subject))
    throw invalidInput(`${field}: one line of up to ${LONGEST_SUBJECT} characters.`)
  return refuseUnknown(refuseNul(subject, field), field)
}

function refuseUnknown(text: string, field: string): string {
  for (const [, name] of text.matchAll(PLACEHOLDER)) {
    if (!Object.hasOwn(PLACEHOLDERS, name!))
      throw invalidInput(
        `${field}: ${quoted(`{{${name}}}`)} is no placeholder. There are: ${Object.keys(PLACEHOLDERS).join(', ')}.`,
      )
  }
  // A brace that was meant for one, such as {{run.state}, would go out as it stands.
  const rest = text.replace(PLACEHOLDER, '')
  if (rest.includes('{{') || rest.includes('}}'))
    throw invalidInput(`${field}: a placeholder is written {{name}}, with two braces on each side and none inside.`)
  return text
}
