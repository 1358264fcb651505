/** A copy of the service from which something is taken out: proof that a checker sees it missing. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, temporaryFolder } from './service.ts'

/** One place of one file, found by its text. */
export interface Cut {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** Gives the path of its `main.ts`. Throws when a text is not there: then it was written otherwise and the cut is void. */
export async function buildWithout(cuts: readonly Cut[]): Promise<string> {
  const folder = await temporaryFolder('build')
  mkdirSync(join(folder, 'service'))
  for (const part of ['package.json', 'contract', 'service/package.json', 'service/src', 'service/migrations']) {
    cpSync(join(root, part), join(folder, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const { file, text, instead } of cuts) {
    const path = join(folder, 'service', 'src', file)
    const before = readFileSync(path, 'utf8')
    if (!before.includes(text)) throw new Error(`${file} does not hold ${JSON.stringify(text)} any more`)
    writeFileSync(path, before.replaceAll(text, instead))
  }
  return join(folder, 'service', 'src', 'main.ts')
}

/**
 * Taking, beginning and keeping a run, starting a command and writing its log, without asking whether somebody did so
 * before: the row's state, the attempt and the worker are not compared any more. With any of them left in, the second of
 * two workers is mostly stopped before it comes to a command of the user.
 */
export const COMPARE_AND_SET: readonly Cut[] = [
  { file: 'store/run-hold.ts', text: `and r.state = 'waiting' and r.released_at`, instead: 'and r.released_at' },
  {
    file: 'store/run-hold.ts',
    text: `attempt = \${hold.attempt} and worker_id = \${hold.workerId}\n        and state in`,
    instead: 'state in',
  },
  { file: 'store/run-hold.ts', text: 'started_at is null as fresh', instead: 'true as fresh' },
  {
    file: 'store/run-hold.ts',
    text: `and attempt = \${hold.attempt} and worker_id = \${hold.workerId}\n    and state in`,
    instead: 'and state in',
  },
  {
    file: 'store/run-hold.ts',
    text: `r.id = h.id and r.attempt = h.attempt and r.worker_id = \${workerId}`,
    instead: 'r.id = h.id',
  },
  {
    file: 'store/commands.ts',
    text: `and attempt = \${hold.attempt} and worker_id = \${hold.workerId} and state in \${HELD}`,
    instead: '',
  },
  {
    file: 'store/commands.ts',
    text: `and c.state = 'waiting' and not held.canceled`,
    instead: 'and not held.canceled',
  },
  {
    // The log refuses a second writer too.
    file: 'compose/worker.ts',
    text: 'openLog(app.db, commandId,',
    instead: `((..._: unknown[]) => {
        const nothing = async () => {}
        return Promise.resolve({ write: nothing, note: nothing, finish: nothing })
      })(commandId,`,
  },
]
