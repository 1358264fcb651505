// What the files of a workspace come to together: which schedules they want, which are gone, and what keeps a file from
// being taken. All or nothing per file: one fault, and everything of the file stays as it was.
//
// That has consequences for other files. What stays as it was still needs what it needed, and gives nothing new to refer
// to. So files are taken out one after the other until the rest fits together; each round can only take out more.
import { nearest } from './nearest.ts'
import { ownerWarning } from './schedule.ts'
import type { FileReading } from './schedule-file.ts'
import { isBroken } from './schedule-file.ts'
import { translated } from './schedule-file-draft.ts'
import type { FileSchedule } from './schedule-file-entry.ts'
import type { KnownSchedule, Links, PlanFacts, Target } from './schedule-file-links.ts'
import {
  environmentOf,
  findCircle,
  linksOf,
  neededBy,
  parentOf,
  resolveParent,
  resolveSchedule,
} from './schedule-file-links.ts'
import type { Finding } from './schedule-file-yaml.ts'
import type { NewScheduleFields } from './schedule-input.ts'
import { quoted } from './text.ts'

export interface WantedSchedule {
  readonly file: string
  readonly slug: string
  readonly environmentId: number
  /** With every schedule that it defers to by its slug. */
  readonly fields: NewScheduleFields
  readonly parent: Target | null
}

export interface FilesPlan {
  readonly files: readonly { readonly path: string; readonly schedules: number; readonly ok: boolean }[]
  /** In order of file and line. */
  readonly findings: readonly Finding[]
  readonly wanted: readonly WantedSchedule[]
  readonly removed: readonly KnownSchedule[]
}

class Planning {
  readonly findings: Finding[]
  readonly broken: Set<string>
  /** Slugs whose file is gone but which something still needs. */
  readonly held = new Set<string>()

  constructor(readings: readonly FileReading[]) {
    this.findings = readings.flatMap((one) => one.findings)
    this.broken = new Set(readings.filter(isBroken).map((one) => one.file))
  }

  fault(schedule: FileSchedule, message: string): void {
    const { place, message: text } = translated(message, schedule.places, {
      path: schedule.slug,
      place: schedule.place,
    })
    this.findings.push({ severity: 'fault', file: schedule.file, place, message: text })
    this.broken.add(schedule.file)
  }

  warn(schedule: FileSchedule, message: string): void {
    const { place, message: text } = translated(message, schedule.places, {
      path: schedule.slug,
      place: schedule.place,
    })
    this.findings.push({ severity: 'warning', file: schedule.file, place, message: text })
  }
}

/** What can be said of files alone, without a workspace: references may lead to what no file makes. */
export function checkFiles(readings: readonly FileReading[]): Pick<FilesPlan, 'files' | 'findings'> {
  const facts: PlanFacts = {
    workspace: null,
    known: [],
    outside: [],
    environments: [],
    people: new Set(),
  }
  const planning = new Planning(readings)
  refuseDoubles(
    planning,
    readings.flatMap((one) => one.schedules),
  )
  const links = linksOf(readings, facts, planning)
  for (const schedule of links.wanted) judgeReferences(planning, schedule, links, facts, 'alone')
  return {
    files: readings.map(({ file, schedules }) => ({
      path: file,
      schedules: schedules.length,
      ok: !planning.broken.has(file),
    })),
    findings: inOrder(planning.findings),
  }
}

const inOrder = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : (a.place?.line ?? 0) - (b.place?.line ?? 0),
  )

export function planFiles(readings: readonly FileReading[], facts: PlanFacts): FilesPlan {
  const planning = new Planning(readings)
  const all = readings.flatMap((one) => one.schedules)
  refuseDoubles(planning, all)
  for (const schedule of all) judgeAlone(planning, schedule, facts)
  let links: Links
  do {
    links = linksOf(readings, facts, planning)
  } while (!settle(planning, links, facts))
  const wanted = links.wanted.map((schedule) => wantedOf(schedule, links, facts))
  return {
    files: readings.map(({ file, schedules }) => ({
      path: file,
      schedules: planning.broken.has(file) ? facts.known.filter(isOf(file)).length : schedules.length,
      ok: !planning.broken.has(file),
    })),
    findings: inOrder(planning.findings),
    wanted,
    removed: links.removed,
  }
}

const isOf = (file: string) => (one: KnownSchedule) => one.active && one.source === 'yaml' && one.sourceFile === file

const whereIs = ({ file, place }: FileSchedule): string => `${file}:${place.line}`

function refuseDoubles(planning: Planning, all: readonly FileSchedule[]): void {
  for (const same of Map.groupBy(all, (one) => one.slug).values()) {
    if (same.length === 1) continue
    for (const one of same) {
      const other = same.find((another) => another !== one)!
      planning.fault(one, `name: the slug ${quoted(one.slug)} is also that of ${whereIs(other)}.`)
    }
  }
  for (const same of Map.groupBy(all, (one) => one.fields.name).values()) {
    for (const one of same.slice(1)) {
      if (one.slug === same[0]!.slug) continue
      planning.warn(
        one,
        `name: ${quoted(one.fields.name)} is also the name of ${whereIs(same[0]!)}; refer to it by its slug.`,
      )
    }
  }
}

