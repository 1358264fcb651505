// One agent out of one file. All or nothing: a file with a fault in it gives no agent and says all that is wrong with it.
// A warning is shown and the agent can be used.
import type { AgentDefinition, AgentToolList } from './agent-definition.ts'
import { isToolName, TOOL_NAMES } from './agent-tools.ts'
import { matchEnvironment } from './environment.ts'
import { nearest } from './nearest.ts'
import type { Entries, Entry, Finding, Place } from './schedule-file-yaml.ts'
import { YamlReader } from './schedule-file-yaml.ts'
import { hasControl, quoted } from './text.ts'

export const AGENT_FOLDER = '.dinoai/agents'
const EXTENSION = /\.ya?ml$/

export const isAgentFile = (path: string): boolean => path.startsWith(`${AGENT_FOLDER}/`) && EXTENSION.test(path)

/** `.dinoai/agents/reviewer.yml` → `reviewer`. */
export const agentOfFile = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(EXTENSION, '')

export interface AgentFileReading {
  readonly file: string
  /** As the file is called. */
  readonly name: string
  /** Null when there is a fault. */
  readonly definition: AgentDefinition | null
  readonly findings: readonly Finding[]
  /** Where the agents of its squad are named. */
  readonly squadPlaces: ReadonlyMap<string, Place>
}

/** What a file may refer to. */
export interface AgentFileFacts {
  readonly environments: readonly { readonly slug: string; readonly displayName: string }[]
}

const KEYS = [
  'name',
  'version',
  'role',
  'goal',
  'backstory',
  'model_family',
  'environment',
  'tools',
  'slack',
  'agents_squad',
  // Taken and ignored: which model it is, the workspace decides; what a template says is in the file already.
  'model',
  'template',
]
const MODES = ['allowlist', 'denylist'] as const

const MOST_BYTES = 64 * 1024
const MOST_LINE = 128
const MOST_TEXT = 16_000
const MOST_TOOLS = 200
const MOST_SQUAD = 32
/** Of agents, and so of their files. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const MCP_NAME = /^mcp_[A-Za-z0-9_-]{1,120}$/

export function readAgentFile(file: string, text: string, facts: AgentFileFacts): AgentFileReading {
  if (Buffer.byteLength(text) > MOST_BYTES)
    return brokenAgentFile(file, `is larger than the ${MOST_BYTES / 1024} KiB that a file of an agent may have.`)
  const reader = new YamlReader(file, text)
  const root = reader.root()
  if (root === null && !reader.hasFaults) reader.fault(null, 'is empty. An agent needs name, version, role and goal.')
  const keys = root === null ? null : reader.map(root, KEYS)
  const squadPlaces = new Map<string, Place>()
  const definition = root === null || keys === null ? null : readKeys(reader, { root, keys, facts, squadPlaces })
  const findings = reader.findings.toSorted((a, b) => (a.place?.line ?? 0) - (b.place?.line ?? 0))
  const name = agentOfFile(file)
  return { file, name, definition: reader.hasFaults ? null : definition, findings, squadPlaces }
}

/** For what cannot be read at all. */
export const brokenAgentFile = (file: string, message: string): AgentFileReading => ({
  file,
  name: agentOfFile(file),
  definition: null,
  findings: [{ severity: 'fault', file, place: null, message }],
  squadPlaces: new Map(),
})

interface Reading {
  readonly root: Entry
  readonly keys: Entries
  readonly facts: AgentFileFacts
  readonly squadPlaces: Map<string, Place>
}

function readKeys(reader: YamlReader, reading: Reading): AgentDefinition {
  const { root, keys, facts, squadPlaces } = reading
  const needed = (key: string, most: number): string => {
    const entry = keys.get(key)
    if (entry === undefined) reader.fault(root.place, `${key}: needed, and not empty.`)
    return entry === undefined ? '' : readText(reader, entry, most)
  }
  const line = (key: string): string => {
    const entry = keys.get(key)
    return entry === undefined ? '' : readLine(reader, entry)
  }
  return {
    name: readName(reader, root, keys.get('name')),
    version: needed('version', MOST_LINE),
    role: needed('role', MOST_TEXT),
    goal: needed('goal', MOST_TEXT),
    backstory: needed('backstory', MOST_TEXT),
    modelFamily: line('model_family'),
    environment: readEnvironment(reader, keys.get('environment'), facts),
    tools: readTools(reader, keys.get('tools')),
    slackChannel: readSlack(reader, keys.get('slack')),
    squad: readSquad(reader, keys.get('agents_squad'), squadPlaces),
  }
}

function readName(reader: YamlReader, root: Entry, entry: Entry | undefined): string {
  const expected = agentOfFile(reader.file)
  if (!NAME.test(expected)) {
    reader.fault(
      null,
      'must be called as its agent is: up to 64 letters, digits, hyphens and underscores, then .yml or .yaml.',
    )
  }
  if (entry === undefined) {
    reader.fault(root.place, `name: needed; in this file it must be ${quoted(expected)}.`)
    return ''
  }
  const name = reader.text(entry)
  if (name !== null && name !== expected)
    reader.fault(entry.place, `name: ${quoted(name)} must be the name of the file, ${quoted(expected)}.`)
  return name ?? ''
}

