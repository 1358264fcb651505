/**
 * The witness of a run: a file outside of the service to which commands append what they do, line by line, while they
 * do it. What the service says of a command is compared with it.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeRepository, type Repository } from './runs.ts'
import { temporaryFolder } from './service.ts'

export interface WitnessLine {
  readonly run: number
  readonly attempt: number
  readonly command: number
  /** alive: of a process that left its command's session and writes for as long as it lives. */
  readonly word: 'start' | 'end' | 'alive'
  /** Seconds since 1970, read right before the line was written. */
  readonly at: number
}

export interface Witness {
  readonly file: string
  /** With `witness.sh` and `survivor.sh`, which commands use. */
  readonly repository: Repository
  read(): { readonly lines: readonly WitnessLine[]; readonly garbled: readonly string[] }
}

// One short write to a file that is opened for appending: lines of several processes do not mix.
const script = (file: string): string => `witness() {
  printf '%s %s %s %s %s\\n' "$YARDMASTER_RUN_ID" "$YARDMASTER_ATTEMPT" "$YARDMASTER_COMMAND_ID" "$1" \\
    "\${EPOCHREALTIME:-$(date +%s.%6N)}" >> '${file}'
}
`

// It has an end of its own, so that a proof that fails leaves nothing for ever.
const SURVIVOR = `. ./witness.sh
left=600
while [ $left -gt 0 ]; do witness alive; sleep 0.1; left=$((left - 1)); done
`

export async function makeWitness(): Promise<Witness> {
  const file = join(await temporaryFolder('witness'), 'witness')
  appendFileSync(file, '')
  const repository = await makeRepository({ 'witness.sh': script(file), 'survivor.sh': SURVIVOR })
  return {
    file,
    repository,
    read: () => {
      const lines: WitnessLine[] = []
      const garbled: string[] = []
      for (const text of readFileSync(file, 'utf8').split('\n')) {
        const match = /^(\d+) (\d+) (\d+) (start|end|alive) (\d+\.\d{6})$/.exec(text)
        if (match === null) {
          if (text !== '') garbled.push(text)
          continue
        }
        const [run, attempt, command] = match.slice(1, 4).map(Number) as [number, number, number]
        lines.push({ run, attempt, command, word: match[4] as WitnessLine['word'], at: Number(match[5]) })
      }
      return { lines, garbled }
    },
  }
}

/** Whether some command began more than once. */
export function sawTwice(lines: readonly WitnessLine[]): boolean {
  const starts = lines.filter((line) => line.word === 'start')
  return new Set(starts.map((line) => line.command)).size < starts.length
}

const between = (middle: string, last = ''): string => `. ./witness.sh; witness start; ${middle}; witness end${last}`

/** Commands for schedules over the repository of a witness. */
export const COMMANDS = {
  short: between('sleep 0.05'),
  long: between('sleep 1.5'),
  failing: between('sleep 0.05', '; exit 3'),
  /** Leaves a process of its own session behind; the one below lets it hold the output, too. */
  leaving: between('(setsid bash survivor.sh >/dev/null 2>&1 </dev/null &); sleep 0.3'),
  leavingWithOutput: between('(setsid bash survivor.sh &); sleep 0.3'),
} as const
