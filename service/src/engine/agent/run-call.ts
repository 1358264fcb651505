// One call of a model: what it is answered with. Nothing is written here.
import type { OpenCall } from '../../domain/agent-conversation.ts'
import { shortened } from '../../domain/agent-conversation.ts'
import type { ToolTraits } from '../../domain/agent-tools.ts'
import { isToolName, traitsOf } from '../../domain/agent-tools.ts'
import { AppError } from '../../domain/errors.ts'
import type { Log } from '../../ports/runtime.ts'
import { checkInput } from './tools/check-input.ts'
import type { Tool, ToolContext, ToolResult } from './tools/tool.ts'
import { refused } from './tools/tool.ts'

/** Those of MCP servers do whatever their makers wanted. */
const FOREIGN: ToolTraits = { inDoubt: 'doubt', byDefault: false, audited: true }

export const traitsFor = (name: string): ToolTraits => (isToolName(name) ? traitsOf(name) : FOREIGN)

export type Decision =
  | { readonly kind: 'run'; readonly tool: Tool; readonly input: Record<string, unknown> }
  | { readonly kind: 'answered'; readonly result: Extract<ToolResult, { kind: 'text' }> }

/** Whether a call may run. What is refused is told in a way that a model can act on. */
export function decideCall({ call, started }: OpenCall, tools: readonly Tool[]): Decision {
  const answered = (text: string): Decision => ({ kind: 'answered', result: { kind: 'text', text, isError: true } })
  if (started && traitsFor(call.tool).inDoubt === 'doubt') return answered(INTERRUPTED)
  const tool = tools.find((one) => one.name === call.tool)
  if (tool === undefined) {
    const known = tools.map((one) => one.name).join(', ')
    return answered(
      isToolName(call.tool)
        ? `This session may not use ${call.tool}. Its tools are: ${known}.`
        : `There is no tool ${shortened(call.tool, 80)}. The tools are: ${known}.`,
    )
  }
  if (call.broken !== undefined) {
    return answered(
      `The arguments of this call are no JSON: ${shortened(call.broken, 500)}\nCall ${call.tool} again with one JSON object.`,
    )
  }
  const faults = checkInput(tool.input, call.input)
  return faults === null
    ? { kind: 'run', tool, input: call.input as Record<string, unknown> }
    : answered(`${faults}\nCall ${call.tool} again with the right arguments.`)
}

const INTERRUPTED =
  'This call was interrupted: whether it took effect is not known. Look at how things are before you call it again.'

/**
 * Runs a tool. A tool that was told to stop and does not is left alone after a while: the session does not wait for it.
 * Rejects with the signal's reason when that was aborted.
 */
export async function runTool(
  { tool, input }: Extract<Decision, { kind: 'run' }>,
  context: ToolContext,
  of: { readonly graceMs: number; readonly log: Log },
): Promise<ToolResult> {
  const { signal } = context
  signal.throwIfAborted()
  const late = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const onAbort = (): void => {
    timer = setTimeout(() => late.reject(signal.reason), of.graceMs)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const result = await Promise.race([tool.run(context, input), late.promise])
    signal.throwIfAborted()
    return result
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) return refused(error.message)
    of.log.error({ err: error, tool: tool.name, call: context.key }, 'a tool of an agent failed')
    return refused(`${tool.name} failed inside of the service. It may have taken effect.`)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