function readText(reader: YamlReader, entry: Entry, most: number): string {
  const text = reader.text(entry)?.trim()
  if (text === undefined) return ''
  if (text === '') reader.fault(entry.place, `${entry.path}: must not be empty.`)
  else if (text.length > most)
    reader.fault(entry.place, `${entry.path}: at most ${most} characters, not ${text.length}.`)
  else if (text.includes('\0')) reader.fault(entry.place, `${entry.path}: must not hold a NUL character.`)
  return text
}

function readLine(reader: YamlReader, entry: Entry): string {
  const text = readText(reader, entry, MOST_LINE)
  if (hasControl(text)) reader.fault(entry.place, `${entry.path}: no line breaks or control characters.`)
  return text
}

function readEnvironment(reader: YamlReader, entry: Entry | undefined, facts: AgentFileFacts): string {
  if (entry === undefined) return ''
  const text = readLine(reader, entry)
  const found = matchEnvironment(facts.environments, text)
  if (found === null && text !== '') {
    const known = facts.environments.map((one) => one.slug).join(', ') || 'none yet'
    reader.fault(entry.place, `environment: no ${quoted(text)} in this workspace. There are: ${known}.`)
  }
  return found?.slug ?? ''
}

function readTools(reader: YamlReader, entry: Entry | undefined): AgentToolList | null {
  if (entry === undefined) return null
  const keys = reader.map(entry, ['mode', 'list'])
  if (keys === null) return null
  const [given, names] = [keys.get('mode'), keys.get('list')]
  if (given === undefined) reader.fault(entry.place, `tools.mode: needed: ${MODES.join(' or ')}.`)
  if (names === undefined) reader.fault(entry.place, 'tools.list: needed; [] for no tool at all.')
  const word = given === undefined ? null : reader.text(given)
  const mode = MODES.find((one) => one === word)
  if (given !== undefined && word !== null && mode === undefined)
    reader.fault(given.place, `tools.mode: ${quoted(word)} is none: ${MODES.join(' or ')}.`)
  if (names === undefined || mode === undefined) return null
  return { mode, list: readToolNames(reader, names, mode) }
}

function readToolNames(reader: YamlReader, entry: Entry, mode: AgentToolList['mode']): string[] {
  const entries = reader.list(entry) ?? []
  if (entries.length > MOST_TOOLS) reader.fault(entry.place, `tools.list: at most ${MOST_TOOLS}.`)
  const names = new Set<string>()
  for (const one of entries.slice(0, MOST_TOOLS)) {
    const name = reader.text(one)
    if (name === null) continue
    if (isToolName(name) || MCP_NAME.test(name)) {
      names.add(name)
      continue
    }
    const meant = nearest(name, TOOL_NAMES)
    const why = `${one.path}: there is no tool ${quoted(name)}${meant ? `; did you mean ${meant}?` : '.'}`
    // Somebody who forbids a tool means one that is there: to run without it would be to run with it.
    if (mode === 'denylist') reader.fault(one.place, why)
    else reader.warn(one.place, `${why} The agent does not have it.`)
  }
  return [...names]
}

function readSlack(reader: YamlReader, entry: Entry | undefined): string {
  const keys = entry === undefined ? null : reader.map(entry, ['channel'])
  const channel = keys?.get('channel')
  return channel === undefined ? '' : readLine(reader, channel)
}

function readSquad(reader: YamlReader, entry: Entry | undefined, places: Map<string, Place>): string[] {
  const entries = entry === undefined ? [] : (reader.list(entry) ?? [])
  if (entries.length > MOST_SQUAD) reader.fault(entry!.place, `agents_squad: at most ${MOST_SQUAD}.`)
  for (const one of entries.slice(0, MOST_SQUAD)) {
    const name = reader.text(one)
    if (name === null) continue
    if (!NAME.test(name)) reader.fault(one.place, `${one.path}: ${quoted(name)} is not a name of an agent.`)
    else if (name === agentOfFile(reader.file)) reader.fault(one.place, `${one.path}: an agent cannot call itself.`)
    else if (places.has(name)) reader.fault(one.place, `${one.path}: ${quoted(name)} is there twice.`)
    else places.set(name, one.place)
  }
  return [...places.keys()]
}

/** What can only be said of all files together: two of one name are both refused, a squad names agents that are there. */
export function checkTogether(
  readings: readonly AgentFileReading[],
  builtIn: readonly string[],
): readonly AgentFileReading[] {
  const known = new Set([...builtIn, ...readings.map((one) => one.name)])
  return readings.map((one) => {
    const other = readings.find((two) => two !== one && two.name === one.name)
    const twice: Finding[] =
      other === undefined
        ? []
        : [{ severity: 'fault', file: one.file, place: null, message: `has the same name as ${other.file}.` }]
    const unknown = [...one.squadPlaces]
      .filter(([name]) => !known.has(name))
      .map(
        ([name, place]): Finding => ({
          severity: 'warning',
          file: one.file,
          place,
          message: `agents_squad: there is no agent ${quoted(name)}; it cannot be called.`,
        }),
      )
    const findings = [...twice, ...one.findings, ...unknown]
    return { ...one, findings, definition: twice.length > 0 ? null : one.definition }
  })
}
