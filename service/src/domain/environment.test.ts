import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  environmentSlug,
  parseBranch,
  parseFields,
  parseRepositoryUrl,
  parseSecret,
  parseValue,
  parseVariableName,
} from './environment.ts'
import { AppError } from './errors.ts'

function refused(work: () => unknown, words: RegExp): AppError {
  let caught: unknown
  try {
    work()
  } catch (error) {
    caught = error
  }
  assert.ok(caught instanceof AppError, `${caught ?? 'nothing'} was thrown`)
  assert.equal(caught.code, 'INVALID_INPUT')
  assert.match(caught.message, words)
  return caught
}

test('addresses that git can be given are taken, credentials are taken out of them', () => {
  const good: Record<string, [url: string, credentials: Record<string, string>]> = {
    '': ['', {}],
    '  https://host.example/team/repo.git  ': ['https://host.example/team/repo.git', {}],
    'https://host.example:8443/r': ['https://host.example:8443/r', {}],
    'https://tok_123@host.example/r': ['https://host.example/r', { token: 'tok_123' }],
    'https://ana:pa%40ss%2Fword@host.example/r': ['https://host.example/r', { username: 'ana', token: 'pa@ss/word' }],
    'https://:only@host.example/r': ['https://host.example/r', { token: 'only' }],
    'http://ana:b@10.0.0.1/r': ['http://10.0.0.1/r', { username: 'ana', token: 'b' }],
    'ssh://git@host.example/team/repo.git': ['ssh://git@host.example/team/repo.git', {}],
    'ssh://git:secret1@host.example:2222/r': ['ssh://git@host.example:2222/r', { token: 'secret1' }],
    'git@host.example:team/repo.git': ['git@host.example:team/repo.git', {}],
    'git@host.example:/srv/repo.git': ['git@host.example:/srv/repo.git', {}],
    'git@host.example:~ana/repo.git': ['git@host.example:~ana/repo.git', {}],
    '/srv/git/repo.git': ['/srv/git/repo.git', {}],
  }
  for (const [address, [url, credentials]] of Object.entries(good))
    assert.deepEqual(parseRepositoryUrl(address), { url, credentials }, address)
})

const HOSTILE = [
  'ext::sh -c touch% /tmp/x',
  'fd::17',
  'https::https://host/r',
  '--upload-pack=touch x',
  '-oProxyCommand=touch x',
  ' --upload-pack=x',
  'file:///etc/passwd',
  'file://host/share',
  'ftp://host/r',
  'git://host/r',
  'javascript:alert(1)',
  'data:text/plain,x',
  'git@-oProxyCommand:r',
  '-git@host:r',
  'git@host:-oProxyCommand=x',
  'git@host://r',
  'git@ho st:r',
  'git@host:r epo',
  'ssh://-oProxyCommand=touch%20x/r',
  'ssh://%2doProxyCommand=touch/r',
  'ssh://%2DoProxyCommand=touch@host%0a/r',
  'ssh://-oProxyCommand=x@host/r',
  'ssh://%2doProxyCommand=x@host/r',
  'https://-host/r',
  'https://',
  'https:///',
  'ssh:///r',
  'https://host%0a.example/r',
  'https://ana:pass%0aword@host/r',
  'https://ana:pass%00@host/r',
  'https://ana:100%@host/r',
  'https://ana%zz@host/r',
  'https://host/r\nurl = ext::x',
  'https://host/r\u0000',
  'https://host/\u007f',
  'relative/path',
  './repo',
  '../repo',
  '~/repo',
  'C:\\repo',
  '\\\\host\\share',
  'host:path',
  'host',
  `https://host/${'x'.repeat(2048)}`,
]

