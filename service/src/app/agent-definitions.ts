// The agents of a workspace: the files of its repository and the built-in ones. Files are read anew whenever somebody
// asks; nothing of them is stored but the snapshot that each session keeps.
import { BUILT_IN_AGENTS } from '../domain/agent-built-in.ts'
import type { AgentDefinition } from '../domain/agent-definition.ts'
import type { AgentFileReading } from '../domain/agent-definition-file.ts'
import {
  AGENT_FOLDER,
  brokenAgentFile,
  checkTogether,
  isAgentFile,
  readAgentFile,
} from '../domain/agent-definition-file.ts'
import { AppError, conflict, invalidInput, notFound } from '../domain/errors.ts'
import { nearest } from '../domain/nearest.ts'
import { findingLine } from '../domain/schedule-file.ts'
import type { Finding } from '../domain/schedule-file-yaml.ts'
import { hasControl, quoted } from '../domain/text.ts'
import type { FileSource, SourceFiles } from '../ports/source.ts'
import { SourceFault } from '../ports/source.ts'
import type { Environment } from '../store/environments.ts'
import * as environments from '../store/environments.ts'
import { openValues } from '../store/run-facts.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

export interface ListedAgent {
  readonly name: string
  /** Relative to the root of the repository; empty for a built-in one. */
  readonly file: string
  readonly builtIn: boolean
  /** Null: the file is refused, and the findings say why. */
  readonly definition: AgentDefinition | null
  readonly findings: readonly Finding[]
}

export interface AgentList {
  /** Empty where nothing could be read. */
  readonly commit: string
  /** Empty, or why this may be old or is not all. */
  readonly warning: string
  /** By name. */
  readonly agents: readonly ListedAgent[]
}

export interface FoundAgent {
  readonly definition: AgentDefinition
  /** The commit that its file was read at; for a built-in one, the commit that has no such file. */
  readonly commit: string
  /** Lines for people: findings that do not refuse the file, and why it may be old. */
  readonly warnings: readonly string[]
  /** In which a session of it works: its own, else the default one. */
  readonly environment: Pick<Environment, 'id' | 'slug' | 'repositoryUrl' | 'defaultBranch'>
}

export interface AgentDefinitions {
  /** Rejects for nothing that a person can mend: what could not be read is in the warning. */
  list(ctx: Context, signal: AbortSignal): Promise<AgentList>
  /** Throws an AppError with the reason: no such agent, a refused file, no repository, a host that does not answer. */
  find(ctx: Context, name: string, signal: AbortSignal): Promise<FoundAgent>
}

/**
 * Whoever starts an agent has perhaps just pushed its file: the host is asked. A list may be a little old. Both end before
 * a request is given up (10 s): a trigger that was given up would start its session all the same.
 */
const FIND = { mayBeMs: 0, patienceMs: 8000 }
const LIST = { mayBeMs: 10_000, patienceMs: 8000 }

interface Read {
  readonly commit: string
  readonly warning: string
  readonly agents: readonly ListedAgent[]
  readonly home: Environment
  readonly all: readonly Environment[]
}

export function agentDefinitions({ source }: { readonly source: FileSource }): AgentDefinitions {
  const read = async (ctx: Context, limits: typeof FIND, signal: AbortSignal): Promise<Read | null> => {
    const workspace = workspaceOf(ctx)
    const all = await environments.list(ctx.db, workspace.id)
    const home = defaultAgentEnvironment(all)
    if (home === null) return null
    const { credentials } = await openValues(ctx.db, ctx.vault, { workspaceId: workspace.id, environmentId: home.id })
    const repository = { workspaceUid: workspace.uid, url: home.repositoryUrl, credentials }
    const wanted = { reference: home.defaultBranch, paths: [AGENT_FOLDER], accepts: isAgentFile, ...limits }
    const files = await source.files(repository, wanted, signal)
    return { commit: files.commit, warning: warningOf(files), agents: agentsOf(await readAll(files, all)), home, all }
  }
  return {
    list: async (ctx, signal) => {
      try {
        const found = await read(ctx, LIST, signal)
        if (found === null) return { commit: '', warning: NO_REPOSITORY, agents: agentsOf([]) }
        return { commit: found.commit, warning: found.warning, agents: found.agents }
      } catch (error) {
        if (!(error instanceof SourceFault)) throw error
        return { commit: '', warning: unread(error), agents: agentsOf([]) }
      }
    },
    find: async (ctx, name, signal) => {
      const found = await read(ctx, FIND, signal).catch((error: unknown) => {
        // Not the built-in one in its place: the file may allow less.
        if (error instanceof SourceFault) throw new AppError('UNAVAILABLE', unread(error), { cause: error })
        throw error
      })
      if (found === null) throw conflict(NO_REPOSITORY)
      return pick(found, name)
    },
  }
}

