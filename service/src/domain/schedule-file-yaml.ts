// One YAML file, read node by node, so that everything said about it has its line and column. Nothing is turned into
// plain objects: aliases are followed where they stand, and only where something is looked for, so a file of aliases of
// aliases costs nothing. Whoever may push to the repository writes these files: size, depth and aliases have limits.
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
} from 'yaml'
import { findDepthFault, syntaxFault, unknownKey } from './schedule-file-syntax.ts'

export interface Place {
  readonly line: number
  readonly column: number
}

export interface Finding {
  readonly severity: 'fault' | 'warning'
  readonly file: string
  /** Null where it is about the file as a whole. */
  readonly place: Place | null
  readonly message: string
}

/** A value behind a key or in a list, with how it is called in messages (`notifications.emails[0].events`). */
export interface Entry {
  readonly path: string
  readonly place: Place
  readonly node: Node
}

export type Entries = ReadonlyMap<string, Entry>

export const MOST_FILE_BYTES = 512 * 1024
const MOST_ALIASES = 1000
const MOST_FINDINGS = 100

/** YAML 1.1, which the existing product reads, has more words for these than YAML 1.2. */
const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
}

export class YamlReader {
  readonly file: string
  readonly findings: Finding[] = []
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #broken: boolean
  #aliases = 0

