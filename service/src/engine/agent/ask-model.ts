// One question to a model. What may pass is tried again after growing pauses; the time that this takes is time of the
// turn, whose signal ends it.

import { costOf } from '../../domain/agent-budget.ts'
import type { Usage } from '../../domain/agent-session.ts'
import type { Model, ModelAnswer, ModelRequest } from '../../ports/model.ts'
import { ModelFault } from '../../ports/model.ts'
import type { Log } from '../../ports/runtime.ts'
import { pause } from '../periodic.ts'

/** A provider that asks for more patience than this is not waited for: the turn would hang. */
const LONGEST_PAUSE_MS = 120_000

export async function askModel(
  model: Model,
  request: ModelRequest,
  of: { readonly signal: AbortSignal; readonly pausesMs: readonly number[]; readonly log: Log },
): Promise<ModelAnswer> {
  for (let tries = 0; ; tries++) {
    of.signal.throwIfAborted()
    try {
      return await model.answer(request, of.signal)
    } catch (error) {
      of.signal.throwIfAborted()
      const pauseMs = of.pausesMs[tries]
      if (!(error instanceof ModelFault) || error.kind !== 'again' || pauseMs === undefined) throw error
      const wanted = Math.max(pauseMs, (error.afterSeconds ?? 0) * 1000)
      if (wanted > LONGEST_PAUSE_MS) throw error
      of.log.info({ model: model.name, reason: error.message, pauseMs: wanted }, 'a model is asked again after a pause')
      await pause(wanted, of.signal)
    }
  }
}

export function usageOf(model: Model, { usage }: ModelAnswer): Usage | null {
  return usage === null ? null : { ...usage, costMicrodollars: costOf(usage, model.prices) }
}
