/** A file system of a few megabytes, which a run can fill. Only root may make one, and not everywhere. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from './service.ts'

export interface SmallDisk {
  readonly folder: string
  /** In MiB. */
  free(): number
  close(): void
}

/** Why there is none, as a text, where it is refused. */
export async function smallDisk(mib: number, at?: string): Promise<SmallDisk | string> {
  // Whoever clears up at the exit of this process comes first: what is mounted is needed for that.
  await temporaryFolder('small-disk')
  const folder = at ?? mkdtempSync(join(tmpdir(), 'yardmaster-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=755`, 'yardmaster-test', folder], {
    encoding: 'utf8',
  })
  if (mounted.status !== 0) return (mounted.stderr || mounted.error?.message) ?? 'mount failed'
  let open = true
  const close = (): void => {
    if (!open) return
    open = false
    spawnSync('umount', ['-l', folder])
    if (at === undefined) rmdirSync(folder)
  }
  process.once('exit', close)
  return {
    folder,
    free: () => {
      const { bavail, bsize } = statfsSync(folder)
      return (bavail * bsize) / 1024 ** 2
    },
    close,
  }
}
