import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { createScrubber } from './scrub.ts'

const letters = (count: number) =>
  randomBytes(count * 2)
    .toString('base64')
    .replace(/[+/=]/g, 'x')
    .slice(0, count)
const base64 = (text: string) => Buffer.from(text).toString('base64')

test('our keys and link tokens keep their prefix only', () => {
  const { text } = createScrubber()
  for (const prefix of ['ym_acc_', 'ym_wsp_', 'ym_usr_', 'ym_sec_', 'prdm_cmp_', 'prdm_wsp_', 'ymt_']) {
    const token = prefix + letters(61)
    assert.equal(text(`key ${token}, used`), `key ${prefix}…, used`)
    assert.equal(text(`a line\n${token}\n`), `a line\n${prefix}…\n`)
    assert.equal(text(`/link?token=${token}&x=1`), `/link?token=${prefix}…&x=1`)
    assert.equal(text(`glued${token}`), `glued${prefix}…`)
  }
  assert.equal(text('ym_acc_abc123 is the start of a key'), 'ym_acc_abc123 is the start of a key')
})

test('a token inside base64 is found wherever it begins', () => {
  const { text } = createScrubber()
  for (const before of ['', 'u', 'us', 'user:', '\0user\0']) {
    const encoded = base64(`${before}ym_acc_${letters(61)}`)
    assert.equal(text(`sent ${encoded} to`), 'sent [secret] to')
    assert.equal(text(`sent a${encoded} to`), 'sent [secret] to')
    assert.equal(text(encoded.replaceAll('+', '-').replaceAll('/', '_')), '[secret]')
  }
  const harmless = base64('nothing of interest, only a long text that was encoded')
  assert.equal(text(harmless), harmless)
})

test('what follows Bearer or Basic is masked', () => {
  const { text } = createScrubber()
  assert.equal(text('authorization: Bearer eyJhbGciOi.J9.abc-def'), 'authorization: Bearer [secret]')
  assert.equal(text('BASIC dXNlcjpwYXNzd29yZA=='), 'BASIC [secret]')
  assert.equal(text('Basic authentication is off'), 'Basic authentication is off')
})

test('credentials in a URL are masked, the rest of it stays', () => {
  const { text } = createScrubber()
  const cases = [
    ['postgres://app:pw@db:5432/y', 'postgres://[secret]@db:5432/y'],
    ['https://ghp_token@github.com/a/b', 'https://[secret]@github.com/a/b'],
    ['https://u:p@ss@host/x', 'https://[secret]@host/x'],
    [
      'clone https://u:p@h/x.git and https://v:q@i/y.git',
      'clone https://[secret]@h/x.git and https://[secret]@i/y.git',
    ],
    ['ssh://git@github.com/a/b', 'ssh://git@github.com/a/b'],
    ['https://host/path?mail=a@b.c', 'https://host/path?mail=a@b.c'],
    ['see https://host and mail a@b.c', 'see https://host and mail a@b.c'],
  ]
  for (const [given, expected] of cases) assert.equal(text(given!), expected)
})

test('a registered value is masked in every form in which it may be printed', () => {
  const { mask, text } = createScrubber()
  const value = 'p@ss "word"\\ with/ünïcode+plus\nand a second line'
  mask(value)
  const json = JSON.stringify(value).slice(1, -1)
  const forms = {
    plain: value,
    json,
    'json in json': JSON.stringify(json).slice(1, -1),
    url: encodeURIComponent(value),
    'url in lower case': encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
    form: new URLSearchParams({ p: value }).toString().slice(2),
    base64: base64(value),
    base64url: Buffer.from(value).toString('base64url'),
    hex: Buffer.from(value).toString('hex'),
  }
  for (const [name, form] of Object.entries(forms)) {
    assert.equal(text(`<${form}>`).replace('=', ''), '<[secret]>', name)
  }
  // In base64 with something before and after it, only the characters at the edges are left.
  for (const before of ['u', 'u:', 'us:', 'user:']) {
    const encoded = text(base64(`${before}${value}:more`))
    assert.match(encoded, /^.{0,7}\[secret\].{0,9}$/)
  }
})

test('the longest of several values wins, and neighbours are all found', () => {
  const { mask, text } = createScrubber()
  for (const value of ['abcdef', 'abcdefghij', 'fghijk']) mask(value)
  assert.equal(text('abcdefghij'), '[secret]')
  assert.equal(text('abcdefabcdef fghijk'), '[secret][secret] [secret]')
  assert.equal(text('abcde'), 'abcde')
})