/** What can be said of a schedule without the other files. */
function judgeAlone(planning: Planning, schedule: FileSchedule, { known, environments, people }: PlanFacts): void {
  const { slug, fields } = schedule
  if (known.some((one) => one.slug === slug && one.active && one.source === 'ui')) {
    planning.fault(
      schedule,
      `name: ${quoted(slug)} is already the slug of a schedule that was not made by a file. Delete that one (its runs ` +
        'stay, and the file takes them over), or give another slug here.',
    )
  }
  if (environmentOf(environments, fields.environment) === null) {
    const there = environments.map((one) => one.slug).join(', ') || 'none yet'
    planning.fault(
      schedule,
      `environment: no environment ${quoted(fields.environment)} for schedules in this workspace. There are: ${there}.`,
    )
  }
  const { ownerEmail = '' } = fields
  if (ownerEmail !== '' && !people.has(ownerEmail.toLowerCase())) planning.warn(schedule, ownerWarning(ownerEmail))
}

/** Whether what is left fits together; if not, some file has been taken out. */
function settle(planning: Planning, links: Links, facts: PlanFacts): boolean {
  const before = planning.broken.size + planning.held.size
  for (const schedule of links.wanted) judgeReferences(planning, schedule, links, facts)
  for (const gone of links.removed) {
    const needed = neededBy(gone, links)
    if (needed.length === 0) continue
    const message = `${quoted(gone.name)} is gone from here, but is still needed by ${needed.join(', ')}. Change or remove these first.`
    const file = gone.sourceFile ?? ''
    planning.findings.push({ severity: 'fault', file, place: null, message })
    if (links.files.has(file)) planning.broken.add(file)
    else planning.held.add(gone.slug)
  }
  return planning.broken.size + planning.held.size === before
}

function judgeReferences(
  planning: Planning,
  schedule: FileSchedule,
  links: Links,
  facts: PlanFacts,
  how: 'alone' | 'in its workspace' = 'in its workspace',
): void {
  const complain = (found: readonly Target[], message: string): void =>
    how === 'alone' && found.length === 0 ? planning.warn(schedule, message) : planning.fault(schedule, message)
  const keeper = links.kept.get(schedule.slug)
  if (keeper !== undefined) {
    const from = keeper.sourceFile ?? 'another file'
    planning.fault(
      schedule,
      `name: ${quoted(schedule.slug)} comes from ${from}, which has faults. Mend that file first.`,
    )
  }
  for (const field of ['turboCi', 'deferredSchedule'] as const) {
    const deferral = schedule.fields[field]
    if (!deferral?.enabled || deferral.slug === null) continue
    const found = resolveSchedule(deferral.slug, links)
    if (found.length !== 1) complain(found, `${field}.deferredScheduleSlug: ${unresolved(deferral.slug, found, links)}`)
  }
  const trigger = schedule.fields.scheduleTrigger
  if (!trigger?.enabled || trigger.scheduleName === null) return
  const found = resolveParent(schedule, links, facts)
  if (found.length === 0 && how === 'alone' && trigger.workspaceName !== null) return
  if (found.length !== 1) {
    const elsewhere = trigger.workspaceName === null ? '' : ` of the workspace ${quoted(trigger.workspaceName)}`
    complain(found, `scheduleTrigger.scheduleName: ${unresolved(trigger.scheduleName, found, links, elsewhere)}`)
    return
  }
  const circle = findCircle(schedule.slug, links, facts)
  if (circle === null) return
  const way = circle.map((one) => quoted(one)).join(', which waits for ')
  planning.fault(
    schedule,
    circle.length === 1
      ? 'scheduleTrigger.scheduleName: a schedule cannot wait for itself. Name another schedule.'
      : `scheduleTrigger.scheduleName: waits for ${way}: none of them would ever run. Name another schedule.`,
  )
}

function unresolved(text: string, found: readonly Target[], links: Links, elsewhere = ''): string {
  if (found.length > 1) {
    const slugs = found.map((one) => one.slug).join(', ')
    return `${found.length} schedules are called ${quoted(text)}. Give the slug: one of ${slugs}.`
  }
  // What there is in other workspaces is not told: whoever writes a file may not see them.
  const meant = elsewhere === '' ? nearest(text, [...links.bySlug.keys(), ...links.byName.keys()]) : undefined
  const hint = meant === undefined ? '' : ` Did you mean ${quoted(meant)}?`
  const faulty = links.broken.size > 0 && elsewhere === '' ? ' Files with faults give nothing new to refer to.' : ''
  return `no active schedule ${quoted(text)}${elsewhere || ' in the files or in this workspace'}.${hint}${faulty}`
}

function wantedOf(schedule: FileSchedule, links: Links, facts: PlanFacts): WantedSchedule {
  const { file, slug, fields } = schedule
  const deferral = (field: 'turboCi' | 'deferredSchedule') => {
    const given = fields[field]
    if (!given?.enabled || given.slug === null) return {}
    return { [field]: { ...given, slug: resolveSchedule(given.slug, links)[0]!.slug } }
  }
  return {
    file,
    slug,
    environmentId: environmentOf(facts.environments, fields.environment)!.id,
    fields: { ...fields, ...deferral('turboCi'), ...deferral('deferredSchedule') },
    parent: parentOf(slug, links, facts),
  }
}
