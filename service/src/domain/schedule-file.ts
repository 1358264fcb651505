// A file of schedules: `schedules:`, a list, and nothing else but `version`. All or nothing: a file with one fault in it
// gives no schedules, and says all that is wrong.
import type { FileSchedule } from './schedule-file-entry.ts'
import { readEntry } from './schedule-file-entry.ts'
import type { Finding } from './schedule-file-yaml.ts'
import { MOST_FILE_BYTES, YamlReader } from './schedule-file-yaml.ts'

export interface FileReading {
  readonly file: string
  /** Empty when there is a fault. */
  readonly schedules: readonly FileSchedule[]
  readonly findings: readonly Finding[]
}

const MOST_SCHEDULES = 5000

export function readScheduleFile(file: string, text: string): FileReading {
  if (Buffer.byteLength(text) > MOST_FILE_BYTES)
    return brokenFile(file, `is larger than ${MOST_FILE_BYTES / 1024} KiB. Split it into several.`)
  const reader = new YamlReader(file, text)
  const root = reader.root()
  const top = root === null ? null : reader.map(root, ['version', 'schedules'])
  const version = top?.get('version')
  if (version !== undefined && reader.whole(version) !== 1) reader.fault(version.place, 'version: must be 1.')
  const list = top?.get('schedules')
  const entries = list === undefined ? [] : (reader.list(list) ?? [])
  if (entries.length > MOST_SCHEDULES) reader.fault(list!.place, `schedules: at most ${MOST_SCHEDULES} in a file.`)
  const schedules = entries.slice(0, MOST_SCHEDULES).map((entry) => readEntry(reader, entry))
  const findings = reader.findings.toSorted((a, b) => (a.place?.line ?? 0) - (b.place?.line ?? 0))
  return { file, findings, schedules: reader.hasFaults ? [] : schedules.filter((one) => one !== null) }
}

/** For what cannot be read at all. */
export const brokenFile = (file: string, message: string): FileReading => ({
  file,
  schedules: [],
  findings: [{ severity: 'fault', file, place: null, message }],
})

export const isBroken = (reading: { readonly findings: readonly Finding[] }): boolean =>
  reading.findings.some((one) => one.severity === 'fault')

/** `.bolt/daily.yml:12:5: …`, as compilers say it, so that editors and reviewers can follow it. */
export function findingLine({ file, place, message, severity }: Finding): string {
  const where = place === null ? file : `${file}:${place.line}:${place.column}`
  return `${where}: ${severity === 'warning' ? 'warning: ' : ''}${message}`
}
