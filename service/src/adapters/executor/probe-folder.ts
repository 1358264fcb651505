// The folder of a probe, in the host's place for temporary ones. A service that is killed while it probes leaves it
// there, and the next one that probes removes it: its name tells whose it is, in which PID namespace.
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive, statOf } from './process-tree.ts'

const NAME = /^yardmaster-probe-(\d+)\.(\d+)\.(\d+)\./

export function makeProbeFolder(): string {
  const place = tmpdir()
  const namespace = ownNamespace()
  clearUp(place, namespace)
  return mkdtempSync(join(place, `yardmaster-probe-${namespace}.${process.pid}.${statOf(process.pid)?.start ?? 0}.`))
}

export const removeProbeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

function clearUp(place: string, own: string): void {
  try {
    for (const name of readdirSync(place)) {
      const [, namespace, pid, start] = NAME.exec(name) ?? []
      if (namespace !== own || isAlive(Number(pid), start!)) continue
      removeProbeFolder(join(place, name))
    }
  } catch {
    // What cannot be read or removed is somebody else's.
  }
}

function ownNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return '0'
  }
}
