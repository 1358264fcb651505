// What the machine offers: programs, the data folder and its disk, how far commands can be kept apart.
import { execFile } from 'node:child_process'
import { open, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { probeIsolation } from '../../adapters/executor/process.ts'
import { sandboxOf } from '../../compose/agents.ts'
import { commandUser } from '../../compose/command-user.ts'
import { VERSION } from '../../compose/version.ts'
import type { Config } from '../../config/schema.ts'
import { exists } from '../app.ts'
import { check, type Finding, fail, ok, warn } from './finding.ts'

type Environment = Readonly<Record<string, string | undefined>>

const run = promisify(execFile)

const MIB = 1024 ** 2
const LITTLE_DISK = 2048 * MIB
const NO_DISK = 200 * MIB

export async function machineChecks(config: Config, env: Environment): Promise<Finding[]> {
  return [
    await check('yardmaster', 'Install Node 24 or later.', () => ok(`${VERSION} on Node ${process.versions.node}`)),
    await check('git', 'Install git.', async () => {
      const version = await versionOf('git', env)
      return version === null
        ? fail('not found on the PATH', 'Install git: every run clones a repository.')
        : ok(version)
    }),
    await check('python', 'Install Python 3.', async () => {
      const version = await versionOf('python3', env)
      return version === null
        ? warn('not found on the PATH', 'Install Python 3 with venv and pip if runs shall use dbt.')
        : ok(version)
    }),
    await check('data folder', 'Make it a folder of the user who runs Yardmaster.', () => dataFolder(config)),
    await check('disk', 'Check the file system of the data folder.', () => disk(config)),
    await check('isolation', 'Install util-linux (setpriv, unshare).', () => isolation(config, env)),
    await check('agent shell', 'Look at the message; agents have no shell until it is mended.', () =>
      agentShell(config, env),
    ),
  ]
}

async function versionOf(program: string, env: Environment): Promise<string | null> {
  try {
    const { stdout } = await run(program, ['--version'], { env: { PATH: env.PATH, HOME: env.HOME }, timeout: 10_000 })
    return stdout.trim().replace(/^git version |^Python /, '')
  } catch {
    return null
  }
}

async function dataFolder({ data }: Config) {
  if (!(await exists(data))) return ok(`${data} is not there yet; the first start makes it`)
  const { mode, uid } = await stat(data)
  const shown = (mode & 0o777).toString(8).padStart(4, '0')
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own) {
    return fail(
      `${data} belongs to user ${uid}, and this is user ${own}`,
      'Run as its owner, or choose another with --data.',
    )
  }
  const probe = join(data, `.doctor.${process.pid}`)
  try {
    await (await open(probe, 'wx', 0o600)).close()
  } catch (error) {
    return fail(
      `${data} cannot be written (${(error as NodeJS.ErrnoException).code})`,
      'Make it writable for its owner.',
    )
  } finally {
    await rm(probe, { force: true })
  }
  // 0711 is what a PostgreSQL of another user needs to pass through.
  if ((mode & 0o066) !== 0) return warn(`${data} has mode ${shown}: others can look into it`, `chmod 700 ${data}`)
  return ok(`${data}, mode ${shown}, writable`)
}

async function disk({ data }: Config) {
  let place = data
  while (!(await exists(place)) && dirname(place) !== place) place = dirname(place)
  const { bavail, blocks, bsize } = await statfs(place)
  const free = bavail * bsize
  const text = `${gib(free)} of ${gib(blocks * bsize)} free`
  const advice = 'Make room, or move the data folder to a larger disk.'
  if (free < NO_DISK) return fail(text, advice)
  return free < LITTLE_DISK ? warn(text, advice) : ok(text)
}

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

// How a command of a run would be started (docs/operations.md), found by starting one.
async function isolation({ commands }: Config, env: Environment) {
  if (commands.isolation === 'container') return ok(`level 2: commands run in containers of ${commands.image}`)
  if (commands.isolation !== 'L0' && (await probeIsolation()) === 'L1') {
    const level = 'level 1: commands get namespaces of their own'
    const { user, why } = commandUser(commands.user, env.PATH ?? '')
    if (why !== '') return warn(`${level}, but as root: ${why}`, 'Run Yardmaster as a user of its own.')
    return ok(user === null ? level : `${level}, as the user nobody`)
  }
  return warn(
    'level 0: commands run in plain process groups, see what the service sees, and may outlive their run',
    "Allow user namespaces (kernel.unprivileged_userns_clone, or the container's security profile) and install util-linux.",
  )
}

// Where shell commands of agents would run, found by running one that looks for what it must not find.
async function agentShell(config: Config, env: Environment) {
  if (config.agents.sandbox === 'off') return ok('set to off: agents have no shell')
  const { sandbox, why, close } = await sandboxOf(config, { connections: { service: { url: '' } } }, env)
  close()
  if (sandbox === null) {
    return warn(
      `agents have no shell: no sandbox works here (${why})`,
      'Install bubblewrap, or allow user namespaces, or set agents.sandbox to container with an image.',
    )
  }
  const network = sandbox.noEgress === null ? '' : `; allowed hosts cannot be reached: ${sandbox.noEgress}`
  return ok(`commands of agents run in ${SANDBOXES[sandbox.kind]}${network}`)
}

const SANDBOXES = {
  bubblewrap: 'bubblewrap',
  namespaces: 'namespaces of util-linux (bubblewrap would be faster)',
  container: 'a container',
} as const
