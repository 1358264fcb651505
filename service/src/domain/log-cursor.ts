// `<stdout>:<stderr>`: how many bytes of each stream were delivered.
import { invalidInput } from './errors.ts'
import { quoted } from './text.ts'

export interface LogCursor {
  readonly stdout: number
  readonly stderr: number
}

const FORM = /^(0|[1-9]\d{0,14}):(0|[1-9]\d{0,14})$/

/** Null is the beginning. */
export function parseCursor(text: string | null | undefined): LogCursor {
  if (text === null || text === undefined) return { stdout: 0, stderr: 0 }
  const match = FORM.exec(text)
  if (match === null) {
    throw invalidInput(`cursor: ${quoted(text)} is none. Give the cursor of the batch before, or 0:0 for the first.`)
  }
  return { stdout: Number(match[1]), stderr: Number(match[2]) }
}

export const formatCursor = ({ stdout, stderr }: LogCursor): string => `${stdout}:${stderr}`
