// The short form of e2e/faults/hostile-model.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EFFECTS } from './support/hostile/effects.ts'
import { letLoose } from './support/hostile/hostile-model.ts'

const SEED = 19

test('a model that makes the worst calls, and obeys every injected text, has no forbidden effect', async () => {
  const { effects, seen, reached, obeyed } = await letLoose({ seed: SEED, calls: 120, guards: 'on', steps: 1 })
  assert.deepEqual(seen, [])
  assert.deepEqual(new Set(Object.values(effects)), new Set([0]))
  assert.ok(reached.size > 5 && obeyed > 0)
})

test('the same calls have every one of these effects where nothing holds them', async () => {
  const { effects } = await letLoose({ seed: SEED, calls: 80, guards: 'off', steps: 1 })
  assert.deepEqual(
    EFFECTS.filter((effect) => effects[effect] === 0),
    [],
  )
})
