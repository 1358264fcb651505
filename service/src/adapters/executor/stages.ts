// How a command comes to be, in stages that become one another:
//
//   L1: setpriv (dies with us), unshare ── fork ── sh, PID 1 of the namespace: makes the view, says `ready`, waits
//                                               └─ setpriv (gives up all rights), nice, prlimit, sh -s, bash -c TEXT
//   L0: setpriv (dies with us), sh (says `ready`), setpriv, nice, prlimit, sh -s, bash -c TEXT
//
// A sealed command has a root of its own and no network either. With util-linux `view` is what makes that root; bubblewrap
// makes it by itself, and then what must be done outside of it (joining control groups, handing over) comes before:
//
//   setpriv, sh (outside), bwrap ── fork ── sh, PID 1: says `ready`, waits, and on as above
//
// PID 1 keeps default signals for the command and leaves with its code; without it SIGTERM would be ignored and exit
// codes would be wrong. It keeps the rights that it needed for the mounts; the command has none of them, so it can
// neither undo the view nor reach into PID 1.
//
// Our words, and the complaints of these programs, go over descriptor 2; the command's own standard error waits at
// descriptor 3 until it starts, so that nothing of ours gets into its log. The environment goes over standard input, as
// a script for `sh -s`, and only after `ready`: by then the death signal is set, so a service that dies earlier has
// started nothing, and one that dies later takes everything along.
import type { Limits } from '../../ports/executor.ts'
import type { Host } from './host.ts'
import { PIPE_PREFIX } from './pipes.ts'
import { quote } from './shell-words.ts'
import type { Kept } from './view.ts'

export interface User {
  readonly uid: number
  readonly gid: number
}

export interface Stage {
  readonly host: Host
  readonly isolation: 'L0' | 'L1'
  /** Another user for the command; only root can have one. */
  readonly user: User | null
  /** Whether that user may make a user namespace: then its processes are counted per command. */
  readonly nested: boolean
  /** The way into namespaces leads through a user namespace: who is not root, and root without its rights. */
  readonly mapped: boolean
  readonly sealed?: Sealed
}

/** A root of its own, and no network. */
export interface Sealed {
  /** The program of bubblewrap; null: the tools of util-linux. */
  readonly bubblewrap: string | null
  root(kept: readonly Kept[]): Root
}

/** What a root is made of: lines for a shell, or arguments of bubblewrap. */
export interface Root {
  readonly view: readonly string[]
  readonly wrap: readonly string[]
}

export interface Preparation {
  readonly folder: string
  /** Files of control groups to join. */
  readonly joins: readonly string[]
  readonly view: readonly string[]
  /** For bubblewrap: what its root is made of. */
  readonly wrap?: readonly string[]
  /** Folders that become the other user's. */
  readonly owned: readonly string[]
  readonly limits: { readonly [Name in 'data' | 'nproc' | 'fsize']: number | null }
  /** The text, or null when it comes by descriptor 4. */
  readonly text: string | null
}

export const READY = 'ready\n'
export const STARTED = 'started\n'

/**
 * The service and its database come first on a busy machine. Where the kernel shares the processors out by session, as
 * most do (autogroup), niceness counts only within one, and the session has one of its own.
 */
const NICENESS = '5'
/** Of 1,000, which would be: before anybody else. */
const FIRST_TO_GO = 500
/** Enough for any job, and the cost of a million descriptors is the kernel's. */
export const OPEN_FILES = 65_536

export function argvOf(stage: Stage, preparation: Preparation): string[] {
  const { host, isolation, mapped, sealed } = stage
  const { setpriv, unshare } = host.tools
  const argv: string[] = []
  if (setpriv !== null) argv.push(setpriv, '--pdeathsig', 'KILL')
  if (isOfBubblewrap(stage)) {
    argv.push(host.sh, '-c', outsideScript(stage, preparation), 'yardmaster', sealed!.bubblewrap!)
    argv.push(...wrapping(stage), ...(preparation.wrap ?? []), '--')
  } else if (isolation === 'L1') {
    argv.push(unshare!, ...(mapped ? ['--map-current-user', '--keep-caps'] : []))
    argv.push('--mount', '--ipc', '--pid', '--fork', '--kill-child=KILL', '--mount-proc')
    if (sealed !== undefined) argv.push('--net', '--uts')
  }
  argv.push(host.sh, '-c', firstScript(stage, preparation), 'yardmaster')
  argv.push(...givingUpRights(stage), ...limiting(stage, preparation), launcherOf(host), '-s', host.shell)
  return preparation.text === null ? [...argv, '/dev/fd/4'] : [...argv, '-c', preparation.text]
}

const isOfBubblewrap = ({ isolation, sealed }: Stage): boolean =>
  isolation === 'L1' && sealed !== undefined && sealed.bubblewrap !== null

/** The rights that are left to PID 1 are those that it takes to give them all up. */
const wrapping = ({ mapped }: Stage): string[] => [
  ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--die-with-parent', '--as-pid-1'],
  ...(mapped ? ['--unshare-user'] : ['SETUID', 'SETGID', 'SETPCAP'].flatMap((one) => ['--cap-add', `CAP_${one}`])),
]

