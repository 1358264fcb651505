// The root that a sandboxed command sees, made from nothing: the system's programs, a few files of /etc, a /proc, /dev,
// /tmp and home of its own, and what the command was given. Deny by default: a folder that is not named here is not
// there, the data folder and those of other sessions among them. The same list for bubblewrap (as arguments) and for
// util-linux (as lines of the shell that makes the mounts).
//
// Named folders could contain a folder of the service (a data folder in /usr/local, say): what is hidden is covered.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { quote } from '../executor/shell-words.ts'
import type { Root } from '../executor/stages.ts'
import { isWithin, type Kept } from '../executor/view.ts'

export const SANDBOX_HOME = '/home/agent'

const SYSTEM = '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /run/current-system'.split(' ')
/** What programs need of /etc and anybody may know. Not hosts and resolv.conf: there is no network. */
const OF_ETC =
  'alternatives bash.bashrc ca-certificates crypto-policies debian_version fonts group host.conf inputrc java ld.so.cache ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types nsswitch.conf os-release passwd pki profile protocols services ssl/certs ssl/openssl.cnf terminfo timezone'.split(
    ' ',
  )
/** What root of any kind could write, below /proc. */
const OF_PROC = ['sys', 'sysrq-trigger', 'irq', 'bus'].map((name) => `/proc/${name}`)
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom']

const MIB = 1024 * 1024
/** In memory; counted with the command's where a control group counts. */
const TEMPORARY = [
  { path: '/tmp', bytes: 512 * MIB },
  { path: SANDBOX_HOME, bytes: 256 * MIB },
  { path: '/var/tmp', bytes: 64 * MIB },
] as const
const SHARED_MEMORY = { path: '/dev/shm', bytes: 64 * MIB } as const

type Step =
  | { readonly kind: 'bind'; readonly path: string; readonly readOnly: boolean; readonly isFolder: boolean }
  | { readonly kind: 'link'; readonly path: string; readonly to: string }
  | { readonly kind: 'cover'; readonly path: string; readonly isFolder: boolean }

/** Null for what is not there. */
function look(path: string): 'folder' | 'file' | 'link' | null {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'folder' : 'file'
  } catch {
    return null
  }
}

