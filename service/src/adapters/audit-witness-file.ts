import { type FileHandle, open, readFile, rename, stat, writeFile } from 'node:fs/promises'
import type { AuditWitness, WitnessedHead } from '../ports/audit-witness.ts'
import type { Clock } from '../ports/runtime.ts'

// A line a minute at most is some 60 MB a year; past this size every second line goes, the first and last stay.
const THIN_OUT_ABOVE = 8 * 1024 * 1024

interface Line {
  readonly at: string
  readonly id: number
  readonly mac: string
}

/** One JSON line per head in a file that only its owner can read. */
export function fileWitness(path: string, clock: Clock): AuditWitness {
  return {
    append: async (head) => {
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      )
      if (size > THIN_OUT_ABOVE) await thinOut(path)
      const line: Line = { at: clock.now().toISOString(), id: head.id, mac: head.mac.toString('hex') }
      const file = await open(path, 'a+', 0o600)
      try {
        await file.write(`${(await endsInsideLine(file)) ? '\n' : ''}${JSON.stringify(line)}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
    },
    read: async () => {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      return text.split('\n').flatMap((line, index) => parse(line, `${path}:${index + 1}`))
    },
  }
}

/** After a crash: what is written next must not join the line that was cut short. */
async function endsInsideLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat()
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 0x0a
}

/** A line that a crash cut short says nothing and is passed over. */
function parse(text: string, place: string): WitnessedHead[] {
  try {
    const line = JSON.parse(text) as Line
    const mac = Buffer.from(line.mac, 'hex')
    return Number.isInteger(line.id) && mac.length === 32 ? [{ id: line.id, mac, where: `${place} (${line.at})` }] : []
  } catch {
    return []
  }
}

async function thinOut(path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  const kept = lines.filter((_, index) => index % 2 === 0 || index === lines.length - 1)
  await writeFile(`${path}.new`, `${kept.join('\n')}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}
