// How commands are run on this host, by what is asked for and what the host allows.
import {
  type ContainerExecutor,
  type ContainerOptions,
  createContainerExecutor,
} from '../adapters/executor/container.ts'
import { findProgram } from '../adapters/executor/host.ts'
import { createProcessExecutor, type ProcessExecutor } from '../adapters/executor/process.ts'
import type { User } from '../adapters/executor/stages.ts'
import type { Config } from '../config/schema.ts'
import type { Executor } from '../ports/executor.ts'
import type { Log } from '../ports/runtime.ts'
import { type CommandUser, commandUser } from './command-user.ts'

export interface OpenedExecutor {
  readonly executor: Executor
  /** Whom the folders of runs belong to, when not to the service. */
  readonly user: User | null
  close(): void
}

type Environment = Readonly<Record<string, string | undefined>>

/** Of the engine's own client. */
const CLIENT_VARIABLES = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONFIG', 'CONTAINER_HOST']

export async function openExecutor(config: Config, environment: Environment, log: Log): Promise<OpenedExecutor> {
  if (config.commands.isolation === 'container') return await openContainers(config, environment, log)
  const wanted = config.commands.isolation
  const make = (user: User | null): Promise<ProcessExecutor> =>
    createProcessExecutor({ ...(wanted === 'auto' ? {} : { isolation: wanted }), user, hidden: [config.data] })
  const { executor, user, why } = await asWhom(commandUser(config.commands.user, environment.PATH ?? ''), make)
  if (wanted === 'L1' && executor.isolation !== 'L1') {
    executor.close()
    throw new Error(`commands.isolation is L1, and this host does not allow it: ${executor.isolationNote}.`)
  }
  const { isolation, isolationNote, limitsKind } = executor
  const said = { isolation, limits: limitsKind, ...(isolationNote !== '' && { reason: isolationNote }) }
  if (why !== '') log.warn({ reason: why }, 'the service is root, and so are its commands, without their rights')
  if (isolation === 'L0') log.warn(said, 'commands run without namespaces of their own: they see what the service sees')
  else log.info(said, 'commands run in namespaces of their own')
  return { executor, user, close: () => executor.close() }
}

/** Without namespaces another user could not even reach its checkout, which lies in the data folder. */
async function asWhom(
  { user, why }: CommandUser,
  make: (user: User | null) => Promise<ProcessExecutor>,
): Promise<CommandUser & { readonly executor: ProcessExecutor }> {
  const executor = await make(user).catch((error: unknown) => {
    if (user === null) throw error
    return null
  })
  if (executor !== null && (user === null || executor.isolation === 'L1')) return { executor, user, why }
  executor?.close()
  return { executor: await make(null), user: null, why: 'this host does not allow another user in namespaces' }
}

/** The container engine of this host; null: it has none. */
export function containerEngine(
  config: Config,
  environment: Environment,
): Pick<ContainerOptions, 'engine' | 'clientEnvironment'> | null {
  const engine = config.commands.engine ?? findProgram('docker') ?? findProgram('podman')
  const given = CLIENT_VARIABLES.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
  return engine === null ? null : { engine, clientEnvironment: Object.fromEntries(given) }
}

async function openContainers(config: Config, environment: Environment, log: Log): Promise<OpenedExecutor> {
  const found = containerEngine(config, environment)
  if (found === null) throw new Error('commands.isolation is container, and neither docker nor podman is on this host.')
  const { engine } = found
  const executor: ContainerExecutor = createContainerExecutor({
    ...found,
    image: config.commands.image!,
    network: config.commands.network,
  })
  await executor.verify()
  log.info({ engine, image: config.commands.image }, 'commands run in containers')
  return { executor, user: null, close: () => {} }
}
