// What a tool is called with, in tests: the parts that it does not use are missing.
import type { AgentCheckout } from '../../src/engine/agent/checkout.ts'
import type { Tool, ToolContext } from '../../src/engine/agent/tools/tool.ts'
import { SESSION } from './agent-checkout.ts'

export interface Called {
  readonly text: string
  readonly isError: boolean
}

export async function callTool(
  tools: readonly Tool[],
  name: string,
  input: Record<string, unknown>,
  on: { readonly checkout: AgentCheckout; readonly key?: string; readonly signal?: AbortSignal },
): Promise<Called> {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) throw new Error(`there is no tool ${name}`)
  const { checkout, key = `${SESSION}:1`, signal = new AbortController().signal } = on
  const context = { session: { id: SESSION }, key, call: '1', checkout, signal, secrets: [] }
  const result = await tool.run(context as unknown as ToolContext, input)
  if (result.kind !== 'text') throw new Error('not a text')
  return { text: result.text, isError: result.isError === true }
}

/** For tools that need no git: a folder is all. */
export const checkoutAt = (folder: string): AgentCheckout => ({
  root: folder,
  folder,
  gitFolder: `${folder}.git`,
  baseCommit: '',
  branch: `agent/${SESSION}/work`,
})
