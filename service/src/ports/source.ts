// A repository at a branch, tag or commit.
//
//   1. `checkout` brings the mirror up to date under a lock (unless the wanted commit is there already), resolves the
//      reference and lays the files into `folder`, which must be empty or missing. It reports what it does as lines, in
//      the way of `git clone`, with credentials never in them.
//   2. `read` gives the files under a path at a reference, from the mirror: definitions of schedules and agents.
//
// Both reject with a SourceFault for what a person can mend (no such branch, refused by the host, hostile address).
// Aborting `signal` ends git and leaves no lock behind.

export interface Repository {
  /** A mirror is kept per workspace, address and credential: nobody reads with another one's rights. */
  readonly workspaceUid: string
  readonly url: string
  readonly credentials: { readonly username?: string; readonly token?: string; readonly ssh_key?: string }
}

export interface Checkout {
  readonly commit: string
  readonly branch: string
}

export interface Source {
  checkout(
    repository: Repository,
    reference: string,
    folder: string,
    report: (line: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Checkout>
  read(
    repository: Repository,
    reference: string,
    path: string,
    signal: AbortSignal,
  ): Promise<{ commit: string; stale: boolean; files: ReadonlyMap<string, string> }>
}

// Definitions are read without a checkout. The mirror is fetched when it is older than somebody can use, and
// nobody waits longer for the host than they say: then what was fetched last serves, with a warning, while the fetch
// goes on.

export interface WantedFiles {
  /** A branch, tag or commit. */
  readonly reference: string
  /** Files and folders, relative to the root. */
  readonly paths: readonly string[]
  /** Which of the files in them. */
  readonly accepts: (path: string) => boolean
  /** How old the mirror may be; 0 asks the host. */
  readonly mayBeMs: number
  /** How long the host is waited for. */
  readonly patienceMs: number
}

export interface SourceFile {
  readonly path: string
  /** Why a file is not read: a symbolic link, too large, no text. */
  readonly content: { readonly text: string } | { readonly refused: string }
}

export interface SourceFiles {
  readonly commit: string
  /** When the host last answered. */
  readonly fetchedAt: Date
  /** Empty, or why this may be old. */
  readonly warning: string
  /** By path. */
  readonly files: readonly SourceFile[]
}

export interface FileSource {
  /** Rejects with a SourceFault for what a person can mend, and when nothing was ever fetched. */
  files(repository: Repository, wanted: WantedFiles, signal: AbortSignal): Promise<SourceFiles>
}

export class SourceFault extends Error {
  override readonly name = 'SourceFault'
}
