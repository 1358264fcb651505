/** The known name that was probably meant, if one is near enough. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const begins = name.length >= 3 && candidate.toLowerCase().startsWith(name.toLowerCase())
    // Each letter more is a difference: a text of a megabyte is not compared letter by letter.
    if (!begins && Math.abs(name.length - candidate.length) >= least) continue
    const far = begins ? 1 : distance(name.toLowerCase(), candidate.toLowerCase())
    if (far < least) {
      best = candidate
      least = far
    }
  }
  return best
}

// How many letters were left out, added, changed or swapped with their neighbour.
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : changed
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, changed, swapped))
    }
    before = row
    row = next
  }
  return row[b.length]!
}
