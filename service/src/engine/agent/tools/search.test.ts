import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { callTool, checkoutAt } from '../../../../test/support/checkout-tools.ts'
import { freshFolder } from '../../../../test/support/executor.ts'
import { globExpression } from './glob.ts'
import { runSearch, searchTools } from './search.ts'

function tree(files: Readonly<Record<string, string>>) {
  const place = freshFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(place.path, name)), { recursive: true })
    writeFileSync(join(place.path, name), content)
  }
  const call = async (tool: string, input: Record<string, unknown>) =>
    await callTool(searchTools, tool, input, { checkout: checkoutAt(place.path) })
  return { ...place, call, [Symbol.dispose]: () => place[Symbol.dispose]() }
}

const FILES = {
  'models/orders.sql': 'select *\nfrom {{ ref("raw_orders") }}\n',
  'models/staging/raw_orders.sql': 'SELECT 1 AS id\r\n',
  'models/schema.yml': 'models:\n  - name: orders\n',
  'target/compiled/orders.sql': 'select raw_orders\n',
  '.git/config': 'orders\n',
  'binary.bin': 'orders\0orders',
}

test('lines are found by a regular expression, with path and number', async () => {
  using here = tree(FILES)
  const search = async (input: Record<string, unknown>) => (await here.call('ripgrep_search', input)).text
  assert.equal(await search({ pattern: 'raw_\\w+' }), 'models/orders.sql:2:from {{ ref("raw_orders") }}')
  assert.equal(
    await search({ pattern: '^select', ignore_case: true }),
    'models/orders.sql:1:select *\nmodels/staging/raw_orders.sql:1:SELECT 1 AS id',
  )
  assert.equal(await search({ pattern: '(?i)^SELECT \\*' }), 'models/orders.sql:1:select *')
  assert.equal(await search({ pattern: 'orders', glob: '*.yml' }), 'models/schema.yml:2:  - name: orders')
  assert.equal(await search({ pattern: 'orders', path: 'target' }), 'target/compiled/orders.sql:1:select raw_orders')
  assert.equal(await search({ pattern: 'name', path: 'models/schema.yml' }), 'models/schema.yml:2:  - name: orders')
  assert.equal(await search({ pattern: 'nothing like it' }), 'Nothing was found.')
  assert.equal(await search({ pattern: 'a\\-b\\_' }), 'Nothing was found.', 'a needless escape is no fault')
  assert.match(await search({ pattern: '(' }), /no regular expression/)
  assert.match(await search({ pattern: 'x', glob: '{' }), /no pattern of file names/)
  assert.ok((await here.call('ripgrep_search', { pattern: 'x', path: 'nowhere' })).isError)
})

test('files and folders are found by a pattern of their names', async () => {
  using here = tree(FILES)
  const search = async (pattern: string, path?: string) =>
    (await here.call('search_files_and_directories', { pattern, ...(path && { path }) })).text
  assert.equal(await search('*.sql'), 'models/orders.sql\nmodels/staging/raw_orders.sql')
  assert.equal(await search('models/**/*.sql'), 'models/orders.sql\nmodels/staging/raw_orders.sql')
  assert.equal(await search('models/*.sql'), 'models/orders.sql')
  assert.equal(await search('{staging,schema.*}'), 'models/schema.yml\nmodels/staging/')
  assert.equal(await search('*.sql', 'target'), 'target/compiled/orders.sql')
  assert.equal(await search('config'), 'Nothing was found.', 'the git folder is not searched')
})

test('patterns mean what they say', () => {
  const matches = (pattern: string, path: string): boolean => globExpression(pattern)!.test(path)
  assert.ok(matches('*.sql', 'a/b.sql') && !matches('*.sql', 'a/b.sqlx'))
  assert.ok(matches('a/**', 'a/b/c') && !matches('a/*', 'a/b/c') && matches('**/c', 'c') && matches('a/**/c', 'a/c'))
  assert.ok(matches('[!a]b', 'cb') && !matches('[!a]b', 'ab') && matches('a?c', 'abc') && !matches('a?c', 'a/c'))
  assert.ok(matches('a.b', 'a.b') && !matches('a.b', 'axb') && matches('a(b)+$^|', 'a(b)+$^|') && matches('[x', '[x'))
  assert.equal(globExpression('{a'), null)
  assert.equal(globExpression(''), null)
})

test('a regular expression that would take for ever is stopped, and the service goes on meanwhile', async () => {
  using here = tree({ evil: `${'a'.repeat(60)}!\n` })
  let turns = 0
  const timer = setInterval(() => turns++, 5)
  const request = { root: here.path, names: [], kind: 'contents', ignoreCase: false, glob: '', most: 10 } as const
  const found = await runSearch({ ...request, pattern: '^(a+)+$' }, new AbortController().signal, 1)
  clearInterval(timer)
  assert.equal(found.kind, 'found')
  assert.match(found.kind === 'found' ? found.note : '', /stopped after 1 s/)
  assert.ok(turns > 20, 'others had their turn')
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 50)
  const aborted = await runSearch({ ...request, pattern: '^(a+)+$' }, controller.signal, 60)
  assert.match(aborted.kind === 'found' ? aborted.note : '', /stopped/)
})

test('links are not followed, and much that is found is cut and said', async () => {
  using here = tree({ 'many.txt': 'x\n'.repeat(1000), 'wide.txt': `needle${'y'.repeat(5000)}\n` })
  symlinkSync('/etc', join(here.path, 'etc'))
  symlinkSync('/etc/passwd', join(here.path, 'passwd'))
  symlinkSync('.', join(here.path, 'self'))
  const { text } = await here.call('ripgrep_search', { pattern: 'root|^x' })
  assert.equal(text.split('\n').length, 201)
  assert.match(text, /only the first 200 are shown/)
  assert.ok(!text.includes('root:'))
  assert.ok((await here.call('ripgrep_search', { pattern: 'needle' })).text.length < 500)
})
