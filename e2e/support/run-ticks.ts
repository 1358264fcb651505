/** Whether every minute of a schedule that is due each minute has its one row. */
import type { Picture } from './run-rows.ts'

const MINUTE = 60

export function ticksOf({ runs, nextDue }: Picture, firstDue: ReadonlyMap<string, number>) {
  const lost: string[] = []
  const doubled: string[] = []
  let count = 0
  for (const [slug, first] of firstDue) {
    const end = nextDue.get(slug)
    if (end === undefined) {
      lost.push(`${slug} is not due any more`)
      continue
    }
    const seen = new Map<number, number>()
    for (const run of runs) {
      if (run.slug !== slug || run.dueAt === null) continue
      const last = run.skippedUntil ?? run.dueAt
      for (let at = run.dueAt; at <= last; at += MINUTE) seen.set(at, (seen.get(at) ?? 0) + 1)
    }
    for (let at = first; at < end; at += MINUTE) {
      count++
      if (!seen.has(at)) lost.push(`${slug} at ${time(at)}`)
    }
    for (const [at, times] of seen) {
      if (times > 1) doubled.push(`${slug} at ${time(at)}: ${times} times`)
      if (at < first || at >= end || at % MINUTE !== 0) doubled.push(`${slug} at ${time(at)}, when it was not due`)
    }
  }
  return { lost, doubled, count }
}

const time = (at: number): string => new Date(at * 1000).toISOString()
