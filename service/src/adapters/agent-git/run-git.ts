import type { GitResult } from '../source/git-process.ts'

/** git in the place of one session. */
export type RunGit = (argv: readonly string[], more?: GitMore) => Promise<GitResult>

export interface GitMore {
  readonly input?: string | Buffer
  readonly variables?: Readonly<Record<string, string>>
  /** What an exit code other than 0 means; without it, it is a fault. */
  readonly mayFail?: true
}
