// Giving memory back. V8 keeps garbage for as long as there is room by its own measure: it counts objects, and what this
// service handles in bulk is bytes and long texts, of which few objects hold much. So we say when:
//
//   - A worker keeps the young generation at its first size. (With the usual room 60 MB that nobody needed were seen.)
//   - Whoever has started is done with everything that starting took: 30 MB of a server's 140 go back at once.
//   - A worker clears up whenever a few megabytes of output have gone to the database, a server after each large answer.
//     What several of them were made of is old by then, and V8 lets as much of that gather as is in use (a server with
//     five readers of a log: 330 MB); so everything is cleared once much has gathered.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

interface Collection {
  readonly type: 'minor' | 'major'
  readonly execution: 'sync'
  readonly flavor?: 'last-resort'
}

let collect: ((options: Collection) => void) | undefined

function collector(): (options: Collection) => void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as (options: Collection) => void
    setFlagsFromString('--no-expose-gc')
  }
  return collect
}

/** For a process that does nothing but execute runs; before anything else is read, because reading it makes it grow. */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

const inUse = (): number => {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return used_heap_size + external_memory
}

/** A tenth of a second, once, before there is work. */
export function giveBackAfterStart(): void {
  collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Beside what is in use after the last clearing of everything. */
const MUCH = 16 * 1024 * 1024

/** For after each large piece of work: a millisecond, or 30 ms when everything is cleared. */
export function clearing(): () => void {
  let kept = inUse()
  return () => {
    const isMuch = inUse() > kept + MUCH
    collector()({ type: isMuch ? 'major' : 'minor', execution: 'sync' })
    if (isMuch) kept = inUse()
  }
}
