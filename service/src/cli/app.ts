// Every command that needs the database goes through withApp: it opens what the service stands on, beside a running
// service or alone, and closes it again whatever happens.
import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createLog, type ServiceLog } from '../adapters/log.ts'
import type { App, Context } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { isSetUp } from '../app/set-up.ts'
import { listWorkspaces } from '../app/workspaces.ts'
import { type Opened, openApp } from '../compose/open.ts'
import { secretTexts } from '../config/describe.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError, notFound } from '../domain/errors.ts'
import { readHead } from '../store/audit.ts'
import { inTransaction } from '../store/database.ts'
import { isAlive, readServiceFile, type ServiceFile } from '../store/embedded-postgres-files.ts'

export interface CommandApp extends Opened {
  /** The context of whoever runs the command, in a workspace or over the whole account. */
  context(workspace?: WorkspaceRef | null): Context
  /** The workspace with this uid; without one, the only workspace there is. */
  workspace(uid: string | undefined): Promise<WorkspaceRef>
  /** All that `work` does is done together or not at all. */
  together<T>(work: (app: Pick<CommandApp, 'context'>) => Promise<T>): Promise<T>
}

export interface WithAppOptions {
  /** Only `setup` may find nothing there: any other command would make an empty database in a mistyped folder. */
  readonly mayBeNew?: boolean
}

export async function withApp<T>(
  loaded: LoadedConfig,
  use: (app: CommandApp) => Promise<T>,
  options: WithAppOptions = {},
): Promise<T> {
  const { config } = loaded
  const mayBeNew = options.mayBeNew === true
  if (!mayBeNew && !(await hasDatabase(config))) throw notSetUp(config)
  const opened = await openApp(config, commandLog(loaded), { purpose: 'command' })
  try {
    const service = await runningService(config)
    // A service on another port than ours would be told to listen on: its links are the ones that work.
    if (service !== null && loaded.sources.get('publicUrl')?.kind === 'default') opened.setPublicUrl(service.url)
    const app = commandApp(opened)
    if (!mayBeNew && !(await isSetUp(app.context()))) throw notSetUp(config)
    const before = await readHead(opened.app.db)
    const result = await use(app)
    // What a command did is witnessed too, also where no service runs that would do it within the minute.
    const after = await readHead(opened.app.db)
    if (after.id !== before.id) await opened.witness.append(after)
    return result
  } finally {
    await opened.close()
  }
}

/** For commands about one workspace: the one with this uid; without one, the only workspace there is. */
export const inWorkspace = <T>(
  loaded: LoadedConfig,
  uid: string | undefined,
  work: (ctx: Context) => Promise<T>,
): Promise<T> => withApp(loaded, async (app) => work(app.context(await app.workspace(uid))))

function commandApp(opened: Opened): CommandApp {
  const contextOf =
    (app: App) =>
    (workspace: WorkspaceRef | null = null): Context =>
      systemContext(app, actorName(), workspace)
  const context = contextOf(opened.app)
  return {
    ...opened,
    context,
    workspace: async (uid) => chooseWorkspace(await listWorkspaces(context()), uid),
    together: async (work) =>
      await inTransaction(opened.app.db, (db) => work({ context: contextOf({ ...opened.app, db }) })),
  }
}

function chooseWorkspace(all: readonly WorkspaceRef[], uid: string | undefined): WorkspaceRef {
  const found = uid === undefined ? (all.length === 1 ? all[0] : undefined) : all.find((one) => one.uid === uid)
  if (found !== undefined) return found
  const known = all.map((one) => `${one.uid} (${one.name})`).join(', ')
  if (uid === undefined) throw new AppError('WORKSPACE_REQUIRED', `Say which workspace: --workspace UID, of ${known}.`)
  throw notFound(`There is no workspace ${uid}. There are: ${known}.`)
}

/** Who it was, for the audit log: the command line has no sign-in, but the system knows its user. */
function actorName(): string {
  try {
    return `command line (${userInfo().username})`
  } catch {
    return `command line (uid ${process.getuid?.()})`
  }
}

/** Whether there is a database to look into; an external one is somebody else's to make. */
export async function hasDatabase(config: Config): Promise<boolean> {
  return config.database.url !== undefined || (await exists(join(config.data, 'postgres')))
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

function notSetUp(config: Config): AppError {
  const where = config.database.url === undefined ? `in ${config.data}` : 'in the database of DATABASE_URL'
  return new AppError(
    'NOT_FOUND',
    `Nothing is set up ${where}. Run yardmaster setup, or start the service once; another data folder is named with --data.`,
  )
}

/** The service that serves this data folder, if its process is there. */
export async function runningService(config: Config): Promise<ServiceFile | null> {
  const file = await readServiceFile(config.data)
  return file !== undefined && isAlive(file.pid) ? file : null
}

/** What goes wrong beside the result goes to stderr; a command says nothing else unless it is asked to. */
export function commandLog({ config, sources }: LoadedConfig): ServiceLog {
  const log = createLog({ level: sources.get('log.level')?.kind === 'default' ? 'warn' : config.log.level })
  for (const secret of secretTexts(config)) log.mask(secret)
  return log
}
