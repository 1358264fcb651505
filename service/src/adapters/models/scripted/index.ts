// The model of a workspace that has none: it follows a plan for each agent (plan.ts) and uses the real tools. The tests'
// model as well.
import { SCRIPTED_FAMILY } from '../../../domain/model-family.ts'
import type { Model } from '../../../ports/model.ts'
import { assistantPlan } from './assistant.ts'
import { explainerPlan } from './explainer.ts'
import { healerPlan } from './healer.ts'
import { followPlan, type Plan } from './plan.ts'

/** By the name of the agent; any other does as the assistant. */
export const PLANS: Readonly<Record<string, Plan>> = {
  explainer: explainerPlan,
  healer: healerPlan,
}

export function scriptedModel(plans: Readonly<Record<string, Plan>> = PLANS): Model {
  return {
    name: SCRIPTED_FAMILY,
    contextTokens: 200_000,
    prices: { input: 0, cached: 0, output: 0 },
    answer: async (request, signal) => {
      signal.throwIfAborted()
      const plan = Object.hasOwn(plans, request.agent) ? plans[request.agent]! : assistantPlan
      return followPlan(plan, request)
    },
  }
}
