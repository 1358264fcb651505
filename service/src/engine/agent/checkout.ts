// The files that a session works on. `folder` is the work tree; the git folder lies beside it, outside of what a sandbox
// can write. After each step that changed something the tree is kept as a bundle in the blob store, so that any host can
// go on from it.

export interface AgentCheckout {
  /** Private to the session and the attempt; holds everything below. */
  readonly root: string
  /** The work tree, by its real path. */
  readonly folder: string
  readonly gitFolder: string
  /** The commit of the base that it began from. */
  readonly baseCommit: string
  /** The session's own branch, `agent/<session>/<word>`; commits go there. */
  readonly branch: string
}
