// Good documents whose variables are something else than what they should be.

import { argumentsIn, at, documentOf, leavesOf, OWN, replaced } from '../arguments.ts'
import { http } from '../raw-http.ts'
import { type Family, goodHeaders } from './facts.ts'

const TEXTS = [
  ...[
    '\u0000',
    'a\u0000b',
    '\ud800',
    'x\udc00',
    '',
    ' ',
    '\u{1f600}'.repeat(70),
    '\u202eabc',
    'e\u0301',
    '\ufeff',
    '\uffff',
  ],
  ...[
    'a\nb',
    '\u0001\u007f\u0080',
    "'; drop table person; --",
    '{{7*7}}',
    '../../etc/passwd',
    '--upload-pack=x',
    'ext::sh -c x',
  ],
  ...[
    'https://%zz@h/x',
    'https://u:%00@h/x',
    '%00',
    '\\u0000',
    'null',
    '__proto__',
    '2024-02-30',
    '9'.repeat(400),
    'Ω'.repeat(200),
  ],
]
const OTHERS: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e300, [], {}, [null], [[]], [{}], { a: 1 }],
  ...[
    ['x'],
    'x'.repeat(100_000),
    Array(2_000).fill('x'),
    JSON.parse('{"__proto__":{"a":1},"constructor":1}'),
    { length: 1 },
    'ADMIN',
    '1',
  ],
]

export const odd: Family = (random, facts) => {
  const goods = argumentsIn(facts.workspaceUid)
  // A key cannot ask for what is a person's own, and the gate says so before it looks at anything.
  const operation = random.pick(Object.keys(goods).filter((one) => !OWN.includes(one)))
  const good = goods[operation]!
  const path = random.pick(leavesOf(good))
  const texts = typeof at(good, path) === 'string' ? TEXTS : []
  const huge = random.chance(0.01) ? ['x'.repeat(1_000_000)] : []
  const variables = replaced(good, path, random.pick([...texts, ...OTHERS, ...huge]))
  const body = JSON.stringify({ query: documentOf(operation), variables })
  return { bytes: http({ headers: goodHeaders(facts), body }) }
}

export const idempotencyKeys: Family = (random, facts) => {
  const value = random.pick<string | Buffer>([
    ...['', ' ', 'x'.repeat(256), 'x'.repeat(4_000), 'a,b', '"quoted"', "'; --", '%00', 'k'],
    Buffer.from([0xe9, 0x62]),
    Buffer.from([0x09]),
  ])
  const variables = { name: random.pick(['A', '', '\u0000']) }
  const body = JSON.stringify({ query: documentOf('createWorkspace'), variables })
  const headers = [...goodHeaders(facts), ['Idempotency-Key', value] as const]
  if (random.chance(0.2)) headers.push(['Idempotency-Key', 'second'])
  return { bytes: http({ headers, body }) }
}
