// GraphQL that does not parse, does not validate, or asks for far too much.
import { BOMBS } from '../../../service/test/support/bombs.ts'
import { http } from '../raw-http.ts'
import { type Family, GOOD_DOCUMENTS, goodHeaders, mangled } from './facts.ts'

const ask = (facts: Parameters<Family>[1], query: string, variables: unknown = { limit: 1, name: 'A' }) => ({
  bytes: http({ headers: goodHeaders(facts), body: JSON.stringify({ query, variables }) }),
})

const TOKENS = [
  ...[
    '{',
    '}',
    '(',
    ')',
    '[',
    ']',
    ':',
    '!',
    '$',
    '@',
    '&',
    '|',
    '=',
    '...',
    '"x"',
    '"""x"""',
    '7',
    '-7',
    '1.5e9',
    'true',
  ],
  ...[
    'null',
    'query',
    'mutation',
    'subscription',
    'fragment',
    'on',
    'a',
    'listUsers',
    'ok',
    'Query',
    '__typename',
    '#c\n',
  ],
  ...[
    '\ufeff',
    ',',
    '\u0000',
    '\u2028',
    '\\',
    "'",
    '`',
    '\u{1f600}',
    '<',
    '%',
    'schema',
    'type',
    'extend',
    'implements',
  ],
]

export const tokenSoup: Family = (random, facts) =>
  ask(facts, Array.from({ length: random.between(1, 120) }, () => random.pick(TOKENS)).join(random.pick([' ', ''])))

export const mangledDocument: Family = (random, facts) => ask(facts, mangled(random, random.pick(GOOD_DOCUMENTS)))

export const bombs: Family = (random, facts) => {
  const bomb = random.pick(BOMBS)
  return ask(facts, bomb.query, bomb.variables)
}

export const deep: Family = (random, facts) => {
  const depth = random.pick([13, 100, 1_000, 3_000, 10_000])
  const query = random.pick([
    '{a'.repeat(depth) + '}'.repeat(depth),
    '{a'.repeat(depth),
    `{ a(b: ${'['.repeat(depth)}${']'.repeat(depth)}) }`,
    `{ a(b: ${'{c:'.repeat(depth)}1${'}'.repeat(depth)}) }`,
    `query ($a: ${'['.repeat(depth)}Int${']'.repeat(depth)}) { a }`,
    `{ ${'... on Query { '.repeat(depth)}__typename${' }'.repeat(depth)} }`,
    `{ a ${'@a('.repeat(depth)} }`,
  ])
  return ask(facts, query)
}

export const wide: Family = (random, facts) => {
  const count = random.pick([20, 300, 1_999, 2_001, 60_000, 500_000])
  const query = random.pick([
    `{ ${'a '.repeat(count)}}`,
    `{ ${Array.from({ length: Math.min(count, 20_000) }, (_, at) => `a${at}: listUsers { ok }`).join(' ')} }`,
    `{ listUsers ${'@include(if: true) '.repeat(Math.min(count, 20_000))} { ok } }`,
    `{ listUsers { ${'...f '.repeat(Math.min(count, 60_000))} } } fragment f on Users { ok }`,
    `query (${Array.from({ length: Math.min(count, 20_000) }, (_, at) => `$v${at}: Int`).join(' ')}) { listUsers { ok } }`,
    `#${'x'.repeat(count)}\n{ __typename }`,
  ])
  return ask(facts, query)
}

export const loops: Family = (random, facts) => {
  const count = random.between(1, 40)
  const ring = Array.from({ length: count }, (_, at) => `fragment f${at} on Query { ...f${(at + 1) % count} }`).join(
    ' ',
  )
  const query = random.pick([
    `{ ...f0 } ${ring}`,
    `{ __typename } ${ring}`,
    `{ ...f0 ...f0 } fragment f0 on Query { listUsers { ok } ...f0 }`,
    '{ ...missing }',
    `{ ...a } fragment a on Query { ...b } fragment b on Query { ...c } fragment c on Query { listUsers { ...a } }`,
    `{ ${Array.from({ length: count }, (_, at) => `...f${at}`).join(' ')} } ${ring}`,
  ])
  return ask(facts, query)
}

export const numbers: Family = (random, facts) => {
  const number = random.pick([
    ...[
      '2147483648',
      '-2147483649',
      '9007199254740993',
      '1e400',
      '-1e400',
      '1.5',
      '00',
      '1e',
      '0x7f',
      '9'.repeat(5_000),
    ],
    ...['-1', '0', '10001', '2147483647', '-2147483648', '"5"', 'true', '[]', '{}', '[5]', 'null'],
  ])
  const argument = random.pick(['limit', 'offset'])
  const literal = `{ getAuditLogs(${argument}: ${number}) { ok } }`
  const variable = `{"query":"query ($v: Int) { getAuditLogs(${argument}: $v) { ok } }","variables":{"v":${number}}}`
  return random.chance(0.5) ? ask(facts, literal) : { bytes: http({ headers: goodHeaders(facts), body: variable }) }
}

const DATES = [
  ...[
    '2024-02-30',
    '2023-02-29',
    '0000-00-00',
    '2024-13-01',
    '2024-00-10',
    '-2024-01-01',
    '+12024-01-01',
    '10000-01-01',
  ],
  ...['2024-01-01T24:00:00Z', '2024-01-01T23:60:00Z', '2024-01-01 00:00:60', '2024-01-01T00:00:00+24:00', 'infinity'],
  ...['-infinity', 'now', 'epoch', 'tomorrow', '2024-W01', '20240101', '1e10', '2024-01-01T00:00:00.1234567Z', ''],
  ...[
    '0001-01-01 00:00:00+15:59',
    '9999-12-31 23:59:59.999999-15:59',
    '0001-01-01',
    'allballs',
    'J2451187',
    '2024-01-01 BC',
  ],
]

export const dates: Family = (random, facts) =>
  ask(facts, 'query ($from: String, $to: String) { getAuditLogs(limit: 1, from: $from, to: $to) { ok totalCount } }', {
    from: random.pick(DATES),
    to: random.chance(0.5) ? random.pick(DATES) : null,
  })
