import { NOT_EXECUTABLE } from '../../domain/return-code.ts'
import { StartFault } from '../../ports/executor.ts'

/** One word of a shell, whatever is in it. */
export const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Names that a shell keeps to itself: assigning them fails or means nothing, also where they are inherited. */
const OF_THE_SHELL = new Set(['OPTIND', 'PPID', 'UID', 'EUID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO'])

/**
 * Lines that export an environment. The environment goes to the shell in this form, over a pipe, because neither argv
 * (others on the host read it) nor the environment of the programs that set up the isolation may hold it: there a
 * variable such as LD_PRELOAD would be obeyed with rights that the command must not have.
 */
export function exportLines(environment: Readonly<Record<string, string>>): string {
  const lines: string[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes('\0')) {
      throw new StartFault(
        `The variable ${JSON.stringify(name.slice(0, 100))} cannot be given to a command.`,
        NOT_EXECUTABLE,
      )
    }
    if (!OF_THE_SHELL.has(name)) lines.push(`export ${name}=${quote(value)}`)
  }
  return lines.join('\n')
}
