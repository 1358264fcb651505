// Which schedule refers to which, over everything that would stand after a sync: the schedules of good files, what stays
// as it was because its file has faults, those that no file made, and those of other workspaces.
import { matchEnvironment } from './environment.ts'
import type { ScheduleSource } from './schedule.ts'
import type { FileReading } from './schedule-file.ts'
import type { FileSchedule } from './schedule-file-entry.ts'
import { quoted } from './text.ts'

/** A schedule of the workspace as it stands, an inactive one too. */
export interface KnownSchedule {
  readonly id: number
  readonly slug: string
  readonly name: string
  readonly source: ScheduleSource
  readonly sourceFile: string | null
  readonly active: boolean
  /** The slugs that it defers to, and the parent that it waits for; only what is enabled. */
  readonly defersTo: readonly string[]
  readonly parentId: number | null
}

export interface PlanFacts {
  /** Null where files are looked at alone: then every name of a workspace may be its own. */
  readonly workspace: { readonly name: string; readonly uid: string } | null
  readonly known: readonly KnownSchedule[]
  /** Active ones of other workspaces, as far as they are named or wait for something. */
  readonly outside: readonly OutsideSchedule[]
  /** Those for schedules. */
  readonly environments: readonly {
    readonly id: number
    readonly slug: string
    readonly displayName: string
    readonly isDefault: boolean
  }[]
  /** The addresses of the workspace's people, in small letters. */
  readonly people: ReadonlySet<string>
}

/** An active schedule of another workspace. */
export interface OutsideSchedule {
  readonly id: number
  readonly slug: string
  readonly name: string
  readonly workspaceName: string
  readonly workspaceUid: string
  readonly parentId: number | null
}

/** What a reference leads to: a schedule of the workspace, which may have no id yet, or one of another. */
export type Target =
  | { readonly kind: 'own'; readonly slug: string; readonly name: string }
  | { readonly kind: 'outside'; readonly id: number; readonly slug: string; readonly name: string }

export interface Links {
  /** The schedules of good files. */
  readonly wanted: readonly FileSchedule[]
  /** By slug: active ones that stay as they are because their file has faults, or because something needs them. */
  readonly kept: ReadonlyMap<string, KnownSchedule>
  /** Active ones that no good file has any more. */
  readonly removed: readonly KnownSchedule[]
  /** Everything of the workspace that can be referred to. */
  readonly bySlug: ReadonlyMap<string, FileSchedule | KnownSchedule>
  readonly byName: ReadonlyMap<string, readonly Target[]>
  readonly byId: ReadonlyMap<number, KnownSchedule>
  readonly outside: ReadonlyMap<number, OutsideSchedule>
  readonly files: ReadonlySet<string>
  readonly broken: ReadonlySet<string>
}

export function linksOf(
  readings: readonly FileReading[],
  facts: PlanFacts,
  { broken, held }: { readonly broken: ReadonlySet<string>; readonly held: ReadonlySet<string> },
): Links {
  const wanted = readings.filter((one) => !broken.has(one.file)).flatMap((one) => one.schedules)
  const slugs = new Set(wanted.map((one) => one.slug))
  const fromFiles = facts.known.filter((one) => one.active && one.source === 'yaml')
  const kept = fromFiles.filter((one) => broken.has(one.sourceFile ?? '') || held.has(one.slug))
  const standing = [...kept, ...facts.known.filter((one) => one.active && one.source === 'ui')]
  // A good file's own words come last: they are what will stand.
  const bySlug = new Map<string, FileSchedule | KnownSchedule>([...standing, ...wanted].map((one) => [one.slug, one]))
  const called = [...bySlug.values()].flatMap((one) => {
    const names = 'names' in one ? one.names : [one.name]
    return names.map((name) => ({ name, target: ownTarget(one) }))
  })
  const grouped = Map.groupBy(called, (one) => one.name)
  return {
    wanted,
    kept: new Map(kept.map((one) => [one.slug, one])),
    removed: fromFiles.filter((one) => !slugs.has(one.slug) && !kept.includes(one)),
    bySlug,
    byName: new Map([...grouped].map(([name, all]) => [name, all.map((one) => one.target)])),
    byId: new Map(facts.known.map((one) => [one.id, one])),
    outside: new Map(facts.outside.map((one) => [one.id, one])),
    files: new Set(readings.map((one) => one.file)),
    broken: new Set(broken),
  }
}

