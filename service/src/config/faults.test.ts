import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { selfSigned } from '../../test/support/certificate.ts'
import { folder } from '../../test/support/config-folder.ts'
import { ConfigFaults, nearest } from './faults.ts'
import { type LoadOptions, loadConfig } from './load.ts'

function faultsOf(options: LoadOptions): string[] {
  try {
    loadConfig(options)
  } catch (error) {
    assert.ok(error instanceof ConfigFaults, String(error))
    return error.faults.map(({ subject, text }) => `${subject}: ${text}`)
  }
  return []
}

test('a bad value is told with its variable, what is wrong and the way to mend it', (t) => {
  const { path: cwd } = folder(t)
  const cases: [string, string, RegExp][] = [
    [
      'YARDMASTER_PORT',
      '44x',
      /^port: "44x" from YARDMASTER_PORT is not a whole number from 0 to 65535\. Set YARDMASTER_PORT to one, for example 4400\.$/,
    ],
    ['YARDMASTER_PORT', '65536', /is not a whole number from 0 to 65535/],
    ['YARDMASTER_PORT', '-1', /^port: -1 from YARDMASTER_PORT is not/],
    ['YARDMASTER_PORT', '0x10', /is not a whole number/],
    ['YARDMASTER_PORT', '1e3', /is not a whole number/],
    ['YARDMASTER_DRAIN_SECONDS', '1.5', /is not a whole number from 0 to 3600/],
    ['YARDMASTER_DATABASE_POOL_SIZE', '1', /is not a whole number from 2 to 200/],
    [
      'YARDMASTER_DEMO',
      'yes',
      /^demo: "yes" from YARDMASTER_DEMO is not true or false\. Set YARDMASTER_DEMO to true or false/,
    ],
    ['YARDMASTER_DEMO', 'TRUE', /is not true or false/],
    ['YARDMASTER_LOG_LEVEL', 'loud', /is not one of trace, debug, info, warn, error/],
    ['YARDMASTER_ROLES', 'api,cook', /^roles: "cook" from YARDMASTER_ROLES is not one of api, scheduler, worker\. Set/],
    ['YARDMASTER_ROLES', 'api,api', /names something twice/],
    ['YARDMASTER_ROLES', 'api,', /^roles: "" from YARDMASTER_ROLES is not one of/],
    ['YARDMASTER_HOST', 'http://x', /is neither an IP address nor a host name/],
    ['YARDMASTER_HOST', '256.1.1.1', /is neither an IP address nor a host name/],
    ['YARDMASTER_DATA', '~/data', /begins with ~, which only a shell turns into a home folder/],
    ['YARDMASTER_PUBLIC_URL', 'yard.example.com', /is not an http:\/\/ or https:\/\/ URL/],
    ['YARDMASTER_PUBLIC_URL', 'ftp://yard.example.com', /is not an http:\/\/ or https:\/\/ URL/],
    ['YARDMASTER_PUBLIC_URL', 'https://yard.example.com/app', /has a path/],
    ['YARDMASTER_PUBLIC_URL', 'https://yard.example.com/?a=1', /has a query/],
    ['YARDMASTER_PUBLIC_URL', 'https://yard.example.com:0', /has port 0/],
    [
      'YARDMASTER_PUBLIC_URL',
      'https://me:pw@yard.example.com',
      /^publicUrl: "https:\/\/\[secret\]@yard.example.com" .* holds credentials/,
    ],
    [
      'YARDMASTER_TRUST_PROXY',
      '10.0.0.1,proxy',
      /^trustProxy: "proxy" from YARDMASTER_TRUST_PROXY is not an IP address or a network/,
    ],
    ['YARDMASTER_TRUST_PROXY', '10.0.0.0/33', /has a bad network length/],
    ['YARDMASTER_TRUST_PROXY', '0.0.0.0/0', /trusts everybody/],
    ['YARDMASTER_WORKSPACE_HEADERS', 'X One', /is not the name of a header/],
    ['YARDMASTER_WORKSPACE_HEADERS', 'Authorization', /is a header with a meaning of its own/],
    ['YARDMASTER_MAIL_FROM', 'Yard <nobody>', /is not a mail address/],
    ['YARDMASTER_MAIL_FROM', 'a@b.c\r\nBcc: x@y.z', /holds a line break/],
    [
      'YARDMASTER_METRICS_TOKEN',
      'short',
      /^metrics.token: the value from YARDMASTER_METRICS_TOKEN is shorter than 16 characters\. .*openssl rand/,
    ],
    ['YARDMASTER_METRICS_TOKEN', 'a token with spaces in it', /holds a space/],
    ['DATABASE_URL', 'mysql://u:p@h/d', /^database.url: the value from DATABASE_URL does not begin with postgres:/],
    ['DATABASE_URL', 'postgres://u:p#w@h:port/d', /is not a URL \(characters such as/],
    ['YARDMASTER_SMTP_URL', 'mail.example.com:25', /does not begin with smtp:/],
    ['YARDMASTER_SMTP_URL', 'smtp://', /is not a URL|names no host/],
    ['YARDMASTER_SMTP_URL', 'smtp://h?sendmail=true', /has options behind its \? other than/],
    ['YARDMASTER_SMTP_URL', 'smtp://h?requireTLS=no', /has options behind its \? other than/],
    ['YARDMASTER_OIDC_NAME', 'x'.repeat(61), /is empty or longer than 60 characters/],
    ['YARDMASTER_OIDC_NAME', 'a\nb', /holds a line break/],
    ['YARDMASTER_MASTER_KEY', randomBytes(31).toString('base64'), /number 1 of 1\) that is not 32 bytes in base64/],
    ['YARDMASTER_MASTER_KEY', `${randomBytes(32).toString('base64')},hello`, /number 2 of 2/],
    ['YARDMASTER_MASTER_KEY', ',', /holds no key/],
  ]
  for (const [variable, value, expected] of cases) {
    const faults = faultsOf({ env: { [variable]: value }, cwd })
    assert.equal(faults.length, 1, `${variable}=${value}: ${faults.join('\n')}`)
    assert.match(faults[0]!, expected)
    assert.match(faults[0]!, /\. (Set|Put) /, 'says what to do')
  }
})

