// One comment per pull request that is changed and never written a second time: it carries a mark that nobody sees.
import type { Outgoing } from '../../ports/channel.ts'
import type { ApiAnswer } from './api.ts'

export interface Comments {
  /** A page of them, counted from 1; empty behind the last. */
  list(page: number): Promise<readonly unknown[]>
  create(text: string): Promise<ApiAnswer>
  /** Answers 404 when somebody took it away. */
  change(id: string, text: string): Promise<ApiAnswer>
}

const markOf = (marker: string): string => `<!-- ${marker} -->`

export async function keepComment(
  comments: Comments,
  wanted: { readonly known: string | null; readonly marker: string; readonly text: string },
): Promise<{ readonly answer: ApiAnswer; readonly id: string | null }> {
  const text = `${markOf(wanted.marker)}\n${wanted.text}`
  for (const id of [wanted.known, await found(comments, wanted)]) {
    if (id === null) continue
    const answer = await comments.change(id, text)
    if (answer.status !== 404) return { answer, id }
  }
  return { answer: await comments.create(text), id: null }
}

/** Where the id is not known, an earlier try may have written it and lost the answer. */
async function found(
  comments: Comments,
  { known, marker }: { readonly known: string | null; readonly marker: string },
): Promise<string | null> {
  if (known !== null) return null
  for (let page = 1; ; page++) {
    const some = await comments.list(page)
    if (some.length === 0) return null
    const mine = some.find((one) => bodyOf(one).startsWith(markOf(marker)))
    if (mine !== undefined) return commentIdOf(mine)
  }
}

function bodyOf(comment: unknown): string {
  const body = typeof comment === 'object' && comment !== null ? (comment as { body?: unknown }).body : null
  return typeof body === 'string' ? body : ''
}

export function commentIdOf(comment: unknown): string | null {
  const id = typeof comment === 'object' && comment !== null ? (comment as { id?: unknown }).id : null
  return typeof id === 'number' || typeof id === 'string' ? String(id) : null
}

/** From the deliveries of the same line. */
export function earlierComment(out: Outgoing): string | null {
  const last = out.earlier.findLast((one) => typeof one.result.comment === 'string')
  return last === undefined ? null : (last.result.comment as string)
}