const ownTarget = (one: FileSchedule | KnownSchedule): Target => ({
  kind: 'own',
  slug: one.slug,
  name: 'names' in one ? one.fields.name : one.name,
})

/** By slug, else by name; more than one only where several share the name. */
export function resolveSchedule(text: string, { bySlug, byName }: Links): readonly Target[] {
  const exact = bySlug.get(text)
  return exact === undefined ? (byName.get(text) ?? []) : [ownTarget(exact)]
}

export function resolveParent(
  { fields }: FileSchedule,
  links: Links,
  { workspace, outside }: PlanFacts,
): readonly Target[] {
  const { scheduleName, workspaceName } = fields.scheduleTrigger!
  const named = (one: { readonly name: string; readonly uid: string }): boolean =>
    one.uid === workspaceName || one.name.toLowerCase() === workspaceName?.toLowerCase()
  if (workspaceName === null || workspace === null || named(workspace)) return resolveSchedule(scheduleName!, links)
  const there = outside.filter((one) => named({ name: one.workspaceName, uid: one.workspaceUid }))
  const exact = there.filter((one) => one.slug === scheduleName)
  const found = exact.length > 0 ? exact : there.filter((one) => one.name === scheduleName)
  return found.map(({ id, slug, name }) => ({ kind: 'outside', id, slug, name }))
}

/** What a schedule of the workspace would wait for. */
export function parentOf(slug: string, links: Links, facts: PlanFacts): Target | null {
  const one = links.bySlug.get(slug)
  if (one === undefined) return null
  if (!('names' in one)) return targetOfId(one.parentId, links)
  const trigger = one.fields.scheduleTrigger
  return trigger?.enabled && trigger.scheduleName !== null ? (resolveParent(one, links, facts)[0] ?? null) : null
}

function targetOfId(id: number | null, { byId, outside }: Links): Target | null {
  const own = id === null ? undefined : byId.get(id)
  if (own !== undefined) return ownTarget(own)
  const other = id === null ? undefined : outside.get(id)
  return other === undefined ? null : { kind: 'outside', id: other.id, slug: other.slug, name: other.name }
}

/** The names of those that a schedule waits for, one after the other, up to itself; null where it is not among them. */
export function findCircle(slug: string, links: Links, facts: PlanFacts): string[] | null {
  const way: string[] = []
  const seen = new Set<string>()
  for (let at = parentOf(slug, links, facts); at !== null; ) {
    way.push(at.name)
    if (at.kind === 'own' && at.slug === slug) return way
    const key = at.kind === 'own' ? at.slug : String(at.id)
    if (seen.has(key)) return null
    seen.add(key)
    at =
      at.kind === 'own'
        ? parentOf(at.slug, links, facts)
        : targetOfId(links.outside.get(at.id)?.parentId ?? null, links)
  }
  return null
}

/** Who would be left without a schedule if it went: what stays as it is, and other workspaces. */
export function neededBy(gone: KnownSchedule, { bySlug, outside }: Links): string[] {
  const named = [...bySlug.values()].flatMap((one) => {
    if ('names' in one || one.id === gone.id) return []
    if (one.parentId === gone.id) return [`${quoted(one.name)} (waits for it)`]
    return one.defersTo.includes(gone.slug) ? [`${quoted(one.name)} (defers to it)`] : []
  })
  const elsewhere = [...outside.values()].filter((one) => one.parentId === gone.id).length
  return elsewhere === 0 ? named : [...named, `${elsewhere} of other workspaces`]
}

/**
 * By slug, else by the name that people see. The existing product knows one environment, `production`: where none is
 * called so, it is the default.
 */
export const environmentOf = (all: PlanFacts['environments'], text: string): PlanFacts['environments'][number] | null =>
  matchEnvironment(all, text) ??
  (text.toLowerCase() === 'production' ? (all.find((one) => one.isDefault) ?? null) : null)
