// What git does for a session of an agent, on the host. The work tree is hostile: everything in it may have been written
// by a model. So git is always told where its folder is (a `.git` in the tree is never looked at), no filter, hook or
// attribute of the tree has a meaning, and nothing is ever run inside of a nested repository.
//
// Rejects with a SourceFault for what a person can mend. Aborting `signal` ends git.
import type { Repository } from './source.ts'

export interface GitPlace {
  /** The work tree. */
  readonly folder: string
  /** Outside of the work tree, and of whatever a sandbox can write. */
  readonly gitFolder: string
}

export interface OpenWork {
  readonly repository: Repository
  /** A branch, tag or commit. */
  readonly reference: string
  /** The session's own. */
  readonly branch: string
}

export interface GitAuthor {
  readonly name: string
  readonly email: string
}

export interface NewCommit {
  readonly message: string
  readonly author: GitAuthor
  /** Files and folders, relative to the root; null: everything that changed. */
  readonly paths: readonly string[] | null
}

export interface Committed {
  readonly commit: string
  readonly files: number
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

export interface Bundled {
  /** Of the branch. */
  readonly head: string
  /** Of the work tree, ignored files left out. */
  readonly tree: string
  /** False: nothing differs from the base, and there is no bundle. */
  readonly made: boolean
  readonly notes: readonly string[]
}

export type Pushed =
  | { readonly kind: 'pushed' | 'already there'; readonly commit: string }
  /** By the host, or because somebody else's commits are on that branch. */
  | { readonly kind: 'refused'; readonly why: string }

export interface ReadResult {
  readonly code: number
  readonly output: string
}

export interface AgentGit {
  /** Lays out the files of the reference, with some of its history, on a new branch. Both folders must be missing. */
  open(place: GitPlace, work: OpenWork, signal: AbortSignal): Promise<{ readonly commit: string }>
  /** After `open`: the commits and the tree of a bundle. */
  restore(place: GitPlace, bundle: string, signal: AbortSignal): Promise<void>
  /** Writes what the session has beyond its base to the file `bundle`: the branch, and the tree as it is. */
  bundle(place: GitPlace, bundle: string, signal: AbortSignal): Promise<Bundled>
  /** Null: nothing changed. */
  commit(place: GitPlace, wanted: NewCommit, signal: AbortSignal): Promise<Committed | null>
  /** The commit that the branch is at, and its message. */
  head(place: GitPlace, signal: AbortSignal): Promise<{ readonly commit: string; readonly message: string }>
  /** Never forced. `branch` must be one of the session's own. */
  push(
    place: GitPlace,
    wanted: { readonly repository: Repository; readonly session: string; readonly branch: string },
    signal: AbortSignal,
  ): Promise<Pushed>
  /** For arguments that only read; they come after `git` and are ours, apart from paths behind `--`. */
  read(place: GitPlace, argv: readonly string[], signal: AbortSignal): Promise<ReadResult>
}
