// Commands of the model, in the sandbox and nowhere else: where there is none, there is no such tool.
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts'
import { StartFault } from '../../../ports/executor.ts'
import { SANDBOX_GIT } from './sandbox-git.ts'
import { refused, said, type Tool, type ToolContext, type ToolResult } from './tool.ts'
import { venvView } from './venv.ts'

const SECONDS = 120
const MOST_SECONDS = 900
const OUTPUT_BYTES = 60_000
const LONGEST_COMMAND = 100_000

export interface ShellDeps {
  readonly sandbox: AgentSandbox
  /** What the workspace's administrator opened. */
  readonly egressHosts: readonly string[]
  /** The folder of a Python virtual environment, first on the PATH; null: there is none. */
  readonly venv: ((of: ToolContext) => Promise<string | null>) | null
}

export function shellTool({ sandbox, egressHosts, venv }: ShellDeps): Tool {
  const network =
    egressHosts.length === 0 || sandbox.noEgress !== null
      ? 'There is no network.'
      : `Of the network only these hosts can be reached: ${egressHosts.join(', ')}.`
  return {
    name: 'run_terminal_command',
    description: `Runs a shell command in the root of the repository, in a sandbox. ${network} Only the repository, /tmp and $HOME can be written; /tmp, $HOME and every process are gone when the command ends. The git folder is read-only: use git_commit. The first line of the answer is the exit code.`,
    input: {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, maxLength: LONGEST_COMMAND },
        timeout_seconds: {
          type: 'integer',
          minimum: 1,
          maximum: MOST_SECONDS,
          description: `After how long it is killed; ${SECONDS} without it.`,
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    run: async (of, { command, timeout_seconds }): Promise<ToolResult> => {
      const { checkout, signal } = of
      const text = String(command)
      if (text.includes('\0')) return refused('The command holds a NUL character.')
      const seconds = typeof timeout_seconds === 'number' ? Math.min(timeout_seconds, MOST_SECONDS) : SECONDS
      const { readOnly, environment } = await venvView((await venv?.(of)) ?? null)
      try {
        const done = await sandbox.run(
          {
            text,
            folder: checkout.folder,
            readOnly: [checkout.gitFolder, ...readOnly],
            environment: { ...SANDBOX_GIT, CI: 'true', ...environment },
            seconds,
            outputBytes: OUTPUT_BYTES,
            egressHosts,
          },
          signal,
        )
        const head = done.timedOut
          ? `killed after ${seconds} s`
          : done.code === null
            ? 'stopped'
            : `exit code ${done.code}`
        const tail = done.blocked.length === 0 ? '' : `\n[hosts that were refused: ${done.blocked.join(', ')}]`
        const closed = egressHosts.length > 0 && sandbox.noEgress !== null ? `\n[no network: ${sandbox.noEgress}]` : ''
        return said(`${head}\n${done.output}${tail}${closed}`.trimEnd())
      } catch (error) {
        if (error instanceof StartFault) return refused(`The command could not be started: ${error.message}`)
        throw error
      }
    },
  }
}
