// What files would change, and what is wrong with them, for people and for programs.
import type { ScheduleChanges } from '../app/schedule-changes.ts'
import { findingLine } from '../domain/schedule-file.ts'
import type { Finding } from '../domain/schedule-file-yaml.ts'
import { table } from './table.ts'

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

export function shownFindings(findings: readonly Finding[]) {
  const shown = (severity: Finding['severity']) =>
    findings
      .filter((one) => one.severity === severity)
      .map(({ file, place, message }) => ({ file, line: place?.line ?? null, column: place?.column ?? null, message }))
  return { faults: shown('fault'), warnings: shown('warning') }
}

/** What stands in a file must not be able to speak to a terminal. */
export const findingText = (findings: readonly Finding[]): string =>
  findings.map((one) => `${findingLine(one).replace(/\p{Cc}/gu, '?')}\n`).join('')

export const changeRows = (changes: ScheduleChanges) => [
  ...changes.created.map(({ wanted }) => ({ action: 'create', slug: wanted.slug, file: wanted.file, fields: [] })),
  ...changes.restored.map(({ wanted }) => ({ action: 'restore', slug: wanted.slug, file: wanted.file, fields: [] })),
  ...changes.changed.map(({ wanted, fields }) => ({ action: 'change', slug: wanted.slug, file: wanted.file, fields })),
  ...changes.removed.map(({ slug, sourceFile }) => ({ action: 'remove', slug, file: sourceFile ?? '', fields: [] })),
]

export function changeText(changes: ScheduleChanges): string {
  const rows = changeRows(changes)
  const counts = ['create', 'restore', 'change', 'remove'].map(
    (action) => `${rows.filter((one) => one.action === action).length} to ${action}`,
  )
  const total = `${counts.join(', ')}, ${changes.unchanged} as they are.\n`
  if (rows.length === 0) return total
  return `${table(
    ['ACTION', 'SLUG', 'FILE', 'WHAT CHANGES'],
    rows.map((one) => [one.action, one.slug, one.file, one.fields.join(', ')]),
  )}${total}`
}