test('single sign-on is set up as a whole or not at all', (t) => {
  const { path: cwd } = folder(t)
  const values: Record<string, string> = {
    YARDMASTER_OIDC_ISSUER: 'https://login.example.com',
    YARDMASTER_OIDC_CLIENT_ID: 'yard',
    YARDMASTER_OIDC_CLIENT_SECRET: 'client-secret',
  }
  const paths = ['oidc.issuer', 'oidc.clientId', 'oidc.clientSecret']
  const names = Object.keys(values)
  for (let chosen = 1; chosen < 7; chosen++) {
    const given = names.filter((_, index) => chosen & (1 << index))
    const env = Object.fromEntries(given.map((name) => [name, values[name]!]))
    const missing = names.flatMap((name, index) => (given.includes(name) ? [] : [[paths[index]!, name] as const]))
    const faults = faultsOf({ env, cwd })
    assert.equal(faults.length, missing.length, given.join())
    for (const [path, name] of missing) {
      const fault = faults.find((one) => one.startsWith(`${path}: is missing`)) ?? ''
      assert.ok(fault.includes(`Set ${name} too, or remove the others`), path)
      assert.ok(!fault.includes('client-secret'))
    }
  }
})

test('an identity provider is believed only over https, or on this machine', (t) => {
  const { path: cwd } = folder(t)
  const rest = { YARDMASTER_OIDC_CLIENT_ID: 'yard', YARDMASTER_OIDC_CLIENT_SECRET: 'client-secret' }
  const cases: [string, RegExp | null][] = [
    ['https://login.example.com', null],
    ['https://login.example.com/realms/yard', null],
    ['http://127.0.0.1:9000', null],
    ['http://localhost:9000', null],
    ['http://login.example.com', /is not encrypted/],
    ['http://127.0.0.1.example.com', /is not encrypted/],
    ['login.example.com', /is not an https:\/\/ URL/],
    ['https://me:pw@login.example.com', /holds credentials/],
    ['https://login.example.com/?tenant=1', /has a query/],
  ]
  for (const [issuer, expected] of cases) {
    const env = { ...rest, YARDMASTER_OIDC_ISSUER: issuer }
    if (expected === null) assert.equal(loadConfig({ env, cwd }).config.oidc.issuer, issuer)
    else assert.match(faultsOf({ env, cwd }).join('\n'), expected)
  }
  const blank = faultsOf({
    env: { ...rest, YARDMASTER_OIDC_ISSUER: 'https://a.example', YARDMASTER_OIDC_CLIENT_ID: ' a ' },
    cwd,
  })
  assert.match(blank.join('\n'), /^oidc\.clientId: .*holds what no client id or secret may/)
})

test('a bad option is told with its name', (t) => {
  const { path: cwd } = folder(t)
  const [fault] = faultsOf({ env: {}, cwd, overrides: { port: 'x', 'log.level': 'loud' } })
  assert.match(fault!, /^port: "x" from --port is not .*\. Give --port one, for example 4400\.$/)
})

