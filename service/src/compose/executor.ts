// How commands are run on this host, by what is asked for and what the host allows.
import { type ContainerExecutor, createContainerExecutor } from '../adapters/executor/container.ts'
import { findProgram } from '../adapters/executor/host.ts'
import { createProcessExecutor, type ProcessExecutor } from '../adapters/executor/process.ts'
import type { Config } from '../config/schema.ts'
import type { Executor } from '../ports/executor.ts'
import type { Log } from '../ports/runtime.ts'

export interface OpenedExecutor {
  readonly executor: Executor
  close(): void
}

type Environment = Readonly<Record<string, string | undefined>>

/** Of the engine's own client. */
const CLIENT_VARIABLES = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONFIG', 'CONTAINER_HOST']

export async function openExecutor(config: Config, environment: Environment, log: Log): Promise<OpenedExecutor> {
  if (config.commands.isolation === 'container') return await openContainers(config, environment, log)
  const wanted = config.commands.isolation
  const executor: ProcessExecutor = await createProcessExecutor({
    ...(wanted === 'auto' ? {} : { isolation: wanted }),
    hidden: [config.data],
  })
  if (wanted === 'L1' && executor.isolation !== 'L1') {
    executor.close()
    throw new Error(`commands.isolation is L1, and this host does not allow it: ${executor.isolationNote}.`)
  }
  const { isolation, isolationNote, limitsKind } = executor
  const said = { isolation, limits: limitsKind, ...(isolationNote !== '' && { reason: isolationNote }) }
  if (isolation === 'L0') log.warn(said, 'commands run without namespaces of their own: they see what the service sees')
  else log.info(said, 'commands run in namespaces of their own')
  return { executor, close: () => executor.close() }
}

async function openContainers(config: Config, environment: Environment, log: Log): Promise<OpenedExecutor> {
  const engine = findProgram('docker') ?? findProgram('podman')
  if (engine === null)
    throw new Error('commands.isolation is container, and neither docker nor podman is on this host.')
  const executor: ContainerExecutor = createContainerExecutor({
    engine,
    image: config.commands.image!,
    network: 'bridge',
    clientEnvironment: Object.fromEntries(
      CLIENT_VARIABLES.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
    ),
  })
  await executor.verify()
  log.info({ engine, image: config.commands.image }, 'commands run in containers')
  return { executor, close: () => {} }
}
