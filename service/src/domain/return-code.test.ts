import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { test } from 'node:test'
import { exitCode, signalCode, signalOf, stoppedCode } from './return-code.ts'

test('a signal is 128 and its number, and the number stands for the signal', () => {
  if (process.platform !== 'linux') return
  for (const [name, number] of Object.entries(constants.signals)) {
    if (['SIGIOT', 'SIGPOLL', 'SIGUNUSED'].includes(name)) continue
    assert.equal(signalCode(name), 128 + number, name)
    assert.equal(signalOf(128 + number), name)
  }
  assert.equal(signalCode('SIGNOTHING'), 137)
})

test('codes that stand for no signal are codes', () => {
  assert.deepEqual([0, 1, 127, 128, 160, 255].map(signalOf), [null, null, null, null, null, null])
})

test('a process has the code of its exit or of its signal', () => {
  assert.equal(exitCode({ code: 7, signal: null }), 7)
  assert.equal(exitCode({ code: null, signal: 'SIGTERM' }), 143)
})

test('what was stopped did not succeed', () => {
  assert.equal(stoppedCode({ code: 0, signal: null }, 'SIGINT'), 130)
  assert.equal(stoppedCode({ code: 2, signal: null }, 'SIGINT'), 2)
  assert.equal(stoppedCode({ code: null, signal: 'SIGKILL' }, 'SIGKILL'), 137)
})