test('faults of the file name its line', (t) => {
  const { path: cwd, write } = folder(t)
  const path = write(
    'yardmaster.yaml',
    [
      '# line 1',
      'port: high',
      'demo: yes',
      '',
      'tls:',
      '  certFil: x',
      'mail: smtp://x',
      'roles:',
      '  - api',
      '  - cook',
      'databse:',
      '  poolSize: 3',
      'host: 12',
      'metrics:',
      '  token: 12345678901234567890',
    ].join('\n'),
  )
  const expected = [
    /^yardmaster.yaml:6: tls\.certFil is not a setting\. Did you mean tls\.certFile\?/,
    /^yardmaster.yaml:7: mail holds no settings\. Write it as a section with keys below it: smtpUrl, from, smtpUrlFile\.$/,
    /^yardmaster.yaml:11: databse is not a setting\. Did you mean database\?/,
    /^host: 12 from yardmaster.yaml:13 is not a text \(put it in quotes\)\. Set host there to an IP address/,
    /^port: "high" from yardmaster.yaml:2 is not a whole number from 0 to 65535\. Set port there to one, for example 4400\.$/,
    /^roles: "cook" from yardmaster.yaml:8 is not one of api, scheduler, worker/,
    /^metrics.token: the value from yardmaster.yaml:15 is not a text \(put it in quotes\)/,
    /^demo: "yes" from yardmaster.yaml:3 is not true or false/,
  ]
  for (const file of [undefined, path]) {
    const faults = faultsOf({ env: {}, cwd, file })
    assert.equal(faults.length, expected.length, faults.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(faults[index]!, pattern)
  }
})

test('a file outside the working folder is named by its whole path', (t) => {
  const { path: cwd } = folder(t)
  const file = folder(t).write('yard.yaml', '\nport: x')
  assert.match(faultsOf({ env: { YARDMASTER_CONFIG: file }, cwd })[0]!, new RegExp(`^port: "x" from ${file}:2 is not`))
})

test('a file that is no YAML, or holds no settings, is a fault with its line', (t) => {
  const { path: cwd, write } = folder(t)
  const cases: [string, RegExp][] = [
    ['port: 1\n  host: x', /^yardmaster.yaml:1: is not valid YAML at column \d+ \(.+\)\. Check indentation/],
    ['port: 1\nport: 2', /^yardmaster.yaml:2: is not valid YAML at column 1 \(duplicate key\)/],
    ['metrics:\n\ttoken: x', /^yardmaster.yaml:2: is not valid YAML/],
    ['\nhost: *gone', /^yardmaster.yaml:2: refers \(\*\) to an anchor/],
    ['roles: [*gone]', /^yardmaster.yaml:1: refers/],
    ['tls: *gone', /^yardmaster.yaml:1: refers/],
    ['host: !mine x', /^yardmaster.yaml:1: is not valid YAML/],
    ['host: "open', /is not valid YAML/],
    ['port: 1\n---\nport: 2', /is not valid YAML/],
    ['- port', /^yardmaster.yaml:1: holds no settings\. Write settings as keys/],
    ['just a text', /holds no settings/],
    ['log: &log\n  level: *log', /^log.level: the value from yardmaster.yaml:2 is not a text/],
    ['? [a, b]\n: 1', /is not a setting/],
  ]
  for (const [content, expected] of cases) {
    write('yardmaster.yaml', content)
    assert.match(faultsOf({ env: {}, cwd }).join('\n'), expected, content)
  }
})

test('a file that was asked for and cannot be read is a fault', (t) => {
  const { path: cwd } = folder(t)
  assert.match(faultsOf({ env: {}, cwd, file: 'missing.yaml' })[0]!, /^missing.yaml: does not exist\. Name a file/)
  assert.match(faultsOf({ env: { YARDMASTER_CONFIG: cwd }, cwd: '/' })[0]!, /is a folder/)
})

test('an unknown variable is a fault that says which was meant', (t) => {
  const { path: cwd } = folder(t)
  const meant = (name: string) => faultsOf({ env: { [name]: 'x' }, cwd })[0]
  assert.match(
    meant('YARDMASTER_PROT')!,
    /^YARDMASTER_PROT: is not a variable of Yardmaster\. Did you mean YARDMASTER_PORT\?/,
  )
  assert.match(meant('YARDMASTER_DATABASE_URL')!, /Did you mean DATABASE_URL\?/)
  assert.match(meant('YARDMASTER_SMTP')!, /Did you mean YARDMASTER_SMTP_URL\?/)
  assert.match(meant('YARDMASTER_PUBLICURL')!, /Did you mean YARDMASTER_PUBLIC_URL\?/)
  assert.match(meant('YARDMASTER_CONFG')!, /Did you mean YARDMASTER_CONFIG\?/)
  assert.doesNotMatch(meant('YARDMASTER_ELEPHANT')!, /Did you mean/)
  assert.match(meant('YARDMASTER_PORT_FILE')!, /only secrets can be given as a file\. Set YARDMASTER_PORT instead\./)
})

test('a secret given as a value and as a file in one place is a fault', (t) => {
  const { path: cwd, write } = folder(t)
  write('token', 'token-from-a-file-1')
  const env = { YARDMASTER_METRICS_TOKEN: 'token-of-the-variable', YARDMASTER_METRICS_TOKEN_FILE: 'token' }
  assert.deepEqual(faultsOf({ env, cwd }), [
    'metrics.token: is given twice, by YARDMASTER_METRICS_TOKEN and by YARDMASTER_METRICS_TOKEN_FILE. Keep one of the two.',
  ])
  write('yardmaster.yaml', 'metrics:\n  tokenFile: token\n  token: token-of-the-file')
  assert.deepEqual(faultsOf({ env: {}, cwd }), [
    'metrics.token: is given twice, by metrics.tokenFile (yardmaster.yaml:2) and by metrics.token (yardmaster.yaml:3). Keep one of the two.',
  ])
})

test('a secret file that is missing, empty, a folder or open to others is a fault', (t) => {
  const { path: cwd, write } = folder(t)
  const open = write('open', 'token-from-a-file-1', 0o640)
  write('empty', '\n')
  write('big', 'x'.repeat(70_000))
  write('short', 'short\n')
  const fault = (file: string) => faultsOf({ env: { YARDMASTER_METRICS_TOKEN_FILE: file }, cwd }).join('\n')
  assert.match(
    fault('missing'),
    /^metrics.token: the file named by YARDMASTER_METRICS_TOKEN_FILE does not exist\. The file must hold a text/,
  )
  assert.match(fault('open'), new RegExp(`mode 0640\\); run: chmod 600 ${open}\\.`))
  assert.match(fault('empty'), /is empty/)
  assert.match(fault('big'), /is larger than 64 KiB/)
  assert.match(fault('.'), /is a folder/)
  assert.match(fault('/dev/null'), /is not a regular file/)
  assert.match(
    fault('short'),
    new RegExp(
      `^metrics.token: the value from ${join(cwd, 'short')} \\(named by YARDMASTER_METRICS_TOKEN_FILE\\) is shorter`,
    ),
  )
  write('yardmaster.yaml', 'metrics: { tokenFile: 7 }')
  assert.match(faultsOf({ env: {}, cwd })[0]!, /metrics.tokenFile at yardmaster.yaml:1 is not the path of a file/)
})

test('a configuration file that holds a secret must not be open to others', (t) => {
  const { path: cwd, write } = folder(t)
  const file = write('yardmaster.yaml', 'port: 1\nmetrics:\n  token: token-of-the-file', 0o644)
  const [fault] = faultsOf({ env: {}, cwd })
  assert.match(fault!, /^yardmaster.yaml: holds a secret \(metrics.token, line 3\) and can be read .*mode 0644/)
  assert.ok(fault!.includes(`chmod 600 ${file}`))
  write('yardmaster.yaml', 'port: 1', 0o644)
  assert.deepEqual(faultsOf({ env: {}, cwd }), [])
})

test('the certificate and the key of TLS go together, exist, and fit', (t) => {
  const { path: cwd, write } = folder(t)
  const { cert, key } = selfSigned()
  write('cert', cert)
  write('key', key, 0o640)
  write('open-key', key, 0o644)
  write('other-key', selfSigned().key)
  write('text', 'hello')
  const fault = (certFile: string, keyFile: string) =>
    faultsOf({ env: { YARDMASTER_TLS_CERT_FILE: certFile, YARDMASTER_TLS_KEY_FILE: keyFile }, cwd }).join('\n')
  assert.equal(fault('cert', 'key'), '')
  assert.match(
    fault('cert', ''),
    /^tls.keyFile: is missing, while tls.certFile is given\. Set YARDMASTER_TLS_KEY_FILE too/,
  )
  assert.match(fault('', 'key'), /^tls.certFile: is missing, while tls.keyFile is given/)
  assert.match(fault('gone', 'key'), /^tls.certFile: "gone" from YARDMASTER_TLS_CERT_FILE does not exist/)
  assert.match(fault('cert', 'gone'), /^tls.keyFile: "gone" from YARDMASTER_TLS_KEY_FILE does not exist/)
  assert.match(fault('text', 'text'), /no certificate in PEM form[\s\S]*no private key in PEM form/)
  assert.match(fault('cert', 'open-key'), /chmod 600/)
  assert.match(fault('cert', 'other-key'), /is not the key of the certificate/)
})

test('an owner of the database is only for an external database', (t) => {
  const { path: cwd } = folder(t)
  const owner = { YARDMASTER_DATABASE_OWNER_URL: 'postgres://owner:pw@db/yard' }
  assert.match(
    faultsOf({ env: owner, cwd })[0]!,
    /^database.ownerUrl: is given without database.url.*Set DATABASE_URL too/,
  )
  // An address that cannot be read is one fault, not two.
  const faults = faultsOf({ env: { ...owner, DATABASE_URL_FILE: 'missing' }, cwd })
  assert.equal(faults.length, 1, faults.join('\n'))
})

test('all faults are in one error, whose message is a list', (t) => {
  const { path: cwd, write } = folder(t)
  write('yardmaster.yaml', 'prt: 1\nsession: { hours: 0 }')
  const env = { YARDMASTER_PORT: 'x', YARDMASTER_TLS_CERT_FILE: 'c', YARDMASTER_ODD: '1', DATABASE_URL: 'x' }
  assert.throws(
    () => loadConfig({ env, cwd }),
    (error: Error) => {
      assert.equal(error.name, 'ConfigFaults')
      const lines = error.message.split('\n')
      assert.equal(lines[0], 'The configuration has 6 faults:')
      assert.equal(lines.length, 7)
      assert.ok(lines.slice(1).every((line) => line.startsWith('  - ')))
      return true
    },
  )
})

test('no secret is in a fault, whatever is wrong with it', (t) => {
  const { path: cwd, write } = folder(t)
  const planted = 'hunter22'
  const file = write('file', `${planted} with spaces in it`)
  const variables = [
    { YARDMASTER_METRICS_TOKEN: planted },
    { DATABASE_URL: `mysql://u:${planted}@h` },
    { DATABASE_URL: `postgres://u:${planted}#@h:x/d` },
    { YARDMASTER_DATABASE_OWNER_URL: `postgres://u:${planted}@h/d` },
    { YARDMASTER_SMTP_URL: `http://u:${planted}@h` },
    { YARDMASTER_MASTER_KEY: planted },
    // The secret itself where its file belongs.
    { YARDMASTER_MASTER_KEY_FILE: planted },
    { DATABASE_URL_FILE: `postgres://u:${planted}@h/d` },
    { YARDMASTER_METRICS_TOKEN_FILE: file },
    { YARDMASTER_PUBLIC_URL: `https://u:${planted}@h` },
    { YARDMASTER_MASTERKEY: planted },
    { YARDMASTER_SMTP_URL_FILES: planted },
  ]
  const contents = [
    `metrics:\n  token: *${planted}`,
    `metrics:\n  token: [*${planted}]`,
    `metrics:\n  token: !${planted} x`,
    `metrics:\n  token: "${planted}`,
    `metrics:\n  token: @${planted}`,
    `metrics:\n  token: %${planted}`,
    `metrics:\n  token: [${planted}`,
    `metrics:\n  token: {${planted}}`,
    `metrics:\n  token: ${planted}: x`,
    `metrics:\n  tokenFile: ${planted}`,
    `mail: smtp://u:${planted}@h`,
    `mail:\n  smtpUrl:\n    - smtp://u:${planted}@h`,
  ]
  const shown = (options: LoadOptions) => {
    try {
      loadConfig(options)
    } catch (error) {
      return `${error} ${inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${(error as Error).stack}`
    }
    return assert.fail(`no fault: ${JSON.stringify(options)}`)
  }
  for (const env of variables) assert.doesNotMatch(shown({ env, cwd }), /hunter22/, JSON.stringify(env))
  for (const content of contents) {
    write('yardmaster.yaml', content)
    assert.doesNotMatch(shown({ env: {}, cwd }), /hunter22/, content)
  }
})

test('a name is near another when letters are swapped, missing, added or cut off', () => {
  const known = ['port', 'host', 'publicUrl', 'database.poolSize']
  assert.equal(nearest('prot', known), 'port')
  assert.equal(nearest('publicurl', known), 'publicUrl')
  assert.equal(nearest('public', known), 'publicUrl')
  assert.equal(nearest('database.poolsize', known), 'database.poolSize')
  assert.equal(nearest('elephant', known), undefined)
})
