import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { Secret } from './secret.ts'

const secret = new Secret('hunter22-hunter22')

test('a secret gives its value only when asked to reveal it', () => {
  assert.equal(secret.reveal(), 'hunter22-hunter22')
})

test('a secret prints as [secret] however it is turned into text', () => {
  const printed = [
    String(secret),
    `${secret}`,
    '' + secret,
    JSON.stringify(secret),
    JSON.stringify({ deep: [{ secret }] }),
    inspect(secret),
    inspect({ deep: { secret } }, { depth: 9, showHidden: true }),
    inspect(secret, { customInspect: false, showHidden: true }),
    format('%s %o %O %j', secret, secret, secret, secret),
    new Error(`bad value ${secret}`).message,
    JSON.stringify({ ...secret }),
    JSON.stringify(structuredClone(secret)),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
  ]
  for (const text of printed) assert.doesNotMatch(text, /hunter/)
  assert.equal(printed[0], '[secret]')
  assert.equal(printed[3], '"[secret]"')
  assert.equal(printed[5], '[secret]')
})

test('console.log of a secret shows [secret]', (t) => {
  const written: string[] = []
  t.mock.method(process.stdout, 'write', (chunk: string) => written.push(chunk) > 0)
  // biome-ignore lint/suspicious/noConsole: what is tested is the console itself
  console.log(secret, { secret })
  t.mock.restoreAll()
  assert.equal(written.join(''), '[secret] { secret: [secret] }\n')
})

test('a secret cannot be changed', () => {
  assert.ok(Object.isFrozen(secret))
})
