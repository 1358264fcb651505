// What is wrong with the configuration, in words. A line names the setting, where its value came from, what is wrong
// and the way to mend it; the value of a secret is never in it.
import type { Setting } from './settings.ts'

export { nearest } from '../domain/nearest.ts'

export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'option'; readonly option: string }
  | { readonly kind: 'environment'; readonly variable: string; readonly secretFile?: string }
  | {
      readonly kind: 'file'
      readonly file: string
      readonly line: number
      readonly key: string
      readonly secretFile?: string
    }

export interface Fault {
  /** The path of the setting, or the name of what is not one: a variable, a key, a file. */
  readonly subject: string
  /** The whole sentence, without the subject. */
  readonly text: string
}

export class ConfigFaults extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`
    const lines = faults.map(({ subject, text }) => `  - ${subject}: ${text}`)
    super([`The configuration has ${count}:`, ...lines].join('\n'))
    this.name = 'ConfigFaults'
    this.faults = faults
  }
}

/** Where a value came from, as `yardmaster config` and faults say it. */
export function sourceText(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'option':
      return source.option
    case 'environment':
      return source.secretFile ? `${source.secretFile} (named by ${source.variable})` : source.variable
    case 'file':
      return source.secretFile
        ? `${source.secretFile} (named at ${source.file}:${source.line})`
        : `${source.file}:${source.line}`
  }
}

/** A bad value of a known setting. `what` ends a sentence that begins with the value; without it, the form is named. */
export function badValue(setting: Setting, value: unknown, source: Source, what?: string): Fault {
  const shown = setting.secret ? 'the value' : shownValue(value)
  const mend = `${place(source)} ${what || setting.kind === 'boolean' ? setting.form : 'one'}${exampleText(setting)}.`
  const wrong = what ?? `is not ${setting.form}`
  return { subject: setting.path, text: `${shown} from ${sourceText(source)} ${wrong}. ${mend}` }
}

function exampleText(setting: Setting): string {
  const example = setting.example ?? (typeof setting.default === 'number' ? String(setting.default) : undefined)
  return example ? `, for example ${example}` : ''
}

function place(source: Source): string {
  if (source.kind === 'option') return `Give ${source.option}`
  if (source.kind === 'default') return 'Give'
  if (source.secretFile) return 'Put into that file'
  return source.kind === 'environment' ? `Set ${source.variable} to` : `Set ${source.key} there to`
}

/** A value as it may be shown: one line, not long, and without the credentials that a URL may hold. */
export function shownValue(value: unknown): string {
  const text = asJson(value).replace(/:\/\/[^/\s"]*@/g, '://[secret]@')
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    // A YAML anchor can hold itself.
    return 'the value'
  }
}
