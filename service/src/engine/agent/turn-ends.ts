// How the turn of a session ends, decided from what the model said last.
import type { AgentEvent } from '../../domain/agent-session.ts'
import type { ModelAnswer } from '../../ports/model.ts'

export interface End {
  readonly status: 'completed' | 'failed' | 'stopped'
  readonly reason: string
}

export const failedBy = (reason: string): End => ({ status: 'failed', reason })

export const STOPPED: End = { status: 'stopped', reason: '' }

/** Answers without a word or a call in a row; a model that has nothing to say is asked again before that. */
const MOST_EMPTY = 3

/** Of an answer without calls, after these records. Null: the model is to be asked again. */
export function endOf(answer: ModelAnswer, events: readonly AgentEvent[]): End | null {
  if (answer.end === 'refused') return failedBy('Its model refused to answer.')
  if (answer.text.trim() !== '') return { status: 'completed', reason: '' }
  const before = events.filter((event) => event.kind === 'assistant').slice(1 - MOST_EMPTY)
  const isMute =
    before.length === MOST_EMPTY - 1 && before.every((one) => one.text.trim() === '' && one.calls.length === 0)
  return isMute ? failedBy('Its model gave no answer.') : null
}
