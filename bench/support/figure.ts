/** One line of a benchmark: what was measured, what it is compared with, and what the ratio must keep to. */
export interface Figure {
  readonly name: string
  readonly measured: string
  readonly floor: string
  readonly ratio: number
  readonly bound: { readonly least: number } | { readonly most: number } | null
  readonly notes: string
}

export function holds({ ratio, bound }: Figure): boolean {
  if (bound === null) return true
  return 'least' in bound ? ratio >= bound.least : ratio <= bound.most
}

export function table(figures: readonly Figure[]): string {
  const rows = [
    ['what', 'measured', 'floor', 'ratio', 'must be', '', 'notes'],
    ...figures.map((figure) => [
      figure.name,
      figure.measured,
      figure.floor,
      figure.ratio.toFixed(2),
      boundText(figure),
      holds(figure) ? 'ok' : 'MISSED',
      figure.notes,
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function boundText({ bound }: Figure): string {
  if (bound === null) return '-'
  return 'least' in bound ? `>= ${bound.least}` : `<= ${bound.most}`
}
