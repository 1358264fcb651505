// The tools that work on the session's checkout. Without a sandbox there is no shell.
import { fileTools } from './files.ts'
import { type GitDeps, gitTools } from './git.ts'
import { searchTools } from './search.ts'
import { type ShellDeps, shellTool } from './shell.ts'
import type { Tool } from './tool.ts'

export type CheckoutToolDeps = GitDeps & Omit<ShellDeps, 'sandbox'>

export function checkoutTools(deps: CheckoutToolDeps): Tool[] {
  const { sandbox } = deps
  const shell = sandbox === null ? [] : [shellTool({ ...deps, sandbox })]
  return [...fileTools, ...searchTools, ...shell, ...gitTools(deps)]
}
