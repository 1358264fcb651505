// A query of an agent at the warehouse of its environment: `dbt show` by the executor of runs, with the environment's
// packages and secret files. The project is that of the session's base commit, never the session's own checkout: what a
// model wrote there, macros first of all, would run with the warehouse's credentials.
//
// The query is handed over in a variable: no text of anybody's is ever part of what a shell reads.
import { randomBytes } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../../app/context.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import { type CommandEnd, type CommandSpec, StartFault, type Stream } from '../../ports/executor.ts'
import { SourceFault } from '../../ports/source.ts'
import { type AgentPlace, findAgentPlace } from '../../store/agent-place.ts'
import { openValues, type RunValues } from '../../store/run-facts.ts'
import type { InstallCommand } from '../worker/dependencies.ts'
import type { RunFolders, RunPorts, RunSettings } from '../worker/ports.ts'
import { indexSecrets, redactText } from '../worker/redactor.ts'
import { graceOf } from '../worker/stop-run.ts'
import { makeFolders, removeFolder, type WorkPlace } from '../worker/work-folder.ts'
import { readOnlyProfile } from './duckdb-profile.ts'
import { type QueryCommand, queryEnvironment } from './query-environment.ts'
import { closeOwnProfile, projectFolder } from './query-project.ts'

export interface QueryRunnerDeps {
  readonly app: App
  readonly ports: Pick<RunPorts, 'source' | 'executor' | 'dependencies'>
  readonly settings: RunSettings
  readonly place: WorkPlace
}

export interface Query {
  readonly sql: string
  readonly rows: number
  readonly seconds: number
}

export type QueryResult = { readonly kind: 'rows' | 'failed'; readonly text: string }

export interface QueryRunner {
  run(session: AgentSession, query: Query, signal: AbortSignal): Promise<QueryResult>
}

const MOST_OUTPUT = 256 * 1024
const INSTALL_SECONDS = 900
/** Of a process that was killed: nobody's any more. */
const LEFT_MS = 3_600_000
const COMMAND =
  'exec dbt --quiet --no-use-colors show --inline "$YARDMASTER_AGENT_QUERY" --limit "$YARDMASTER_AGENT_ROWS" --output json'

const failed = (text: string): QueryResult => ({ kind: 'failed', text })

export function queryRunner(deps: QueryRunnerDeps): QueryRunner {
  return {
    run: async (session, query, signal) => {
      const { app, place } = deps
      const at = await findAgentPlace(app.db, session.workspaceId, session.environmentId)
      if (at === null) return failed('The environment of this session is gone.')
      if (session.baseCommit === '') return failed('The session has no checkout yet.')
      const values = await openValues(app.db, app.vault, session)
      await removeLeft(deps)
      const folders = await makeFolders(place, `query-${session.id}-${randomBytes(4).toString('hex')}`, at.workspaceUid)
      try {
        const one = new OneQuery(deps, session, at, values, folders, signal)
        const result = await one.run(query)
        return { ...result, text: redactText(indexSecrets(values.secrets), result.text) }
      } finally {
        await removeFolder(folders.root).catch((error: unknown) =>
          app.log.warn({ err: error, folder: folders.root }, 'the folder of a query was not removed'),
        )
      }
    },
  }
}

async function removeLeft({ app, place }: QueryRunnerDeps): Promise<void> {
  const before = app.clock.now().getTime() - LEFT_MS
  for (const name of await readdir(place.work).catch(() => [])) {
    if (!/^query-[a-z0-9]{16}-[0-9a-f]{8}$/.test(name)) continue
    const found = await lstat(join(place.work, name)).catch(() => null)
    if (found !== null && found.mtimeMs < before) await removeFolder(join(place.work, name)).catch(() => {})
  }
}

interface Command extends QueryCommand {
  readonly text: string
  readonly folder: string
  readonly seconds: number
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
}

class OneQuery {
  readonly #deps: QueryRunnerDeps
  readonly #session: AgentSession
  readonly #at: AgentPlace
  readonly #values: RunValues
  readonly #folders: RunFolders
  readonly #signal: AbortSignal
  #files: Readonly<Record<string, string>> = {}

  constructor(
    deps: QueryRunnerDeps,
    session: AgentSession,
    at: AgentPlace,
    values: RunValues,
    folders: RunFolders,
    signal: AbortSignal,
  ) {
    this.#deps = deps
    this.#session = session
    this.#at = at
    this.#values = values
    this.#folders = folders
    this.#signal = signal
  }

