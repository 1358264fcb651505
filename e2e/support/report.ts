/** What a fault proof prints at its end, and whether it held. */

export const startClock = (): (() => number) => {
  const began = performance.now()
  return () => performance.now() - began
}

/** A figure, and what it must be where it must be anything. */
export type Line = readonly [name: string, figure: number, holds?: (figure: number) => boolean]

/** Prints every figure; one that does not hold fails the process. */
export function summary(title: string, clock: () => number, lines: readonly Line[]): void {
  const width = Math.max(...lines.map(([name]) => name.length))
  let failed = 0
  console.log(`\n${title} (${(clock() / 1000).toFixed(0)} s)`)
  for (const [name, figure, holds] of lines) {
    const word = holds === undefined ? '' : holds(figure) ? 'holds' : 'FAILS'
    if (word === 'FAILS') failed++
    console.log(`  ${name.padEnd(width)}  ${String(Math.round(figure * 10) / 10).padStart(8)}  ${word}`.trimEnd())
  }
  if (failed > 0) process.exitCode = 1
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}
