// Reads the configuration once: options, then environment, then yardmaster.yaml, then defaults; the first that gives a
// setting wins. Everything that is wrong is collected, so that one start tells all there is to mend.
import { existsSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { z } from 'zod'
import { CONFIG_VARIABLE, readEnvironment } from './environment.ts'
import { badValue, ConfigFaults, type Fault, type Source, sourceText } from './faults.ts'
import { exposedFile, keyFileFault, readCertificateFile, readSecretFile } from './files.ts'
import { defaultPublicUrl } from './public-url.ts'
import { type Config, type SettingPath, schema, type TlsFiles } from './schema.ts'
import { Secret } from './secret.ts'
import { type Setting, type SettingKind, settingAt, settings } from './settings.ts'
import { readYamlFile } from './yaml-file.ts'

export interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The working folder: relative paths are resolved against it, and `yardmaster.yaml` is looked for in it. */
  readonly cwd: string
  /** The configuration file, from `--config`; it wins over YARDMASTER_CONFIG. */
  readonly file?: string | undefined
  /** Values from the command line, as texts. */
  readonly overrides?: Readonly<Partial<Record<SettingPath, string | undefined>>>
}

export interface LoadedConfig {
  readonly config: Config
  /** Where each setting's value came from; every setting is in it. */
  readonly sources: ReadonlyMap<SettingPath, Source>
}

/** A value that is in force for a setting, before it is checked. */
interface Given {
  readonly value: unknown
  readonly source: Source
}