  async run(query: Query): Promise<QueryResult> {
    const { ports } = this.#deps
    const { checkout, secretFiles } = this.#folders
    const repository = {
      workspaceUid: this.#at.workspaceUid,
      url: this.#at.repositoryUrl,
      credentials: this.#values.credentials,
    }
    try {
      await ports.source.checkout(repository, this.#session.baseCommit, checkout, async () => {}, this.#signal)
    } catch (error) {
      if (error instanceof SourceFault) return failed(error.message)
      throw error
    }
    const project = await projectFolder(checkout)
    if (project === null) return failed('The repository has no dbt_project.yml at its root or one folder below.')
    const files = this.#values.files.map((one) =>
      one.name === 'profiles.yml' ? { ...one, content: readOnlyProfile(one.content) ?? one.content } : one,
    )
    this.#files = await ports.dependencies.laySecretFiles(secretFiles, files)
    await closeOwnProfile(project)
    const install = await this.#install()
    if (typeof install === 'string') return failed(install)
    const { end, output } = await this.#execute({
      text: COMMAND,
      kind: 'user',
      folder: project,
      seconds: query.seconds,
      venv: install.venv,
      further: {
        YARDMASTER_AGENT_QUERY: query.sql,
        YARDMASTER_AGENT_ROWS: String(query.rows),
        DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
      },
      writable: [],
      readOnly: install.venv === null ? [] : [install.venv],
    })
    if (end.kind === 'exited' && end.code === 0) return { kind: 'rows', text: output.stdout.trim() }
    if (end.kind === 'timed-out') return failed(`The query took more than ${query.seconds} seconds and was ended.`)
    return failed(`The query failed (${end.code}).\n${`${output.stdout}\n${output.stderr}`.trim()}`)
  }

  /** What is there already is used; a sentence when it could not be installed. */
  async #install(): Promise<InstallCommand | string> {
    const { app, ports } = this.#deps
    const { cache, root, checkout } = this.#folders
    let plan: InstallCommand
    try {
      plan = await ports.dependencies.plan({
        cache: { folder: cache, run: root, isOpenToCommands: ports.executor.isolation === 'L0', now: app.clock.now() },
        checkout,
        commit: this.#session.baseCommit,
        installStep: this.#at.installStep,
        pythonPackages: this.#at.pythonPackages,
        python: ports.dependencies.python,
      })
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    if (plan.script === null) return plan
    const { end, output } = await this.#execute({
      text: plan.script,
      kind: 'infrastructure',
      folder: checkout,
      seconds: INSTALL_SECONDS,
      venv: null,
      further: {},
      writable: plan.writable,
      readOnly: plan.readOnly,
    })
    if (end.kind === 'exited' && end.code === 0) {
      await plan.keep()
      return plan
    }
    await plan.discard()
    return `The packages of the environment could not be installed (${end.code}).\n${output.stderr.slice(-4000)}`
  }

  async #execute(what: Command): Promise<{ end: CommandEnd; output: Readonly<Record<Stream, string>> }> {
    const { ports, settings } = this.#deps
    const { home, temporary, secretFiles } = this.#folders
    const chunks: Record<Stream, Buffer[]> = { stdout: [], stderr: [] }
    let size = 0
    const spec: CommandSpec = {
      text: what.text,
      folder: what.folder,
      environment: queryEnvironment({
        ...what,
        settings,
        session: this.#session,
        workspaceUid: this.#at.workspaceUid,
        values: this.#values,
        folders: this.#folders,
        files: this.#files,
      }),
      writable: [home, temporary, ...what.writable],
      readOnly: [secretFiles, ...what.readOnly],
      hidden: settings.hidden,
      limits: { ...settings.limits, seconds: what.seconds },
      grace: graceOf(this.#at.stopSeconds),
      output: async (stream, bytes) => {
        // What is more than anybody reads is dropped, so that the command can end.
        if (size < MOST_OUTPUT) chunks[stream].push(Buffer.from(bytes.subarray(0, MOST_OUTPUT - size)))
        size += bytes.length
      },
    }
    let end: CommandEnd
    try {
      end = await (await ports.executor.start(spec, this.#signal)).ended
    } catch (error) {
      if (!(error instanceof StartFault)) throw error
      chunks.stderr.push(Buffer.from(error.message))
      end = { kind: 'exited', code: error.code }
    }
    this.#signal.throwIfAborted()
    const text = (stream: Stream): string => Buffer.concat(chunks[stream]).toString()
    return { end, output: { stdout: text('stdout'), stderr: text('stderr') } }
  }
}
