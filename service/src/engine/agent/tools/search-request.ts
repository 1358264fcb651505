// What a search is asked for, and what its thread says.

export interface SearchRequest {
  readonly root: string
  /** Where it begins, as checked names. */
  readonly names: readonly string[]
  readonly kind: 'names' | 'contents'
  /** A glob for names, a regular expression for contents. */
  readonly pattern: string
  readonly ignoreCase: boolean
  /** Of files, for contents; empty: all. */
  readonly glob: string
  readonly most: number
}

export type SearchMessage =
  | { readonly kind: 'found'; readonly line: string }
  | { readonly kind: 'fault'; readonly text: string }
  /** `note`: what was left out; empty: nothing. */
  | { readonly kind: 'done'; readonly note: string }

/** Made by others, and large. They are searched when the search begins in them. */
export const SKIPPED = ['node_modules', '.venv', 'venv', '__pycache__', 'dbt_packages', 'target']