const NO_REPOSITORY =
  'Agents work on a repository, and this workspace has none: set repositoryUrl of its default agent or scheduler environment.'

const unread = (fault: SourceFault): string => `The files of agents could not be read: ${fault.message}.`

const warningOf = (files: SourceFiles): string => files.warning && `What was fetched before is used: ${files.warning}.`

/** The default one for agents, else the default one for schedules; null where neither has a repository. */
export function defaultAgentEnvironment(all: readonly Environment[]): Environment | null {
  const usable = all.filter((one) => one.isDefault && one.repositoryUrl !== '')
  return usable.find((one) => one.type === 'agent') ?? usable.find((one) => one.type === 'scheduler') ?? null
}

/** One file after the other, with room for requests between them. */
async function readAll(files: SourceFiles, known: readonly Environment[]): Promise<readonly AgentFileReading[]> {
  const readings: AgentFileReading[] = []
  for (const { path, content } of files.files) {
    await new Promise(setImmediate)
    if (hasControl(path)) readings.push(brokenAgentFile(JSON.stringify(path), 'has a name with control characters.'))
    else if ('refused' in content) readings.push(brokenAgentFile(path, `${content.refused}.`))
    else readings.push(readAgentFile(path, content.text, { environments: known }))
  }
  return checkTogether(
    readings,
    BUILT_IN_AGENTS.map((one) => one.name),
  )
}

function agentsOf(readings: readonly AgentFileReading[]): ListedAgent[] {
  const own = readings.map(({ name, file, definition, findings }) => ({
    name,
    file,
    builtIn: false,
    definition,
    findings,
  }))
  const builtIn = BUILT_IN_AGENTS.filter((one) => !own.some((other) => other.name === one.name)).map((definition) => ({
    name: definition.name,
    file: '',
    builtIn: true,
    definition,
    findings: [],
  }))
  return [...own, ...builtIn].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.file < b.file ? -1 : 1))
}

function pick({ commit, warning, agents, home, all }: Read, name: string): FoundAgent {
  const found = agents.filter((one) => one.name === name)
  const listed = found[0]
  if (listed === undefined) {
    const names = agents.map((one) => one.name)
    const meant = nearest(name, names)
    throw notFound(
      `No agent ${quoted(name)}. ${meant ? `Did you mean ${meant}?` : `There are: ${names.slice(0, 20).join(', ')}.`}`,
    )
  }
  const { definition, findings } = listed
  if (definition === null) {
    const faults = found.flatMap((one) => one.findings).filter((one) => one.severity === 'fault')
    throw invalidInput(`The agent ${quoted(name)} cannot be used. ${faults.slice(0, 5).map(findingLine).join(' ')}`)
  }
  const environment = definition.environment === '' ? home : all.find((one) => one.slug === definition.environment)!
  if (environment.repositoryUrl === '') {
    throw conflict(
      `The agent ${quoted(name)} works in the environment ${quoted(environment.slug)}, which has no repository: set its repositoryUrl.`,
    )
  }
  return {
    definition,
    commit,
    environment,
    warnings: [...findings.map(findingLine), ...(warning === '' ? [] : [warning])],
  }
}