/** Throws `ConfigFaults`, and nothing else, when the configuration cannot be used. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const faults: Fault[] = []
  const given = gather(options, faults)
  // A setting whose value could not even be read has its fault already; what depends on it is not judged.
  const unread = new Set<SettingPath>()
  for (const [path, { value, source }] of given) {
    if (!('secretFile' in source) || source.secretFile === undefined) continue
    const read = readSecretFile(String(value))
    if (read.fault === undefined) {
      given.set(path, { value: read.value, source })
      continue
    }
    // What is no file may be the secret itself, put into the wrong variable, so it is not repeated.
    const file = existsSync(source.secretFile) ? sourceText(source) : `the file named by ${placeText(source)}`
    faults.push({ subject: path, text: `${file} ${read.fault}. ${fileMend(settingAt(path)!)}` })
    given.delete(path)
    unread.add(path)
  }

  const parsed = schema.safeParse(nest(given))
  for (const issue of parsed.error?.issues ?? []) {
    const setting = settings.find(({ keys }) => keys.every((key, index) => issue.path[index] === key))!
    const needs = issue.code === 'custom' ? (issue.params?.needs as SettingPath | undefined) : undefined
    if (needs !== undefined) {
      if (!unread.has(needs) && !unread.has(setting.path)) faults.push({ subject: setting.path, text: issue.message })
      continue
    }
    const { value, source } = given.get(setting.path)!
    const item = issue.path.length > setting.keys.length ? (value as unknown[])[Number(issue.path.at(-1))] : value
    faults.push(badValue(setting, item, source, whatIsWrong(setting, item, issue)))
  }
  if (!faults.some(({ subject }) => subject.startsWith('tls.'))) faults.push(...tlsFaults(given, options.cwd))
  if (!parsed.success || faults.length > 0) throw new ConfigFaults(faults)

  const { tls, publicUrl, ...rest } = parsed.data
  const certFile = tls.certFile && resolve(options.cwd, tls.certFile)
  const keyFile = tls.keyFile && resolve(options.cwd, tls.keyFile)
  const files: TlsFiles | null = certFile && keyFile ? { certFile, keyFile } : null
  const config: Config = {
    ...rest,
    data: resolve(options.cwd, rest.data),
    blobs: { ...rest.blobs, folder: resolve(options.cwd, rest.blobs.folder ?? join(rest.data, 'blobs')) },
    tls: files,
    publicUrl: publicUrl ?? defaultPublicUrl({ ...rest, tls: files }),
    privateFiles: [
      configPath(options),
      ...(files === null ? [] : [files.keyFile]),
      ...[...given.values()].flatMap(({ source }) => ('secretFile' in source && source.secretFile) || []),
    ],
  }
  const sources = new Map(settings.map(({ path }) => [path, given.get(path)?.source ?? { kind: 'default' as const }]))
  return Object.freeze({ config: deepFreeze(config), sources })
}

const configPath = ({ file, env, cwd }: LoadOptions): string =>
  resolve(cwd, file ?? (env[CONFIG_VARIABLE] || 'yardmaster.yaml'))

/** What each setting is given as, the strongest place last, so that it overwrites the others. */
function gather(options: LoadOptions, faults: Fault[]): Map<SettingPath, Given> {
  const { env, cwd } = options
  const given = new Map<SettingPath, Given>()

  const named = options.file ?? (env[CONFIG_VARIABLE] || undefined)
  const path = configPath(options)
  const label = shortPath(path, cwd)
  const content = readYamlFile(path, label, named !== undefined)
  faults.push(...content.faults)
  const exposed = content.entries.find(({ setting, form }) => setting.secret && form === 'value')
  const exposure = exposed && exposedFile(path)
  if (exposure) {
    const mend = `Do so, or name a file there instead (${exposed.key}File).`
    faults.push({
      subject: label,
      text: `holds a secret (${exposed.key}, line ${exposed.line}) and ${exposure}. ${mend}`,
    })
  }
  for (const { setting, form, value, key, line } of content.entries) {
    const at = { kind: 'file' as const, file: label, line, key }
    if (form === 'value')
      put(setting, { value: typeof value === 'string' ? fromText(value, setting.kind) : value, source: at })
    else if (typeof value !== 'string') {
      faults.push({
        subject: setting.path,
        text: `${key} at ${label}:${line} is not the path of a file. Write it as a text.`,
      })
    } else put(setting, secretFile(value, at))
  }

  const variables = readEnvironment(env)
  faults.push(...variables.faults)
  for (const { setting, form, value, variable } of variables.entries) {
    const at = { kind: 'environment' as const, variable }
    put(setting, form === 'value' ? { value: fromText(value, setting.kind), source: at } : secretFile(value, at))
  }

  for (const [key, value] of Object.entries(options.overrides ?? {})) {
    const setting = settingAt(key)
    if (!setting) throw new TypeError(`${key} is not a setting`)
    // A process's arguments can be read by every user of the machine.
    if (setting.secret) throw new TypeError(`${key} is a secret and cannot be an option`)
    if (value === undefined) continue
    const option = `--${key.replaceAll('.', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    put(setting, { value: fromText(value, setting.kind), source: { kind: 'option', option } })
  }
  return given

  function put(setting: Setting, next: Given) {
    const before = given.get(setting.path)
    if (before && before.source.kind === next.source.kind) {
      const mend = 'Keep one of the two.'
      faults.push({
        subject: setting.path,
        text: `is given twice, by ${placeText(before.source)} and by ${placeText(next.source)}. ${mend}`,
      })
    }
    given.set(setting.path, next)
  }

  function secretFile(value: string, at: Source): Given {
    const file = resolve(cwd, value)
    return { value: file, source: { ...at, secretFile: file } as Source }
  }
}

function whatIsWrong(setting: Setting, value: unknown, issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'custom') return issue.message
  if (issue.path.length > setting.keys.length) {
    return issue.code === 'invalid_value' ? `is not one of ${issue.values.join(', ')}` : 'is not a text'
  }
  // A number or a date in the file where a text belongs: leading zeros and long digits would be lost.
  return setting.kind === 'text' && typeof value !== 'string' ? 'is not a text (put it in quotes)' : undefined
}

function placeText(source: Source): string {
  if (source.kind === 'environment') return source.variable
  return source.kind === 'file' ? `${source.key} (${source.file}:${source.line})` : sourceText(source)
}

function fileMend(setting: Setting): string {
  return `The file must hold ${setting.form}, and nobody but its owner may read it (mode 600).`
}

/** A text as the type that the setting has; left as it is where it is not one, for the schema to refuse. */
function fromText(text: string, kind: SettingKind): unknown {
  const trimmed = text.trim()
  switch (kind) {
    case 'number':
      return /^-?\d{1,15}$/.test(trimmed) ? Number(trimmed) : text
    case 'boolean':
      return trimmed === 'true' ? true : trimmed === 'false' ? false : text
    case 'list':
      return trimmed.split(',').map((item) => item.trim())
    case 'text':
      return text
  }
}

// Every section is there, also an empty one, so that its defaults are filled in.
function nest(given: ReadonlyMap<SettingPath, Given>): object {
  const root: Record<string, unknown> = {}
  for (const { path, keys } of settings) {
    const [first, second] = keys as [string, string?]
    const value = given.get(path)?.value
    if (second === undefined) root[first] = value
    else root[first] = { ...(root[first] as object | undefined), [second]: value }
  }
  return root
}

function tlsFaults(given: ReadonlyMap<SettingPath, Given>, cwd: string): Fault[] {
  const cert = given.get('tls.certFile')
  const key = given.get('tls.keyFile')
  if (typeof cert?.value !== 'string' || typeof key?.value !== 'string') return []
  const faults: Fault[] = []
  const certificate = readCertificateFile(resolve(cwd, cert.value))
  if (certificate.fault !== undefined) {
    faults.push(badValue(settingAt('tls.certFile')!, cert.value, cert.source, certificate.fault))
  }
  const wrong = keyFileFault(resolve(cwd, key.value), certificate.fault === undefined ? certificate.value : undefined)
  if (wrong) faults.push(badValue(settingAt('tls.keyFile')!, key.value, key.source, wrong))
  return faults
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Secret) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
