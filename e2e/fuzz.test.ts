import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './support/fuzz.ts'
import { FAMILIES } from './support/malformed/index.ts'

test('of hundreds of malformed requests over real sockets none gets a 5xx, none ends the service', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  console.log(`seed ${seed}`)
  const report = await fuzz({ count: 600, seed, warmUp: 0, clients: 6 })
  assert.deepEqual(report.wrong, [])
  assert.deepEqual(report.complaints, [])
  assert.equal(report.well, true)
  assert.equal(report.families.size, FAMILIES.length)
})
