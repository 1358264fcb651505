/**
 * Finds any of many values, in any form in which they might have been written down, in one pass over the bytes: the
 * folder of a database is some tens of megabytes, and a hundred values have more than a thousand forms.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Needle {
  /** What it is, for the report; never the value itself. */
  readonly name: string
  /** Bytes that are no text have fewer forms. */
  readonly value: string | Buffer
}

export interface Found {
  readonly name: string
  readonly form: string
  readonly place: string
}

type Form = readonly [form: string, bytes: Buffer]

/** Shorter pieces are found by chance. */
const SHORTEST = 8

export function formsOf(value: string | Buffer): Form[] {
  const forms = [
    ...formsOfBytes(Buffer.from(value as string)),
    ...(typeof value === 'string' ? formsOfText(value) : []),
  ]
  const seen = new Set<string>()
  return forms.flatMap(([name, form]): Form[] => {
    const text = Buffer.from(form)
    const key = text.toString('latin1')
    if (text.length < SHORTEST || seen.has(key)) return []
    seen.add(key)
    return [[name, text]]
  })
}

function formsOfBytes(bytes: Buffer): [string, string | Buffer][] {
  return [
    ['plain', bytes],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ...[0, 1, 2].flatMap((before): [string, string][] => {
      const text = base64Within(bytes, before)
      return [
        [`base64, ${before} before`, text],
        [`base64url, ${before} before`, text.replaceAll('+', '-').replaceAll('/', '_')],
      ]
    }),
  ]
}

function formsOfText(value: string): [string, string | Buffer][] {
  const url = encodeURIComponent(value)
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ['URL', url],
    ['URL, small letters', url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
    ['form', new URLSearchParams([['', value]]).toString().slice(1)],
    ['JSON', json],
    ['JSON in JSON', JSON.stringify(json).slice(1, -1)],
    ['UTF-16', Buffer.from(value, 'utf16le')],
    ['UTF-16, big end first', Buffer.from(value, 'utf16le').swap16()],
  ]
}

/** The characters that depend on the value alone when `before` bytes come before it and any number after it. */
function base64Within(bytes: Buffer, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  return whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
}

export interface Search {
  in(bytes: Buffer, place: string): Found[]
  /** Every file below a folder, but for those that are left out by their path. */
  inFolder(folder: string, leftOut?: readonly string[]): { found: Found[]; bytes: number; files: number }
}

export function searchFor(needles: readonly Needle[]): Search {
  // A bit for each first three bytes that a form has; nearly every place of a file is passed over by it alone.
  const starts = new Uint8Array(1 << 21)
  const byStart = new Map<number, { name: string; form: string; bytes: Buffer }[]>()
  for (const { name, value } of needles) {
    for (const [form, bytes] of formsOf(value)) {
      const start = (bytes[0]! << 16) | (bytes[1]! << 8) | bytes[2]!
      starts[start >> 3]! |= 1 << (start & 7)
      byStart.set(start, [...(byStart.get(start) ?? []), { name, form, bytes }])
    }
  }
  const search = (bytes: Buffer, place: string): Found[] => {
    const found: Found[] = []
    let start = 0
    for (let at = 0; at < bytes.length; at++) {
      start = ((start << 8) | bytes[at]!) & 0xffffff
      if (at < 2 || (starts[start >> 3]! & (1 << (start & 7))) === 0) continue
      for (const one of byStart.get(start)!) {
        const end = at - 2 + one.bytes.length
        if (end > bytes.length || one.bytes.compare(bytes, at - 2, end) !== 0) continue
        found.push({ name: one.name, form: one.form, place: `${place} at ${at - 2}` })
      }
    }
    return found
  }
  return {
    in: search,
    inFolder: (folder, leftOut = []) => {
      const found: Found[] = []
      let bytes = 0
      let files = 0
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name)
        if (!entry.isFile() || leftOut.includes(path.slice(folder.length + 1))) continue
        const content = readFileSync(path)
        files++
        bytes += content.length
        found.push(...search(content, path.slice(folder.length + 1)))
      }
      return { found, bytes, files }
    },
  }
}
