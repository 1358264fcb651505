// Process ids are used again, also across restarts of the host, so a name holds boot id, PID namespace and start time
// beside the id. Two containers of one host share the boot id and not the namespace.
import { randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { HostProcesses } from '../ports/host-processes.ts'

export function hostProcesses(): HostProcesses {
  const here = lookAround()
  const random = randomBytes(4).toString('hex')
  const host = hostname().replaceAll('/', '-')
  const place = here === null ? 'unknown/unknown' : `${here.boot}/${here.namespace}`
  return {
    self: `${host}/${place}/${process.pid}/${here?.started ?? 'unknown'}/${random}`,
    isDead: async (id) => {
      const [, boot, namespace, pid, started] = id.split('/')
      if (here === null || boot !== here.boot || namespace !== here.namespace || !/^\d+$/.test(pid ?? '')) return false
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch((error: NodeJS.ErrnoException) =>
        // Anything but "there is no such process" proves nothing.
        error.code === 'ENOENT' || error.code === 'ESRCH' ? null : undefined,
      )
      if (stat === undefined) return false
      if (stat === null) return true
      const found = parseStat(stat)
      return found.started !== started || found.state === 'Z' || found.state === 'X'
    },
  }
}

interface Here {
  readonly boot: string
  readonly namespace: string
  readonly started: string
}

function lookAround(): Here | null {
  try {
    return {
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      namespace: readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''),
      started: parseStat(readFileSync('/proc/self/stat', 'utf8')).started,
    }
  } catch {
    return null
  }
}

/** The name of the program (field 2) may hold spaces and brackets: what counts begins after its last bracket. */
function parseStat(stat: string): { state: string; started: string } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', started: fields[19] ?? '' }
}
