// Pushing: to branches of the session alone, never forced, and what became of it in words.
import { branchPrefixOf } from '../../domain/agent-session.ts'
import type { Pushed } from '../../ports/agent-git.ts'
import { SourceFault } from '../../ports/source.ts'
import type { GitResult } from '../source/git-process.ts'
import { explain } from '../source/mirror.ts'

const WORD = /^[a-z0-9][a-z0-9._-]{0,80}$/i

/** Throws for every other branch: main, that of another session, and what git could read as anything but a name. */
export function requireOwnBranch(session: string, branch: string): void {
  const prefix = branchPrefixOf(session)
  const word = branch.slice(prefix.length)
  const isOwn = /^[a-z0-9]{16}$/.test(session) && branch.startsWith(prefix) && WORD.test(word)
  if (!isOwn || word.includes('..') || word.endsWith('.') || word.toLowerCase().endsWith('.lock'))
    throw new SourceFault(`a session can only push branches that begin with ${prefix}`)
}

/** From git's porcelain: `<flag>\t<from>:<to>\t<summary> (<reason>)`. */
export function outcomeOfPush(commit: string, { code, stdout, stderr }: GitResult): Pushed {
  const line = stdout
    .toString()
    .split('\n')
    .find((one) => /^[ *=!+-]\t/.test(one))
  if (code === 0 && line?.startsWith('=')) return { kind: 'already there', commit }
  if (code === 0) return { kind: 'pushed', commit }
  if (line === undefined) return { kind: 'refused', why: explain(stderr).replace('be fetched', 'be pushed to') }
  const why = /\(([^)]*)\)\s*$/.exec(line)?.[1] ?? 'no reason was given'
  if (/non-fast-forward|fetch first|stale info|needs force/.test(why))
    return { kind: 'refused', why: 'the branch has commits that are not this session’s, and nothing is ever forced' }
  return { kind: 'refused', why: `the host refused it: ${why.slice(0, 200)}` }
}
