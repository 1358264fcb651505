// What a change did, in few lines: from the first line that differs to the last, with a little around it.

const AROUND = 3
const MOST_LINES = 80
const LONGEST_LINE = 400

export function smallDiff(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const from = Math.max(0, start - AROUND)
  const lines = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...now.slice(start, now.length - end).map((line) => `+${line}`),
    ...now.slice(now.length - end, now.length - end + AROUND).map((line) => ` ${line}`),
  ]
  const more = lines.length - MOST_LINES
  const cut = lines
    .slice(0, MOST_LINES)
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line))
  return [`@@ from line ${from + 1} @@`, ...cut, ...(more > 0 ? [`[${more} more lines]`] : [])].join('\n')
}
