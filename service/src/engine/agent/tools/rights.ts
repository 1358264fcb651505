// What the service's own tools have in common: the right is asked for again when the tool is called, a refusal of a use
// case is a text for the model, and whatever leaves the service is redacted first.
import { createHash } from 'node:crypto'
import type { Context } from '../../../app/context.ts'
import { type ToolName, traitsOf } from '../../../domain/agent-tools.ts'
import { labelsOf } from '../../../domain/capability.ts'
import { AppError } from '../../../domain/errors.ts'
import { indexSecrets, redactText } from '../../worker/redactor.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import { refused } from './tool.ts'

/** A tool of the table in domain/agent-tools.ts, with its rights checked before and refusals said after. */
export function serviceTool(
  name: ToolName,
  tool: Omit<Tool, 'name' | 'run'> & {
    run(of: ToolContext, input: Record<string, unknown>): Promise<ToolResult>
  },
): Tool {
  const { needs } = traitsOf(name)
  return {
    ...tool,
    name,
    run: async (of, input) => {
      if (of.caller.refusal !== null) return refused(of.caller.refusal)
      if (needs !== undefined && !needs.some((one) => of.caller.rights.includes(one))) {
        return refused(`Whoever started this session does not hold the right for ${name}: ${labelsOf(needs)}.`)
      }
      try {
        return await tool.run(of, input)
      } catch (error) {
        if (error instanceof AppError && error.code !== 'UNAVAILABLE') return refused(error.message)
        throw error
      }
    },
  }
}

/** The caller's context for a use case that changes something: the same call again gets the answer of the first. */
export const once = (of: ToolContext, input: Record<string, unknown>): Context => ({
  ...of.caller,
  idempotency: {
    key: `agent ${of.key}`,
    bodyHash: createHash('sha256').update(JSON.stringify(input)).digest('hex'),
    position: 0,
  },
})

export const withoutSecrets = (of: Pick<ToolContext, 'secrets'>, text: string): string =>
  redactText(indexSecrets(of.secrets), text)

export const textOf = (input: Record<string, unknown>, name: string): string | null => {
  const value = input[name]
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

export const numberOf = (input: Record<string, unknown>, name: string): number | null => {
  const value = input[name]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}
