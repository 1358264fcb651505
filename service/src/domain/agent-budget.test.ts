import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetReason, costOf, overBudget } from './agent-budget.ts'
import { DEFAULT_BUDGET } from './agent-session.ts'

const NONE = { steps: 0, seconds: 0, tokens: 0, costMicrodollars: 0 }

test('a budget is used up when its limit is reached, not before', () => {
  assert.equal(overBudget(DEFAULT_BUDGET, NONE), null)
  assert.equal(overBudget(DEFAULT_BUDGET, { ...NONE, steps: 59, seconds: 3599.9 }), null)
  for (const what of ['steps', 'seconds', 'tokens', 'costMicrodollars'] as const) {
    const limit = DEFAULT_BUDGET[what]
    assert.equal(overBudget(DEFAULT_BUDGET, { ...NONE, [what]: limit - 1 }), null)
    assert.deepEqual(overBudget(DEFAULT_BUDGET, { ...NONE, [what]: limit }), {
      kind: 'budget',
      what,
      used: limit,
      limit,
    })
  }
})

test('the reason names the limit in words that people use', () => {
  const over = overBudget(DEFAULT_BUDGET, { ...NONE, costMicrodollars: 20_000_001 })
  assert.equal(budgetReason(over!), 'It reached its limit of $20.00.')
})

test('cached tokens cost their own price, and a model without prices costs nothing', () => {
  const use = { tokensIn: 1_000_000, tokensCached: 400_000, tokensOut: 100_000 }
  assert.equal(costOf(use, { input: 3_000_000, cached: 300_000, output: 15_000_000 }), 1_800_000 + 120_000 + 1_500_000)
  assert.equal(costOf(use, null), 0)
  assert.equal(
    costOf({ tokensIn: 1, tokensCached: 0, tokensOut: 0 }, { input: 1, cached: 0, output: 0 }),
    1,
    'rounded up',
  )
})
