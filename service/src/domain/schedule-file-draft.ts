// What one schedule of a file is gathered into before it is judged.
import type { Entry, Place, YamlReader } from './schedule-file-yaml.ts'
import type { ScheduleInput } from './schedule-input.ts'

/** Where a field of the input stands in the file: `slaSeconds` at `sla_minutes`, line 12. */
export type FieldPlaces = ReadonlyMap<string, { readonly path: string; readonly place: Place }>

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

export interface Draft {
  readonly reader: YamlReader
  readonly input: Mutable<ScheduleInput>
  readonly places: Map<string, { path: string; place: Place }>
  /** Fields that are there but could not be read: nobody says that they are missing. */
  readonly unreadable: Set<string>
}

export function setField(draft: Draft, field: keyof ScheduleInput, entry: Entry, value: unknown): void {
  draft.places.set(field, entry)
  if (value === null) draft.unreadable.add(field)
  else Object.assign(draft.input, { [field]: value })
}

/** A refusal under the key and at the line of the field that it begins with. */
export function translated(
  message: string,
  places: FieldPlaces,
  otherwise: { readonly path: string; readonly place: Place },
): { place: Place; message: string } {
  const [, field = '', text = message] = /^([\w.[\]]+): (.*)$/s.exec(message) ?? []
  for (let known = field; known !== ''; known = known.replace(/(\.\w+|\[\d+\]|^\w+)$/, '')) {
    const found = places.get(known)
    if (found === undefined) continue
    return { place: found.place, message: `${found.path}${snake(field.slice(known.length))}: ${text}` }
  }
  const missing = field === '' ? otherwise.path : `${otherwise.path}.${snake(field)}`
  return { place: otherwise.place, message: `${missing}: ${text}` }
}

/** `gitBranch` is `git_branch` in a file. */
export const snake = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