test('addresses that would make git or ssh do something else are refused, and not repeated in the answer', () => {
  for (const address of HOSTILE) {
    const error = refused(() => parseRepositoryUrl(address), /^repositoryUrl: .* Give https:\/\//)
    assert.ok(address.length < 12 || !error.message.includes(address), address)
  }
})

test('whatever the address, what is kept of it holds no credentials', () => {
  const parts = [
    'https://',
    'ssh://',
    'a',
    's3cr3t',
    ':',
    '@',
    '/',
    '%40',
    '%',
    '?',
    '#',
    'host',
    '\\',
    '-',
    '[',
    '.',
    ' ',
  ]
  let kept = 0
  for (let number = 0; number < 20_000; number++) {
    let rest = number * 2_654_435_761
    let text = number % 3 === 0 ? 'ssh://' : 'https://'
    for (let length = 3 + (number % 8); length > 0; length--) {
      rest = (rest * 1_103_515_245 + 12_345) % 2 ** 31
      text += parts[rest % parts.length]
    }
    let parsed: ReturnType<typeof parseRepositoryUrl>
    try {
      parsed = parseRepositoryUrl(text)
    } catch (error) {
      assert.ok(error instanceof AppError, `${text}: ${error}`)
      continue
    }
    kept++
    if (!parsed.url.startsWith('http') && !parsed.url.startsWith('ssh')) continue
    const { username, password, protocol } = new URL(parsed.url)
    assert.equal(password, '', text)
    if (protocol !== 'ssh:') assert.equal(username, '', text)
  }
  assert.ok(kept > 1_000, `${kept} were taken`)
})

test('names that git allows for a branch, tag or commit are taken', () => {
  const good = [
    'main',
    'feature/x',
    'v1.2.3',
    'a@b',
    'ü',
    'release-2026_03',
    '0123456789abcdef0123456789abcdef01234567',
  ]
  for (const name of good) assert.equal(parseBranch(name, 'defaultBranch'), name)
})

test('names that git refuses, or would take for an option or a range, are refused', () => {
  const bad = [
    '',
    '-x',
    '--upload-pack=touch x',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?b',
    'a*',
    'a[b',
    'a\\b',
    '@',
    '@{-1}',
    'a@{1}',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.',
    'a.lock',
    'a.lock/b',
    'a\u0000b',
    'a\nb',
    'a\u007f',
    'a\u00a0b',
    'x'.repeat(256),
  ]
  for (const name of bad) refused(() => parseBranch(name, 'deploymentBranch'), /^deploymentBranch: /)
})

test('a package is a name with an optional version, never an option, an address or a second line', () => {
  const good = ['dbt-core', 'dbt-core==1.10.0', 'dbt-core >= 1.8, < 2', 'pkg[extra,other]~=1.0', 'a_b.c!=1.*']
  assert.deepEqual(parseFields({ pythonPackages: good }).pythonPackages, good)
  const bad = [
    '',
    '-r x',
    '--index-url=x',
    'a b',
    'git+https://t@h/r',
    'a @ https://h/x',
    'a==1\n--pre',
    'a\n==1',
    'a;x',
    `a${'b'.repeat(200)}`,
  ]
  for (const one of bad) refused(() => parseFields({ pythonPackages: [one] }), /^pythonPackages: /)
})

test('a long list of packages and patterns that almost fit is refused at once', () => {
  const began = performance.now()
  for (let round = 0; round < 200; round++) {
    refused(() => parseFields({ pythonPackages: [`a${'==1,'.repeat(49)}`] }), /^pythonPackages/)
    refused(() => parseBranch(`${'a.'.repeat(127)}.`, 'x'), /^x/)
  }
  assert.ok(performance.now() - began < 2_000)
})

test('excluded files are patterns of one line', () => {
  assert.deepEqual(parseFields({ excludedFiles: ['target/**'] }).excludedFiles, ['target/**'])
  assert.equal(parseFields({ excludedFiles: null }).excludedFiles, null)
  for (const one of ['', 'a\nb', 'x'.repeat(401)])
    refused(() => parseFields({ excludedFiles: [one] }), /^excludedFiles/)
})

test('a field that is not given stays not given, and an empty branch or step means none', () => {
  assert.deepEqual(parseFields({}), {})
  assert.deepEqual(parseFields({ deploymentBranch: '', installStep: '' }), {
    deploymentBranch: null,
    installStep: null,
  })
  refused(() => parseFields({ installStep: 'a\u0000' }), /^installStep/)
  refused(() => parseFields({ displayName: ' ' }), /^displayName/)
})

test('a slug is made of the name, is always well-formed, and never one that is taken', () => {
  const none = new Set<string>()
  assert.equal(environmentSlug('Production EU', none), 'production-eu')
  assert.equal(environmentSlug('Café --- Ölüdeniz', none), 'cafe-oludeniz')
  assert.equal(environmentSlug('東京', none), 'environment')
  assert.equal(environmentSlug('--', none), 'environment')
  assert.equal(environmentSlug('a', new Set(['a', 'a-2'])), 'a-3')
  const taken = new Set<string>()
  for (const name of [
    'x'.repeat(128),
    `${'x'.repeat(59)}-y`,
    '-a-',
    '9',
    '🦖 a',
    'ﬁ',
    'İ',
    ...Array(40).fill('東京'),
  ]) {
    const slug = environmentSlug(name, taken)
    assert.match(slug, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    assert.ok(slug.length <= 80 && !taken.has(slug), slug)
    taken.add(slug)
  }
})

test('names that would change what a command runs cannot be set', () => {
  for (const name of ['DBT_TARGET', '_x', 'GITHUB_TOKEN', 'PATH_TO_X']) assert.equal(parseVariableName(name), name)
  const bad = ['', '1A', 'A-B', 'A B', 'A=B', 'Ä', 'A\u0000', 'A\n', 'x'.repeat(129)]
  const reserved = [
    'YARDMASTER_RUN_ID',
    'LD_PRELOAD',
    'DYLD_X',
    'NODE_OPTIONS',
    'BASH_ENV',
    'ENV',
    'GIT_SSH_COMMAND',
    'IFS',
  ]
  for (const name of [...bad, ...reserved]) refused(() => parseVariableName(name), /^name: /)
})

test('a value is bounded in bytes and holds no NUL', () => {
  assert.equal(parseValue('x'.repeat(65_536)).length, 65_536)
  refused(() => parseValue('x'.repeat(65_537)), /^value: at most/)
  refused(() => parseValue('é'.repeat(32_769)), /^value: at most/)
  refused(() => parseValue('\u0000'), /^value: /)
})

test('a secret is long enough to be masked, and named by the rules of its kind', () => {
  assert.deepEqual(parseSecret('variable', 'DB_PASSWORD', '123456'), { name: 'DB_PASSWORD', value: '123456' })
  assert.deepEqual(parseSecret('file', 'profiles.yml', '123456'), { name: 'profiles.yml', value: '123456' })
  assert.deepEqual(parseSecret('credential', 'token', 'x'), { name: 'token', value: 'x' })
  refused(() => parseSecret('variable', 'DB_PASSWORD', '12345'), /^value: a secret has at least 6/)
  refused(() => parseSecret('credential', 'token', ''), /^value: must not be empty/)
  refused(() => parseSecret('variable', 'LD_PRELOAD', '123456'), /^name: /)
  for (const name of ['', '.', '..', 'a/b', '../x', 'a\u0000', 'a b', 'x'.repeat(129)])
    refused(() => parseSecret('file', name, '123456'), /^name: /)
  refused(
    () => parseSecret('credential', 'password', '123456'),
    /^name: a credential is one of username, token, ssh_key/,
  )
})
