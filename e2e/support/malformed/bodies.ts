// Bodies that are no JSON, no UTF-8, or JSON that means something else.
import { http } from '../raw-http.ts'
import { type Family, GOOD_DOCUMENTS, goodHeaders, mangled, randomBytesOf } from './facts.ts'

const nested = (depth: number, open: string, inside: string, close: string): string =>
  open.repeat(depth) + inside + close.repeat(depth)

const post = (facts: Parameters<Family>[1], body: string | Buffer) => ({
  bytes: http({ headers: goodHeaders(facts), body }),
})

const goodBody = (query: string, variables: unknown = {}): string => JSON.stringify({ query, variables })

export const badJson: Family = (random, facts) => {
  const good = goodBody(random.pick(GOOD_DOCUMENTS), { limit: 5, name: 'A' })
  const body = random.pick([
    () => mangled(random, good),
    () => good.slice(0, random.between(0, good.length)),
    () => `${good}${random.pick(['}', ',', good, '\u0000', '//x', ' \n\t x'])}`,
    () => good.replaceAll('"', "'"),
    () => `\ufeff${good}`,
    () =>
      random.pick([
        '',
        ' ',
        'null',
        'true',
        '7',
        '"x"',
        '[]',
        '{}',
        'NaN',
        'Infinity',
        'undefined',
        '-',
        '0x10',
        '1e999',
      ]),
    () => good.replace('"query"', random.pick(['query', '"Query"', '"query" "x"', '"\\u0071uery"', '"query\\u0000"'])),
    () => nested(10_000, '[', '1', ']'),
    () => nested(10_000, '{"a":', '1', '}'),
    () => '['.repeat(100_000),
    () => '{"query":'.repeat(20_000),
  ])()
  return post(facts, body)
}

export const badUtf8: Family = (random, facts) => {
  const good = Buffer.from(
    goodBody('mutation ($name: String!) { renameWorkspace(name: $name) { ok } }', { name: 'AAAAAAAA' }),
  )
  const at = good.indexOf('AAAAAAAA')
  const bad = random.pick([
    Buffer.from([0xff, 0xfe]),
    Buffer.from([0xc0, 0x80]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xf5, 0x80, 0x80, 0x80]),
    Buffer.from([0xe2, 0x82]),
    Buffer.from([0x80]),
    Buffer.from([0x00]),
    randomBytesOf(random, random.between(1, 30)),
  ])
  return post(facts, random.chance(0.7) ? Buffer.concat([good.subarray(0, at), bad, good.subarray(at + 1)]) : bad)
}

export const strangeMembers: Family = (random, facts) => {
  const query = JSON.stringify(random.pick(GOOD_DOCUMENTS))
  const evil = random.pick([
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    '',
    'then',
  ])
  const value = random.pick(['{"polluted":true}', '{"prototype":{"polluted":true}}', '1', 'null', '[]', '"x"'])
  return post(
    facts,
    random.pick([
      `{"query":${query},"${evil}":${value}}`,
      `{"query":${query},"variables":{"${evil}":${value},"limit":3}}`,
      `{"query":${query},"variables":{"name":{"${evil}":${value}}}}`,
      `{"query":${query},"extensions":{"${evil}":${value}}}`,
      `{"query":${query},"query":${value}}`,
      `{"query":"{ __typename }","query":${query},"variables":{"a":1,"a":2}}`,
      `{"query":${query},"operationName":"${evil}"}`,
      `{"query":"query ${evil || 'a'} { __typename }","operationName":${JSON.stringify(evil)}}`,
      `{"query":${query},"operationName":${value}}`,
      `{"query":${value}}`,
      `{"query":${query},"variables":${value}}`,
    ]),
  )
}

export const batches: Family = (random, facts) => {
  const one = goodBody(random.pick(GOOD_DOCUMENTS))
  const body = random.pick([
    `[${one}]`,
    `[${Array(random.between(2, 500)).fill(one).join(',')}]`,
    `[${one},[${one}]]`,
    `{"0":${one},"length":1}`,
    `{"requests":[${one}]}`,
    `[${one},null,7]`,
  ])
  return post(facts, body)
}

export const tooLarge: Family = (random, facts) => {
  const size = random.pick([1_040_000, 1_048_576, 1_048_577, 1_500_000])
  const filler = random.pick(['x', '\\u0000', '\u00e9', ' '])
  const body = goodBody('{ __typename }').replace('{}', `{"pad":"${filler.repeat(Math.floor(size / filler.length))}"}`)
  return { ...post(facts, body), mayBeSilent: true }
}