  constructor(file: string, text: string) {
    this.file = file
    const tooDeep = findDepthFault(text)
    // Two equal keys are looked for here, in the maps that are read: the library compares each key with all others.
    this.#document = parseDocument(tooDeep === null ? text : '', {
      lineCounter: this.#lines,
      prettyErrors: false,
      uniqueKeys: false,
    })
    if (tooDeep !== null) this.fault({ line: tooDeep, column: 1 }, 'is nested too deeply to be read.')
    for (const error of this.#document.errors.slice(0, MOST_FINDINGS)) {
      const { line, col } = this.#lines.linePos(error.pos[0])
      // The parser finds one mistake several times. Its own words quote the file, which may hold a secret.
      if (this.findings.some((one) => one.place?.line === line)) continue
      this.fault({ line, column: col }, syntaxFault(error.code))
    }
    this.#broken = this.findings.length > 0
  }

  /** The whole file; null where there is nothing in it, or where it is no YAML. */
  root(): Entry | null {
    const node = this.#document.contents
    if (this.#broken || node === null || isNull(node as Node)) return null
    return { path: '', place: this.#placeOf(node as Node), node: node as Node }
  }

  get hasFaults(): boolean {
    return this.findings.some((one) => one.severity === 'fault')
  }

  fault(place: Place | null, message: string): void {
    this.#add({ severity: 'fault', file: this.file, place, message })
  }

  warn(place: Place | null, message: string): void {
    this.#add({ severity: 'warning', file: this.file, place, message })
  }

  #add(finding: Finding): void {
    if (this.findings.length < MOST_FINDINGS) this.findings.push(finding)
  }

  /** The keys of a map that are given, null not being given; every other key is a fault. Null where it is no map. */
  map(entry: Entry, known: readonly string[]): Entries | null {
    const entries = new Map<string, Entry>()
    const node = this.#follow(entry)
    if (node === null) return null
    if (!isMap(node)) {
      this.fault(
        entry.place,
        `${entry.path || 'the file'}: must be a map with keys such as ${known.slice(0, 4).join(', ')}.`,
      )
      return null
    }
    return this.#collect(node, { entry, known, entries, seen: new Set() }) ? entries : null
  }

  #collect(
    node: Node,
    into: { entry: Entry; known: readonly string[]; entries: Map<string, Entry>; seen: Set<string> },
  ): boolean {
    if (!isMap(node)) return false
    const merged: Node[] = []
    for (const pair of node.items) {
      const key = pair.key as Node
      const name = isScalar(key) ? (key.source ?? String(key.value)) : null
      const place = this.#placeOf(key)
      const value = pair.value as Node | null
      if (name === '<<' && value !== null) {
        merged.push(value)
        continue
      }
      const path = into.entry.path === '' ? (name ?? '') : `${into.entry.path}.${name}`
      if (name === null) this.fault(place, `${into.entry.path || 'the file'}: a key must be a text.`)
      else if (into.seen.has(name)) this.fault(place, `${path}: is there twice.`)
      else if (!into.known.includes(name)) this.fault(place, unknownKey(name, into.entry.path, into.known))
      else if (value !== null && !isNull(value)) {
        into.entries.set(name, { path, place: this.#placeOf(value) ?? place, node: value })
      }
      if (name !== null) into.seen.add(name)
    }
    // `<<: *base` gives what is not said here.
    for (const value of merged) if (!this.#merge(value, into)) return false
    return true
  }

  #merge(
    value: Node,
    into: { entry: Entry; known: readonly string[]; entries: Map<string, Entry>; seen: Set<string> },
  ): boolean {
    const base = this.#follow({ ...into.entry, node: value, place: this.#placeOf(value) })
    if (base === null) return false
    if (isSeq(base)) return base.items.every((one) => this.#merge(one as Node, into))
    const further = new Map<string, Entry>()
    if (!this.#collect(base, { ...into, entries: further, seen: new Set() })) {
      this.fault(this.#placeOf(value), `${into.entry.path}.<<: must name a map.`)
      return false
    }
    for (const [name, entry] of further) {
      if (!into.seen.has(name)) into.entries.set(name, entry)
      into.seen.add(name)
    }
    return true
  }

  /** The pairs of a map with keys of the writer's own. */
  pairs(entry: Entry): ({ key: string; value: Entry; at: Entry } | null)[] | undefined {
    const node = this.#follow(entry)
    if (!isMap(node)) return undefined
    return node.items.map((pair) => {
      const [key, value] = [pair.key as Node, pair.value as Node | null]
      const at = { path: entry.path, place: this.#placeOf(key), node: key }
      const name = this.text(at)
      if (name === null || value === null || isNull(value)) {
        this.fault(at.place, `${entry.path}: a key needs a value.`)
        return null
      }
      return { key: name, value: { path: `${entry.path}.${name}`, place: this.#placeOf(value), node: value }, at }
    })
  }

  list(entry: Entry): Entry[] | null {
    const node = this.#follow(entry)
    if (node === null) return null
    if (!isSeq(node)) {
      this.fault(entry.place, `${entry.path}: must be a list; begin each line with a hyphen.`)
      return null
    }
    return node.items.flatMap((item, index) => {
      const one = item as Node | null
      const place = one === null ? entry.place : this.#placeOf(one)
      return one === null || isNull(one) ? [] : [{ path: `${entry.path}[${index}]`, place, node: one }]
    })
  }

  isMap(entry: Entry): boolean {
    return isMap(this.#follow(entry))
  }

  isList(entry: Entry): boolean {
    return isSeq(this.#follow(entry))
  }

  /** Numbers and words such as `yes` are taken as they are written. */
  text(entry: Entry): string | null {
    const scalar = this.#scalar(entry, 'a text')
    if (scalar === null) return null
    return typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? String(scalar.value))
  }

  flag(entry: Entry): boolean | null {
    const scalar = this.#scalar(entry, 'true or false')
    if (scalar === null) return null
    const flag = typeof scalar.value === 'boolean' ? scalar.value : FLAGS[String(scalar.value).toLowerCase()]
    if (flag !== undefined) return flag
    this.fault(entry.place, `${entry.path}: must be true or false.`)
    return null
  }

  whole(entry: Entry): number | null {
    const scalar = this.#scalar(entry, 'a whole number')
    if (scalar === null) return null
    const number = typeof scalar.value === 'string' && scalar.value.trim() !== '' ? Number(scalar.value) : scalar.value
    if (typeof number === 'number' && Number.isInteger(number)) return number
    this.fault(entry.place, `${entry.path}: must be a whole number.`)
    return null
  }

  /** A list of texts, or one text. */
  texts(entry: Entry): { text: string; entry: Entry }[] | null {
    const entries = this.isList(entry) ? this.list(entry) : [entry]
    if (entries === null) return null
    const read = entries.map((one) => ({ text: this.text(one), entry: one }))
    return read.every((one) => one.text !== null) ? (read as { text: string; entry: Entry }[]) : null
  }

  #scalar(entry: Entry, what: string): Scalar | null {
    const node = this.#follow(entry)
    if (node === null) return null
    if (isScalar(node)) return node
    this.fault(entry.place, `${entry.path}: must be ${what}.`)
    return null
  }

  /** What an alias stands for; a fault and null where it stands for nothing. */
  #follow(entry: Entry): Node | null {
    if (!isAlias(entry.node)) return entry.node
    const found = ++this.#aliases > MOST_ALIASES ? undefined : entry.node.resolve(this.#document)
    if (found !== undefined) return found as Node
    const why = this.#aliases > MOST_ALIASES ? `more than ${MOST_ALIASES} aliases in a file` : 'no such anchor'
    this.fault(
      entry.place,
      `${entry.path}: refers (*) to what cannot be read: ${why}. A text that begins with * needs quotes.`,
    )
    return null
  }

  #placeOf(node: Node): Place {
    const { line, col } = this.#lines.linePos(node.range?.[0] ?? 0)
    return { line, column: col }
  }
}

const isNull = (node: Node): boolean => isScalar(node) && node.value === null