const realOf = (path: string): string | null => {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

function systemSteps(): Step[] {
  const steps: Step[] = []
  for (const path of [...SYSTEM, ...OF_ETC.map((name) => `/etc/${name}`)]) {
    const kind = look(path)
    if (kind === null) continue
    // A link of the root (/bin to usr/bin) stays one; a file of /etc that is a link is taken by its target.
    if (kind === 'link' && !path.startsWith('/etc/')) steps.push({ kind: 'link', path, to: readlinkSync(path) })
    else {
      const real = realOf(path)
      if (real !== null) steps.push({ kind: 'bind', path, readOnly: true, isFolder: look(real) === 'folder' })
    }
  }
  return steps
}

/** In the order in which they are to be made. */
export function stepsOf(kept: readonly Kept[], hidden: readonly string[]): Step[] {
  const system = systemSteps()
  const bound = system.filter((one) => one.kind === 'bind').map((one) => one.path)
  const covers = [...new Set(hidden.flatMap((path) => realOf(path) ?? []))]
    .filter((path) => [...bound, ...kept.map((one) => one.path)].some((outer) => isWithin(path, outer)))
    // What is given to the command, or lies in it, was meant to be seen; it is bound again after the cover.
    .map((path): Step => ({ kind: 'cover', path, isFolder: look(path) === 'folder' }))
  const given = new Map<string, Kept>()
  for (const one of kept) {
    const other = given.get(one.path)
    given.set(one.path, { path: one.path, readOnly: one.readOnly || other?.readOnly === true })
  }
  const binds = [...given.values()].map(
    ({ path, readOnly }): Step => ({ kind: 'bind', path, readOnly, isFolder: true }),
  )
  const inner = [...covers, ...binds].toSorted((a, b) => a.path.length - b.path.length)
  return [...system, ...inner]
}

export interface RootOptions {
  readonly kept: readonly Kept[]
  readonly hidden: readonly string[]
  /** Where lo is brought up by util-linux's side; null: it stays down. */
  readonly ip: string | null
  /** Folders of the host that can be covered for a moment. */
  readonly stages: readonly string[]
  readonly umount: string
  readonly pivotRoot: string
  /** Flags that a bind must repeat, because a user namespace may not drop them. */
  flagsOf(path: string): readonly string[]
  /** Mount points below a path. */
  mountsIn(path: string): readonly string[]
}

export function rootOf(options: RootOptions): Root {
  const steps = stepsOf(options.kept, options.hidden)
  return { view: shellLines(steps, options), wrap: bubblewrapArguments(steps) }
}

function bubblewrapArguments(steps: readonly Step[]): string[] {
  const temporary = ({ path, bytes }: { path: string; bytes: number }): string[] => [
    ...['--perms', '1777', '--size', String(bytes), '--tmpfs', path],
  ]
  return [
    ...[
      '--proc',
      '/proc',
      ...OF_PROC.flatMap((path) => ['--ro-bind-try', path, path]),
      '--dev',
      '/dev',
      ...temporary(SHARED_MEMORY),
      '--remount-ro',
      '/dev',
    ],
    ...TEMPORARY.flatMap(temporary),
    ...steps.flatMap((step, at) => {
      // By itself it makes folders that nobody else may enter.
      const above = foldersAbove(step.path, steps.slice(0, at)).flatMap((path) => ['--perms', '0755', '--dir', path])
      if (step.kind === 'link') return [...above, '--symlink', step.to, step.path]
      if (step.kind === 'bind') return [...above, step.readOnly ? '--ro-bind' : '--bind', step.path, step.path]
      return step.isFolder ? ['--perms', '0755', '--tmpfs', step.path] : ['--ro-bind', '/dev/null', step.path]
    }),
    // What covers a folder is closed only after everything was put into it.
    ...steps.flatMap((step) => (step.kind === 'cover' && step.isFolder ? ['--remount-ro', step.path] : [])),
    ...['--hostname', 'sandbox', '--remount-ro', '/'],
  ]
}

/** Those above a path that are not there yet: neither in something that was bound, nor made from the start. */
function foldersAbove(path: string, before: readonly Step[]): string[] {
  const names = path.split('/').slice(1, -1)
  return names
    .map((_, at) => `/${names.slice(0, at + 1).join('/')}`)
    .filter((folder) => {
      const around = before.findLast((step) => step.kind !== 'link' && isWithin(folder, step.path))
      return around?.kind !== 'bind' && TEMPORARY.every((one) => one.path !== folder)
    })
}

const OLD = '/.old'

/** Built up in a folder that nothing is taken from, and then made the root. The old one is let go, with all that is in it. */
function shellLines(steps: readonly Step[], options: RootOptions): string[] {
  const { ip, umount, pivotRoot, flagsOf, mountsIn } = options
  const stage = options.stages.find((place) => steps.every(({ path }) => !isWithin(path, place)))
  if (stage === undefined) throw new Error('no folder of the host can serve as the staging place')
  const at = (path: string): string => quote(`${stage}${path}`)
  const tmpfs = (path: string, mode: string, bytes: number): string =>
    `mkdir -p ${at(path)}; mount -n -t tmpfs -o mode=${mode},size=${bytes},nosuid,nodev none ${at(path)}`
  const placed = (step: Step): string => {
    if ('isFolder' in step && !step.isFolder) return `: > ${at(step.path)}`
    return isOfSystem(step) ? ':' : `mkdir -p ${at(step.path)}`
  }
  const bind = (path: string, readOnly: boolean): string[] => {
    const flags = (of: string): string =>
      [...new Set([readOnly ? 'ro' : 'rw', 'nosuid', 'nodev', ...flagsOf(of)])].join(',')
    // A remount reaches one mount only.
    const inner = readOnly ? mountsIn(path).map((one) => `mount -n -o remount,bind,${flags(one)} ${at(one)}`) : []
    return [`mount -n --rbind -o ${flags(path)} ${quote(path)} ${at(path)}`, ...inner]
  }
  return [
    ...(ip === null ? [] : [`${quote(ip)} link set lo up || :`]),
    'hostname sandbox 2>/dev/null || :',
    `mount -n -t tmpfs -o mode=0755,size=${4 * MIB} none ${at('')}`,
    `mkdir ${at('/proc')} ${at(OLD)}`,
    tmpfs('/dev', '0755', MIB),
    ...DEVICES.map((name) => `: > ${at(`/dev/${name}`)}; mount -n --bind /dev/${name} ${at(`/dev/${name}`)}`),
    ...['stdin', 'stdout', 'stderr'].map((name, fd) => `ln -s /proc/self/fd/${fd} ${at(`/dev/${name}`)}`),
    `ln -s /proc/self/fd ${at('/dev/fd')}`,
    tmpfs(SHARED_MEMORY.path, '1777', SHARED_MEMORY.bytes),
    `mount -n -o remount,ro,nosuid,nodev ${at('/dev')}`,
    ...TEMPORARY.map(({ path, bytes }) => tmpfs(path, '1777', bytes)),
    // In one go: each line is a process.
    `mkdir -p ${[...new Set(steps.filter(isOfSystem).map((step) => at(folderOf(step))))].join(' ')}`,
    ...steps.flatMap((step) => {
      if (step.kind === 'link') return [`ln -s ${quote(step.to)} ${at(step.path)}`]
      if (step.kind === 'bind') return [placed(step), ...bind(step.path, step.readOnly)]
      if (!step.isFolder) return [`mount -n --bind /dev/null ${at(step.path)}`]
      return [`mount -n -t tmpfs -o mode=0755,size=64k none ${at(step.path)}`]
    }),
    ...steps.flatMap((step) =>
      step.kind === 'cover' && step.isFolder ? [`mount -n -o remount,ro ${at(step.path)}`] : [],
    ),
    ...OF_PROC.map((path) => `test ! -e ${path} || mount -n --bind -o ro ${path} ${path}`),
    // Last: mount itself looks into it.
    `mount -n --move /proc ${at('/proc')}`,
    `${quote(pivotRoot)} ${at('')} ${at(OLD)}`,
    'cd /',
    `${quote(umount)} -n -l ${OLD}`,
    `rmdir ${OLD}`,
    'mount -n -o remount,ro /',
  ]
}

const isOfSystem = ({ path }: Step): boolean =>
  SYSTEM.includes(path) || (path.startsWith('/etc/') && OF_ETC.includes(path.slice('/etc/'.length)))

/** Which has to be there before it can be made. */
const folderOf = (step: Step): string =>
  step.kind === 'bind' && step.isFolder ? step.path : parentOf(step.path) || '/'

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))
