// The pages and what stands beside them.
import { http } from '../raw-http.ts'
import { type Family, type HeaderList, randomBytesOf } from './facts.ts'

const TOKENS = [
  'x',
  'ymt_',
  `ymt_${'A'.repeat(43)}`,
  `ymt_${'A'.repeat(42)}-`,
  '%00',
  '%ff%fe',
  '..%2f..',
  "';--",
  'a'.repeat(3_000),
  '\u00e9',
]
const VALUES = [
  '',
  'x',
  '%00',
  '%ff%fe',
  '%',
  '%zz',
  '%ed%a0%80',
  'a@b.c%00',
  `${'x'.repeat(9_000)}`,
  '%F0%9F%98%80',
  '+++',
  '%0d%0aSet-Cookie:x',
  'a@example.com',
]

export const pages: Family = (random, facts) => {
  const token = random.pick(TOKENS)
  const path = random.pick([
    ...[
      '/signin',
      '/signin',
      '/signout',
      '/reset',
      '/account/password',
      '/',
      '/graphiql',
      '/pages.css',
      '/graphiql/assets/page.js',
    ],
    ...[`/welcome/${token}`, `/invitation/${token}`, `/reset/${token}`],
    ...[
      '/signin?next=//elsewhere.example',
      `/signin?next=${'x'.repeat(3_000)}`,
      '/signin?next=%00&next=/x',
      '/signin?next[a]=b',
    ],
  ])
  const method = random.pick(['GET', 'POST', 'POST', 'HEAD'])
  const names = ['email', 'password', 'again', 'current', 'name', 'next', '__proto__', 'constructor', '']
  const fields = Array.from(
    { length: random.between(0, 25) },
    () => `${random.pick(names)}=${random.pick(VALUES)}`,
  ).join('&')
  const body = random.pick<string | Buffer>([
    fields,
    fields,
    fields,
    randomBytesOf(random, 200),
    '{"email":"x"}',
    '&'.repeat(20_000),
  ])
  const headers: HeaderList = [
    [
      'Content-Type',
      random.pick([
        'application/x-www-form-urlencoded',
        'application/x-www-form-urlencoded',
        'application/json',
        'text/plain',
      ]),
    ],
    ['Cookie', `yardmaster_session=${random.pick([`ymt_${'A'.repeat(43)}`, 'x', '%00', ''])}`],
  ]
  if (random.chance(0.8))
    headers.push([
      'Origin',
      random.pick([facts.origin, facts.origin, facts.origin, 'null', 'https://elsewhere.example', '']),
    ])
  const sent = method === 'POST' ? body : ''
  return { bytes: http({ method, path, headers, body: sent }), page: true, mayBeSilent: true, end: true }
}
