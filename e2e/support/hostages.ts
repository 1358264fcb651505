/** Runs that are given to one worker, to see what becomes of them and of their processes when something happens to it. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive, statOf } from '../../service/src/adapters/executor/process-tree.ts'
import { processesWith } from '../../service/test/support/executor.ts'
import type { Cluster, ClusterWorker } from './cluster.ts'

export interface Hostages {
  readonly runIds: readonly number[]
  /** How many lasting processes of them were seen, and how many of those are still alive. */
  readonly processes: number
  alive(): number
  /** When none of their processes was alive any more, in milliseconds since 1970. Null when some still are after `ms`. */
  gone(ms: number): Promise<number | null>
}

/** One ends by a first signal, one ignores all but the last, one writes all the time. */
export const STUBBORN = [
  'exec sleep 600',
  `trap '' INT TERM; exec sleep 600`,
  'i=0; while [ $i -lt 6000 ]; do i=$((i + 1)); echo "line $i of $YARDMASTER_RUN_ID"; sleep 0.1; done',
] as const

const PASSING_MS = 500

const witnessed = (command: string): string => `. ./witness.sh; witness start; ${command}; witness end`

/** Schedules whose runs go to one worker and may overlap; gives their slugs. */
export function hostageSchedules(cluster: Cluster, worker: ClusterWorker, commands: readonly string[] = STUBBORN) {
  const more = { overlap: 'ALLOW' }
  return Promise.all(commands.map((one) => cluster.schedule(worker.environment, [witnessed(one)], more)))
}

/** Starts one run of each, and waits until their commands are at work. */
export async function takeHostages(cluster: Cluster, slugs: readonly string[]): Promise<Hostages> {
  return await watch(cluster, await Promise.all(slugs.map((slug) => takeOne(cluster, slug))))
}

/** What is alive now of these runs. Other services of this host have runs of the same numbers, in other workspaces. */
export function processesOf({ servers }: Cluster, runIds: readonly number[]): number[] {
  const ours = processesWith(`\0YARDMASTER_WORKSPACE_UID=${servers[0]!.client.headers['x-service-workspace']}\0`)
  return ours.filter((pid) => runIds.includes(runOf(pid)))
}

function runOf(pid: number): number {
  try {
    return Number(/\0YARDMASTER_RUN_ID=(\d+)\0/.exec(`\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`)?.[1])
  } catch {
    return Number.NaN
  }
}

/** On a host that is busy enough a lease of seconds runs out without anybody's doing: then there is another run. */
async function takeOne({ client, witness }: Cluster, slug: string): Promise<number> {
  let id = await client.trigger(slug)
  await client.until(async () => {
    if (witness.read().lines.some((line) => line.run === id)) return true
    const { run } = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state } } }', { id })
    if (run.state !== 'RUNNING') id = await client.trigger(slug)
    return false
  }, 120_000)
  return id
}

async function watch(cluster: Cluster, runIds: readonly number[]): Promise<Hostages> {
  const now = processesOf(cluster, runIds).flatMap((pid) => statOf(pid) ?? [])
  // Those that come and go within a command say nothing about it.
  await pause(PASSING_MS)
  const seen = now.filter(({ pid, start }) => isAlive(pid, start))
  return {
    runIds,
    processes: seen.length,
    alive: () => seen.filter(({ pid, start }) => isAlive(pid, start)).length,
    gone: async (ms) => {
      const deadline = performance.now() + ms
      for (;;) {
        // Cheap looks at what is known; one at everything before it is believed.
        if (!seen.some(({ pid, start }) => isAlive(pid, start))) {
          const at = Date.now()
          if (processesOf(cluster, runIds).length === 0) return at
        }
        if (performance.now() > deadline) return null
        await pause(20)
      }
    },
  }
}
