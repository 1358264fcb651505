import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLane } from './lane.ts'

test('no more than the width of a lane is under way, in the order in which it came, and a failure holds nobody up', async () => {
  const lane = createLane(2)
  const [begun, ends]: [number[], PromiseWithResolvers<void>[]] = [[], []]
  const work = (at: number) => async (): Promise<number> => {
    begun.push(at)
    ends[at] = Promise.withResolvers()
    await ends[at].promise
    return at
  }
  const all = [0, 1, 2, 3].map((at) => lane.run(work(at)))
  const settled = Promise.allSettled(all)
  assert.deepEqual(begun, [0, 1])
  ends[1]!.reject(new Error('broken'))
  await assert.rejects(all[1]!)
  assert.deepEqual(begun, [0, 1, 2])
  ends[0]!.resolve()
  assert.equal(await all[0], 0)
  assert.deepEqual(begun, [0, 1, 2, 3])
  for (const at of [2, 3]) ends[at]!.resolve()
  assert.deepEqual(
    (await settled).map((one) => one.status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  const later = lane.run(work(4))
  assert.deepEqual(begun, [0, 1, 2, 3, 4])
  ends[4]!.resolve()
  await later
})