test('a short value is not registered, and a value is forgotten when all who registered it say so', () => {
  const { mask, text } = createScrubber()
  mask('short')
  assert.equal(text('a short text'), 'a short text')
  const [first, second] = [mask('longer-value'), mask('longer-value')]
  first()
  first()
  assert.equal(text('longer-value'), '[secret]')
  second()
  assert.equal(text('longer-value'), 'longer-value')
})

test('fields that hold credentials are masked at any depth, also in JSON inside a text', () => {
  const { line } = createScrubber()
  const given = {
    password: 'a1',
    req: {
      headers: { Authorization: 'x', cookie: ['y'], 'set-cookie': { z: 1 }, 'x-api-key': 'k', 'x-api-secret': 's' },
    },
    deep: [{ deeper: { newPassword: 'b2', currentPassword: null, passwordChangedAt: 'kept' } }],
    body: JSON.stringify({ query: 'mutation', variables: { password: 'c3 "quoted"' } }),
  }
  const cleaned = JSON.parse(line(`${JSON.stringify(given)}\n`))
  assert.deepEqual(cleaned, {
    password: '[secret]',
    req: {
      headers: {
        Authorization: '[secret]',
        cookie: '[secret]',
        'set-cookie': '[secret]',
        'x-api-key': '[secret]',
        'x-api-secret': '[secret]',
      },
    },
    deep: [{ deeper: { newPassword: '[secret]', currentPassword: null, passwordChangedAt: 'kept' } }],
    body: JSON.stringify({ query: 'mutation', variables: { password: '[secret]' } }),
  })
})

test('a line without secrets is given back as it is', () => {
  const { line, mask } = createScrubber()
  mask('some-secret-value')
  const given = '{"level":"info","n":1.50,"url":"http://127.0.0.1:4400","email":"a@b.c","msg":"x"}\n'
  assert.equal(line(given), given)
})

test('a line stays JSON whatever the value is, and none of 500 random values gets through', () => {
  const alphabet = [...'abcXYZ019 "\\/\n\t{}[]:,+=&%@#é🦖u']
  const random = (length: number) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
  for (let round = 0; round < 500; round++) {
    const { mask, line } = createScrubber()
    const value = random(randomInt(6, 40))
    mask(value)
    const given = {
      level: 'info',
      [value]: value,
      text: `${random(5)}${value}${random(5)}`,
      nested: JSON.stringify({ inner: value }),
      url: `https://host/?q=${encodeURIComponent(value.toWellFormed())}`,
      encoded: base64(value),
      list: [value, [value]],
    }
    const cleaned = line(`${JSON.stringify(given)}\n`)
    assert.ok(cleaned.endsWith('\n'))
    const parsed = JSON.stringify(Object.entries(JSON.parse(cleaned)).filter(([key]) => key !== 'text'))
    for (const form of [value, base64(value), encodeURIComponent(value)]) {
      assert.ok(!parsed.includes(JSON.stringify(form).slice(1, -1)), JSON.stringify({ value, cleaned }))
    }
    assert.ok(!JSON.parse(cleaned).text.includes(value), JSON.stringify({ value, cleaned }))
  }
})

test('a registered number does not break the line that it stands in', () => {
  const { mask, line } = createScrubber()
  mask('123456')
  assert.deepEqual(JSON.parse(line('{"n":123456,"m":7,"s":"x123456"}\n')), { n: '[secret]', m: 7, s: 'x[secret]' })
})

test('what is no JSON is cleaned as text', () => {
  const { line } = createScrubber()
  assert.equal(line('not json https://u:p@h\n'), 'not json https://[secret]@h\n')
})

test('a line of a megabyte is cleaned in time that grows with its length only', () => {
  const { mask, line } = createScrubber()
  mask('some-secret-value')
  for (const unit of ['a', '://', '@', 'ym_', '"password":', '\\n', 'eW1f', 'Bearer ', '-api-']) {
    const given = `${JSON.stringify({ text: unit.repeat(Math.ceil(1_000_000 / unit.length)) })}\n`
    const began = process.hrtime.bigint()
    JSON.parse(line(given))
    // Squared, the fastest of these would take minutes; the bound only tells the two apart.
    assert.ok(Number(process.hrtime.bigint() - began) / 1e9 < 10, unit)
  }
})
