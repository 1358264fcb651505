// The disk of a checkout is often that of the service and its database, and nothing but quotas, which few hosts have,
// bounds what a command writes in many files. So the free room is looked at while it runs. Others write too: the
// limit is a rough one, for commands that go wild.
import { statfs } from 'node:fs/promises'

export interface DiskLimits {
  /** How much of the room may be gone since the command began. */
  readonly mostBytes: number
  /** Below this no command goes on that takes more. */
  readonly floorBytes: number
}

const LOOK_MS = 250

/** Calls `full` once, when the room that is left or taken says so. Gives what ends the watch. */
export function watchDisk(folder: string, limits: DiskLimits, full: () => void): () => void {
  let first: number | null = null
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const { bavail, bsize } = await statfs(folder)
      const free = bavail * bsize
      first ??= free
      const taken = first - free
      if (taken > limits.mostBytes || (free < limits.floorBytes && taken > 0)) {
        clearInterval(timer)
        full()
      }
    } catch {
      // The folder is gone, and with it whatever could be watched.
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => void look(), LOOK_MS)
  void look()
  return () => clearInterval(timer)
}