/** Small shells know descriptors of one digit only. */
const launcherOf = ({ inherited, sh, shell }: Host): string => (inherited.some((fd) => fd > 9) ? shell : sh)

/**
 * PID 1. A shell that is interrupted may die at once and leave the program that it was waiting for (a script of
 * /bin/sh does), and the namespace would end under a dbt that is cancelling its queries. So, once a signal came, it
 * waits for all that the signal went to: seen from inside, what is still in the group that began outside is in group 0.
 */
const FIRST_PROCESS = (ready: string): string => `others() {
  for stat in /proc/[0-9]*/stat; do
    [ "$stat" != /proc/1/stat ] && read -r line 2>/dev/null <"$stat" || continue
    set -- \${line##*) }
    [ "$3" = 0 ] && [ "$1" != Z ] && return 0
  done
  return 1
}
stopped=
trap 'stopped=1' INT TERM
trap : HUP QUIT
printf '${ready}\\n' >&2
set +e
"$@"
code=$?
while [ -n "$stopped" ] && others; do sleep 0.02; done
exit $code`

/** Before bubblewrap: control groups and the owners of files are the host's. */
const outsideScript = (stage: Stage, preparation: Preparation): string =>
  ['set -e', '{', ...hostLines(stage, preparation), '} >&2 </dev/null', 'exec "$@"'].join('\n')

function hostLines({ user }: Stage, { joins, owned }: Preparation): string[] {
  const chown =
    user === null || owned.length === 0
      ? []
      : [
          // What has a second name may be somebody else's under it, such as an object of a git mirror; and the pipes of
          // another command that starts in the same folder are about to go.
          `find ${owned.map(quote).join(' ')} -xdev -ignore_readdir_race '(' -type d -o -links 1 ')' ` +
            `! -user ${user.uid} ! -name '${PIPE_PREFIX}*' ` +
            `-exec chown -h ${user.uid}:${user.gid} '{}' +`,
        ]
  return [
    ...joins.map((file) => `echo 0 > ${quote(file)}`),
    // Where no limit holds and the machine runs out of memory, a command is to go and not the service or its database.
    `{ echo ${FIRST_TO_GO} > /proc/self/oom_score_adj; } 2>/dev/null || :`,
    `{ echo ${NICENESS} > /proc/self/autogroup; } 2>/dev/null || :`,
    // Before the view: what is read-only inside of a folder could not be handed over after.
    ...chown,
  ]
}

function firstScript(stage: Stage, preparation: Preparation): string {
  return [
    'set -e',
    '{',
    ...(isOfBubblewrap(stage) ? [] : [...hostLines(stage, preparation), ...preparation.view]),
    `cd ${quote(preparation.folder)}`,
    '} >&2 </dev/null',
    ...(stage.isolation === 'L0' ? [`printf '${READY.trim()}\\n' >&2`, 'exec "$@"'] : [FIRST_PROCESS(READY.trim())]),
  ].join('\n')
}

function givingUpRights(stage: Stage): string[] {
  const { host, isolation, user, nested } = stage
  const { setpriv, unshare } = host.tools
  if (setpriv === null) return []
  const argv = [setpriv, '--no-new-privs', '--inh-caps', '-all', '--ambient-caps', '-all']
  // Changing the user clears the signal that was set above.
  if (isolation === 'L0') argv.push('--pdeathsig', 'KILL')
  if (user !== null) argv.push('--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups')
  // Only who has the right to may shrink the bounding set, and only then it is needed.
  const mayShrink = isOfBubblewrap(stage) ? !stage.mapped : host.uid === 0 || isolation === 'L1'
  if (mayShrink) argv.push('--bounding-set', '-all')
  if (user !== null && nested) argv.push(unshare!, '--user', '--map-current-user')
  return argv
}

function limiting({ host }: Stage, { limits }: Preparation): string[] {
  const { nice, prlimit } = host.tools
  const argv = nice === null ? [] : [nice, '-n', NICENESS]
  if (prlimit === null) return argv
  argv.push(prlimit, '--core=0', `--nofile=${Math.min(OPEN_FILES, host.openFiles)}`)
  for (const [name, value] of Object.entries(limits)) if (value !== null) argv.push(`--${name}=${value}`)
  return argv
}

/** For `sh -s`. Cut off at any place it starts nothing: the word that does is the last one. */
export function launchScript({ inherited, shell }: Host, exports: string): string {
  return [
    `printf '${STARTED.trim()}\\n' >&2`,
    'exec 2>&3 3>&-',
    ...inherited.filter((fd) => fd > 4 && (fd < 10 || shell.endsWith('bash'))).map((fd) => `exec ${fd}>&-`),
    'unset PATH OLDPWD',
    exports,
    'exec "$@" </dev/null',
    '',
  ].join('\n')
}

/** Which limits rlimits have to hold, given what control groups hold already. */
export function rlimits(limits: Limits, grouped: { memory: boolean; processes: boolean }): Preparation['limits'] {
  return {
    // The data segment, and not the address space: Node, Java and DuckDB reserve far more of that than they use.
    data: grouped.memory ? null : limits.memoryBytes,
    nproc: grouped.processes ? null : limits.processes,
    fsize: limits.fileBytes,
  }
}
