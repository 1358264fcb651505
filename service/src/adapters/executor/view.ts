// What a command sees of the host's files, as lines for the shell that sets up its mount namespace.
//
// A hidden folder gets an empty, tiny tmpfs over it, a hidden file /dev/null. What the command needs inside of a hidden
// folder is bound into that tmpfs at its own path while the tmpfs is still at a staging place; then it is moved, whole,
// over the folder. A read-only folder is bound onto itself. The command has no capabilities when it starts, and mounts
// made by others are locked in any namespace that it makes itself, so it can undo none of this.
//
// A path's nearest ancestor among all paths named decides what is to be done with it: inside of something hidden it
// has to be brought along, inside of something kept it is there already.
//
// Each line is a process, about a millisecond: the common case (one hidden folder with the checkout and two read-only
// folders inside) takes six.
import { quote } from './shell-words.ts'

export interface Kept {
  readonly path: string
  readonly readOnly: boolean
}

export interface Hidden {
  readonly path: string
  readonly directory: boolean
}

export interface ViewPaths {
  /** Real paths: no symbolic link in any component. */
  readonly kept: readonly Kept[]
  readonly hidden: readonly Hidden[]
  /** Folders of the host that nothing of ours needs while mounts are made; the first that fits is the staging place. */
  readonly stages: readonly string[]
  /** Flags that a bind must repeat, because a user namespace may not drop them. */
  flagsOf(path: string): readonly string[]
}

const EMPTY = 'mount -n -t tmpfs -o mode=0755,size=64k none'

/** Whether `path` lies in `folder`, or is it. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)

type Entry = { readonly path: string } & ({ readonly kept: Kept } | { readonly hidden: Hidden })

/** One entry per path, the outer ones first. What is named twice stays visible, and read-only if any asks for it. */
function entries({ kept, hidden }: ViewPaths): Entry[] {
  const all = new Map<string, Entry>()
  for (const one of hidden) all.set(one.path, { path: one.path, hidden: one })
  for (const one of kept) {
    const other = all.get(one.path)
    const readOnly = one.readOnly || (other !== undefined && 'kept' in other && other.kept.readOnly)
    all.set(one.path, { path: one.path, kept: { ...one, readOnly } })
  }
  const sorted = [...all.values()].sort((a, b) => a.path.length - b.path.length)
  // What is hidden inside of something hidden is gone already; what is kept in it belongs to the outer one.
  const needed: Entry[] = []
  for (const entry of sorted) {
    const outer = needed.findLast((other) => isWithin(entry.path, other.path))
    if (!('hidden' in entry && outer !== undefined && 'hidden' in outer)) needed.push(entry)
  }
  return needed
}

export function viewLines(paths: ViewPaths): string[] {
  const all = entries(paths)
  const parentOf = (entry: Entry): Entry | undefined =>
    all.findLast((other) => other !== entry && isWithin(entry.path, other.path))
  const lines: string[] = []
  const bind = ({ path, readOnly }: Kept, target: string): void => {
    const flags = [readOnly ? 'ro' : 'rw', ...paths.flagsOf(path)].join(',')
    lines.push(`mount -n --rbind -o ${flags} ${quote(path)} ${quote(target)}`)
  }
  // Outer ones first: what an inner one needs is at its own path by then.
  for (const entry of all) {
    const parent = parentOf(entry)
    if ('kept' in entry) {
      const { readOnly } = entry.kept
      const opens = !readOnly && parent !== undefined && 'kept' in parent && parent.kept.readOnly
      const isBrought = parent !== undefined && 'hidden' in parent
      if ((readOnly || opens) && !isBrought) bind(entry.kept, entry.path)
      continue
    }
    const brought = all.flatMap((other) => ('kept' in other && parentOf(other) === entry ? [other.kept] : []))
    if (!entry.hidden.directory) lines.push(`mount -n --bind /dev/null ${quote(entry.path)}`)
    else if (brought.length === 0) lines.push(`${EMPTY} ${quote(entry.path)}`)
    else {
      const stage = paths.stages.find((place) => all.every(({ path }) => !isWithin(path, place)))
      if (stage === undefined) throw new Error('no folder of the host can serve as the staging place')
      const places = brought.map(({ path }) => stage + path.slice(entry.path.length))
      lines.push(`${EMPTY} ${quote(stage)}`, `mkdir -p ${places.map(quote).join(' ')}`)
      for (const [index, kept] of brought.entries()) bind(kept, places[index]!)
      lines.push(`mount -n --move ${quote(stage)} ${quote(entry.path)}`)
    }
  }
  return lines
}

const REPEATED = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime'])

interface Mount {
  readonly point: string
  readonly flags: readonly string[]
}

const mountsOf = (mountinfo: string): Mount[] =>
  mountinfo
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields.length > 6)
    .map((fields) => ({
      point: fields[4]!.replace(/\\([0-7]{3})/g, (_, digits: string) =>
        String.fromCharCode(Number.parseInt(digits, 8)),
      ),
      flags: fields[5]!.split(',').filter((flag) => REPEATED.has(flag)),
    }))

/** From the text of /proc/self/mountinfo: the flags of the mount that holds a path. */
export function mountFlags(mountinfo: string): (path: string) => readonly string[] {
  const mounts = mountsOf(mountinfo)
  return (path) =>
    // Of two mounts on one point the later one is on top.
    mounts.reduce<Mount | null>(
      (best, mount) => (isWithin(path, mount.point) && mount.point.length >= (best?.point.length ?? 0) ? mount : best),
      null,
    )?.flags ?? []
}

/** From the same text: the mount points below a path. */
export function mountsWithin(mountinfo: string): (path: string) => readonly string[] {
  const points = [...new Set(mountsOf(mountinfo).map((mount) => mount.point))]
  return (path) => points.filter((point) => point !== path && isWithin(point, path))
}
