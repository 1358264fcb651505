import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { needlesOf } from '../../domain/redaction.ts'
import { indexSecrets, Redactor, redactText } from './redactor.ts'

const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACDx0pQ7mJ1v3qk2k8vBv5Zf8uJ2cV0Vt4l9d7J3rR8m1QAAAJgq8Vx4KvFc
-----END OPENSSH PRIVATE KEY-----
`
const SECRETS = [
  'hunter2-swordfish',
  'pass word/with?odd&chars=é',
  `it's "quoted" $HOME \\ back`,
  KEY,
  '🦖🦖ключ-秘密',
  'abcabcabd',
]

function redact(secrets: readonly string[], chunks: readonly Buffer[]): string {
  const redactor = new Redactor(indexSecrets(secrets))
  return Buffer.concat([...chunks.map((one) => redactor.write(one)), redactor.end()]).toString('latin1')
}

function chunksOf(bytes: Buffer, most: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor(Math.random() * most)
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

test('no secret gets through in any form, however the output is cut', () => {
  const needles = needlesOf(SECRETS)
  const index = indexSecrets(SECRETS)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)]!
  const noise = ['x', 'hunter2', 'abcabc', 'abcabcab', '\n', '🦖', 'aHVudGVy', '%20', 'pass word/', '  ']
  for (let round = 0; round < 4_000; round++) {
    const parts = Array.from({ length: 6 }, () => (Math.random() < 0.4 ? pick(needles) : Buffer.from(pick(noise))))
    const text = Buffer.concat(parts)
    const redactor = new Redactor(index)
    const out = Buffer.concat([
      ...chunksOf(text, pick([1, 3, 20, 400])).map((one) => redactor.write(one)),
      redactor.end(),
    ])
    const whole = new Redactor(index)
    assert.deepEqual(
      out,
      Buffer.concat([whole.write(text), whole.end()]),
      `the cut does not matter: ${text.toString('hex')}`,
    )
    for (const needle of needles) assert.equal(out.indexOf(needle), -1, `${needle.toString()} in ${out.toString()}`)
  }
})

test('text without a secret comes out as it went in', () => {
  const bytes = Buffer.from(Array.from({ length: 50_000 }, () => Math.floor(Math.random() * 256)))
  assert.equal(redact(SECRETS, chunksOf(bytes, 999)), bytes.toString('latin1'))
})

test('every encoding that programs print is masked', () => {
  const secret = `p@ss'w"o\\rd/é+&=x y`
  const index = indexSecrets([secret])
  const shown = [
    secret,
    JSON.stringify({ a: secret }),
    JSON.stringify(JSON.stringify({ a: secret })),
    encodeURIComponent(secret),
    new URLSearchParams({ a: secret }).toString(),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    ...['', 'a', 'ab', 'abc'].flatMap((before) =>
      ['base64', 'base64url'].map((form) => Buffer.from(`${before}${secret}xyz`).toString(form as 'base64')),
    ),
    execFileSync('bash', ['-c', 'printf %q "$S"'], { env: { S: secret, LC_ALL: 'C.UTF-8' } }).toString(),
    spawnSync('bash', ['-xc', ': "$S"'], { env: { S: secret, LC_ALL: 'C.UTF-8' }, encoding: 'utf8' }).stderr,
    execFileSync('sh', ['-c', 'printf %s "$S" | base64'], { env: { ...process.env, S: secret } }).toString(),
  ]
  for (const text of shown) assert.match(redactText(index, text), /\*\*\*/, text)
})

test('a long secret is masked in base64 that is broken into lines', () => {
  const secret = 'k3y-'.repeat(60)
  const wrapped = execFileSync('sh', ['-c', 'printf %s "$S" | base64'], {
    env: { ...process.env, S: secret },
  }).toString()
  assert.ok(wrapped.trim().includes('\n'))
  assert.equal(redactText(indexSecrets([secret]), `\n${wrapped}`).trim(), '***')
})

test('the lines of a key file are masked one by one', () => {
  const index = indexSecrets([KEY])
  for (const line of KEY.split('\n').filter((one) => one.length > 40 && !one.startsWith('---'))) {
    assert.equal(redactText(index, `  12  ${line} `), '  12  *** ')
  }
})

test('secrets that overlap are one mask, and nothing is left of either', () => {
  assert.equal(redactText(indexSecrets(['abcdef', 'defghi']), 'x abcdefghi y'), 'x *** y')
  assert.equal(
    redact(
      ['abcdef', 'defghi'],
      [...Buffer.from('x abcdefghi y')].map((one) => Buffer.of(one)),
    ),
    'x *** y',
  )
})

test('ordinary output is not held back', () => {
  const redactor = new Redactor(indexSecrets(SECRETS))
  assert.equal(redactor.write(Buffer.from('hello, world\n')).toString(), 'hello, world\n')
  assert.equal(redactor.write(Buffer.from('see hunter2')).toString(), 'see ')
  assert.equal(redactor.write(Buffer.from(' no more\n')).toString(), 'hunter2 no more\n')
})

test('values under six characters are not looked for', () => {
  assert.equal(redactText(indexSecrets(['short', '']), 'short'), 'short')
})
