// A hundred thousand ways to cut output that is full of secrets into writes. The forms of a secret are made here by
// other means than in the code under test. A redactor that looks at each write by itself goes through the same writes, to
// see that they would have given the secrets away.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexSecrets, Redactor } from './redactor.ts'

const TEXTS = 2_000
const CUTS = 50

const between = (low: number, high: number): number => low + Math.floor(Math.random() * (high - low + 1))
const pick = <T>(of: readonly T[]): T => of[between(0, of.length - 1)]!

const SECRETS = [
  'hunter2-swordfish',
  // The second begins inside the first, and the third is inside both.
  'overlapping-secret-one',
  'secret-one-goes-on',
  'abcabcabcabd',
  'pass word/with?odd&chars=é+"quote"',
  `it's $HOME and \`id\` \\ back!`,
  '🦖 ключ 秘密 ünï',
  '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nb25seSBmb3IgdGhpcyB0ZXN0IGhlcmUu\n-----END KEY-----\n',
]

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Bit by bit: the characters of base64 that hold nothing but the secret, when so many bytes stand before it. */
function base64At(bytes: Buffer, before: number): string {
  const bits = [...Buffer.alloc(before), ...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let text = ''
  for (let at = 0; at + 6 <= bits.length; at += 6)
    if (at >= before * 8) text += ALPHABET[Number.parseInt(bits.slice(at, at + 6), 2)]
  return text
}

const percent = (secret: string, plain: RegExp): string =>
  [...Buffer.from(secret)]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return byte < 128 && plain.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')

/** As programs print a value; what stands around it is theirs. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const url = percent(secret, /[\w.~-]/)
  return [
    secret,
    ...[0, 1, 2].map((before) => base64At(bytes, before)),
    ...[0, 1, 2].map((before) => base64At(bytes, before).replaceAll('+', '-').replaceAll('/', '_')),
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    url.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    [...bytes].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(''),
    secret.split("'").join(`'\\''`),
    secret.split("'").join(`'"'"'`),
  ]
}

const FORMS = [...new Set(SECRETS.flatMap(formsOf))].map((form) => Buffer.from(form))
/** Beginnings that lead nowhere, and what stands around secrets. */
const NOISE = [
  ...FORMS.map((form) => form.subarray(0, between(1, form.length - 1))),
  ...['\n', '\r\n', ' ', '"', '***', '\0', '\u001b[31m', 'ordinary output of a command\n', '🦖', '%', 'abcabc'].map(
    (text) => Buffer.from(text),
  ),
  Buffer.of(0xff),
  Buffer.of(0xf0, 0x9f),
]

function textOf(): { text: Buffer; planted: Buffer[] } {
  const planted: Buffer[] = []
  const parts = Array.from({ length: between(2, 8) }, () => {
    if (Math.random() < 0.5) return pick(NOISE)
    const form = pick(FORMS)
    planted.push(form)
    return form
  })
  return { text: Buffer.concat(parts), planted }
}

function cut(bytes: Buffer): Buffer[] {
  const most = pick([1, 2, 7, 40, 400])
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + between(1, most)
    chunks.push(bytes.subarray(at, end))
    at = end
  }
  return chunks
}

function redacted(index: ReturnType<typeof indexSecrets>, chunks: readonly Buffer[]): Buffer {
  const redactor = new Redactor(index)
  return Buffer.concat([...chunks.map((chunk) => redactor.write(chunk)), redactor.end()])
}

/** What most programs do. */
function naive(chunks: readonly Buffer[], forms: readonly Buffer[]): Buffer {
  const words = forms.map((form) => form.toString('latin1')).toSorted((a, b) => b.length - a.length)
  const masked = chunks.map((chunk) =>
    words.reduce((text, word) => text.replaceAll(word, '***'), chunk.toString('latin1')),
  )
  return Buffer.from(masked.join(''), 'latin1')
}

const holdsAny = (bytes: Buffer, forms: readonly Buffer[]): Buffer | undefined =>
  forms.find((form) => bytes.includes(form))

test(`${TEXTS * CUTS} ways to cut output into writes give no secret away, and a mask per write would`, (t) => {
  const index = indexSecrets(SECRETS)
  let [compared, gaveAway, masks] = [0, 0, 0]
  for (let number = 0; number < TEXTS; number++) {
    const { text, planted } = textOf()
    const whole = redacted(index, [text])
    const leak = holdsAny(whole, FORMS)
    assert.equal(leak, undefined, `${leak?.toString()} in ${whole.toString()}, of ${text.toString('hex')}`)
    if (planted.length > 0) {
      assert.ok(whole.includes('***'))
      masks++
    }
    for (let round = 0; round < CUTS; round++) {
      const chunks = cut(text)
      const out = redacted(index, chunks)
      if (!out.equals(whole)) {
        assert.fail(`${out.toString()} is not ${whole.toString()}: ${chunks.map((one) => one.toString('hex'))}`)
      }
      if (round > 0 || planted.length === 0) continue
      compared++
      if (holdsAny(naive(chunks, planted), planted) !== undefined) gaveAway++
    }
  }
  t.diagnostic(`${masks} texts with secrets; a mask per write gave one away in ${gaveAway} of ${compared}`)
  assert.ok(gaveAway > compared / 4, `${gaveAway} of ${compared}`)
})
