import { setTimeout as pause } from 'node:timers/promises'
import { isUnavailable } from '../../store/database.ts'

/**
 * Writes what must be written, through a database that is away for a while: again after growing pauses until `until`
 * is aborted. `work` is told whether it may have happened already (the answer of a commit can be lost), and must be
 * safe to repeat.
 */
export async function persist<T>(work: (tries: 'first' | 'again') => Promise<T>, until: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt === 0 ? 'first' : 'again')
    } catch (error) {
      if (!isUnavailable(error) || until.aborted) throw error
      await pause(Math.min(2000, 100 * 2 ** attempt), undefined, { signal: until }).catch(() => {})
      if (until.aborted) throw error
    }
  }
}
