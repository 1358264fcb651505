// What no command of a run may see of this host, as far as its level of isolation can hold that: whatever belongs to the
// service, to the person it runs as, and to a container engine, which is as good as root.
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { Connection } from '../store/connection.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where programs keep credentials in a home folder. Tools that live in a home folder stay in sight. */
const OF_A_PERSON =
  '.ssh .gnupg .netrc .pgpass .git-credentials .config/git .config/gh .aws .azure .kube .docker .config/gcloud .config/containers .npmrc .pypirc .config/pip .dbt .snowflake .databrickscfg .bash_history .psql_history .local/share/keyrings'.split(
    ' ',
  )

const ENGINES = [
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/docker',
  '/run/podman',
  '/run/containerd',
  '/run/crio',
  '/run/user',
]

/** Paths need not be there. */
export function hiddenFrom(config: Config, connection: Connection, environment: Environment): string[] {
  const home = environment.HOME
  const sockets = [environment.SSH_AUTH_SOCK, environment.DOCKER_HOST?.replace(/^unix:\/\//, '')]
  return [
    config.data,
    config.blobs.folder,
    ...config.privateFiles,
    // A unix socket of the database; an address is none of the file system's.
    ...('host' in connection && connection.host.startsWith('/') ? [connection.host] : []),
    ...ENGINES,
    ...(environment.XDG_RUNTIME_DIR === undefined ? [] : [environment.XDG_RUNTIME_DIR]),
    ...sockets.filter((path) => path?.startsWith('/')).map(String),
    ...(home === undefined ? [] : OF_A_PERSON.map((name) => join(home, name))),
    ...OF_THE_HOST,
  ]
}

/** Root may read these; who is not root cannot anyway. */
const OF_THE_HOST = [
  ...['/etc/shadow', '/etc/gshadow', '/etc/shadow-', '/etc/gshadow-', '/etc/sudoers', '/etc/sudoers.d'],
  ...['rsa', 'ecdsa', 'ed25519', 'dsa'].map((kind) => `/etc/ssh/ssh_host_${kind}_key`),
  ...['/var/lib/docker', '/var/lib/containers', '/var/lib/kubelet', '/etc/kubernetes'],
]
