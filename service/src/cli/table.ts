// Text for people: columns that stand under one another.

type Cell = string | number | boolean | null | undefined

export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(shown))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines.map((line) => `${padded(line, widths)}\n`).join('')
}

/** Names and their values, one pair a line. */
export function pairs(rows: readonly (readonly [string, Cell])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join('')
}

const padded = (line: readonly string[], widths: readonly number[]): string =>
  line
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

function shown(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-'
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  // What somebody stored must not be able to speak to a terminal.
  return [...String(cell)].map((letter) => (isControl(letter) ? '?' : letter)).join('')
}

const isControl = (letter: string): boolean => letter < ' ' || (letter >= '\x7f' && letter <= '\x9f')

/** Text of several lines that somebody else wrote, such as a model or a tool. */
export const printable = (text: string): string =>
  [...text].map((letter) => (isControl(letter) && letter !== '\n' && letter !== '\t' ? '?' : letter)).join('')
