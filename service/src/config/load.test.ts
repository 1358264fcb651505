import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { selfSigned } from '../../test/support/certificate.ts'
import { folder } from '../../test/support/config-folder.ts'
import { loadConfig } from './load.ts'
import { withListeningPort } from './public-url.ts'
import { parseMasterKeys } from './rules.ts'
import { Secret } from './secret.ts'
import { settings } from './settings.ts'

test('without any configuration every setting has its default', (t) => {
  const { path: cwd } = folder(t)
  const { config, sources } = loadConfig({ env: {}, cwd })
  assert.deepEqual(JSON.parse(JSON.stringify(config)), {
    data: join(cwd, '.yardmaster'),
    host: '127.0.0.1',
    port: 4400,
    publicUrl: 'http://127.0.0.1:4400',
    trustProxy: [],
    tls: null,
    schedules: { folders: ['.bolt'], files: ['paradime_schedules.yml', 'paradime_schedules.yaml'] },
    roles: ['api', 'scheduler', 'worker'],
    workspaceHeaders: ['X-Paradime-Workspace'],
    metrics: {},
    database: { poolSize: 10, queryTimeoutMs: 10000 },
    mail: { from: 'Yardmaster <yardmaster@localhost>' },
    oidc: { name: 'single sign-on' },
    log: { level: 'info' },
    limits: {
      requestsPerSecond: 50,
      requestBurst: 200,
      badCredentialsPerMinute: 10,
      signInsPerMinute: 10,
      maxConnections: 20000,
    },
    drainSeconds: 30,
    worker: { slots: 4, labels: [], leaseSeconds: 60, waitLimitSeconds: 86400, drainSeconds: 0 },
    commands: {
      isolation: 'auto',
      user: 'auto',
      network: 'bridge',
      timeLimitSeconds: 86400,
      memoryMib: 0,
      processes: 4096,
      fileMib: 0,
      outputMib: 1024,
      environment: [],
    },
    blobs: { folder: join(cwd, '.yardmaster', 'blobs'), s3Region: 'us-east-1' },
    retention: { runDays: 90, logDays: 30, fileDays: 30, deliveryDays: 30 },
    outgoing: { allow: [], allowHttp: false },
    agents: {
      slots: 8,
      steps: 60,
      seconds: 3600,
      tokens: 2_000_000,
      costCents: 2000,
      sandbox: 'auto',
      commitName: 'Yardmaster agent',
      commitEmail: 'agent@yardmaster.invalid',
      shownChars: 16_000,
      keptChars: 1_000_000,
    },
    session: { hours: 168 },
    demo: true,
    privateFiles: [join(cwd, 'yardmaster.yaml')],
  })
  assert.deepEqual(
    [...sources.keys()],
    settings.map(({ path }) => path),
  )
  assert.ok([...sources.values()].every(({ kind }) => kind === 'default'))
})

test('an option wins over a variable, a variable over the file, the file over the default', (t) => {
  const { path: cwd, write } = folder(t)
  write('yardmaster.yaml', 'port: 1001\nhost: 10.0.0.1\ndrainSeconds: 11\n')
  const { config, sources } = loadConfig({
    env: { YARDMASTER_PORT: '1002', YARDMASTER_HOST: '10.0.0.2' },
    cwd,
    overrides: { port: '1003', data: undefined },
  })
  assert.deepEqual([config.port, config.host, config.drainSeconds, config.session.hours], [1003, '10.0.0.2', 11, 168])
  assert.deepEqual(sources.get('port'), { kind: 'option', option: '--port' })
  assert.deepEqual(sources.get('host'), { kind: 'environment', variable: 'YARDMASTER_HOST' })
  assert.deepEqual(sources.get('drainSeconds'), { kind: 'file', file: 'yardmaster.yaml', line: 3, key: 'drainSeconds' })
  assert.deepEqual(sources.get('session.hours'), { kind: 'default' })
})

test('the file named by an option wins over the one named by YARDMASTER_CONFIG, which wins over yardmaster.yaml', (t) => {
  const { path: cwd, write } = folder(t)
  write('yardmaster.yaml', 'port: 1')
  write('sub/two.yaml', 'port: 2')
  const three = write('three.yaml', 'port: 3')
  assert.equal(loadConfig({ env: {}, cwd }).config.port, 1)
  assert.equal(loadConfig({ env: { YARDMASTER_CONFIG: 'sub/two.yaml' }, cwd }).config.port, 2)
  assert.equal(loadConfig({ env: { YARDMASTER_CONFIG: 'sub/two.yaml' }, cwd, file: three }).config.port, 3)
})

test('every setting can be given by its variable', (t) => {
  const { path: cwd, write } = folder(t)
  const { cert, key } = selfSigned()
  write('cert.pem', cert, 0o644)
  write('key.pem', key)
  const masterKey = randomBytes(32).toString('base64')
  const { config, sources } = loadConfig({
    cwd,
    env: {
      YARDMASTER_DATA: 'state',
      YARDMASTER_HOST: '::',
      YARDMASTER_PORT: '0',
      YARDMASTER_PUBLIC_URL: 'https://Yard.Example.com/',
      YARDMASTER_TRUST_PROXY: '10.0.0.5, fd00::/8',
      YARDMASTER_TLS_CERT_FILE: 'cert.pem',
      YARDMASTER_TLS_KEY_FILE: 'key.pem',
      YARDMASTER_ROLES: 'worker,api',
      YARDMASTER_WORKSPACE_HEADERS: 'X-One,X-Two',
      YARDMASTER_METRICS_TOKEN: 'metrics-token-of-mine',
      DATABASE_URL: 'postgresql://app:pw@/yard?host=/run/postgresql',
      YARDMASTER_DATABASE_OWNER_URL: 'postgres://owner:pw@db.internal/yard',
      YARDMASTER_DATABASE_POOL_SIZE: '20',
      YARDMASTER_DATABASE_QUERY_TIMEOUT_MS: '5000',
      YARDMASTER_MASTER_KEY: masterKey,
      YARDMASTER_SMTP_URL: 'smtps://user:pw@mail.example.com',
      YARDMASTER_MAIL_FROM: 'yard@example.com',
      YARDMASTER_OIDC_ISSUER: 'https://login.example.com/realms/yard',
      YARDMASTER_OIDC_CLIENT_ID: 'yard',
      YARDMASTER_OIDC_CLIENT_SECRET: 'client-secret',
      YARDMASTER_OIDC_NAME: 'Example Corp',
      YARDMASTER_LOG_LEVEL: 'debug',
      YARDMASTER_REQUESTS_PER_SECOND: '51',
      YARDMASTER_REQUEST_BURST: '201',
      YARDMASTER_BAD_CREDENTIALS_PER_MINUTE: '11',
      YARDMASTER_SIGN_INS_PER_MINUTE: '12',
      YARDMASTER_MAX_CONNECTIONS: '100',
      YARDMASTER_DRAIN_SECONDS: '0',
      YARDMASTER_WORKER_SLOTS: '2',
      YARDMASTER_SCHEDULES_FOLDERS: '.bolt, dbt/.bolt',
      YARDMASTER_SCHEDULES_FILES: 'jobs.yml',
      YARDMASTER_WORKER_LABELS: 'gpu, eu-west',
      YARDMASTER_WORKER_LEASE_SECONDS: '30',
      YARDMASTER_WORKER_WAIT_LIMIT_SECONDS: '7200',
      YARDMASTER_WORKER_DRAIN_SECONDS: '600',
      YARDMASTER_COMMANDS_ISOLATION: 'L0',
      YARDMASTER_COMMANDS_USER: 'service',
      YARDMASTER_COMMANDS_IMAGE: 'python:3.13',
      YARDMASTER_COMMANDS_ENGINE: '/usr/bin/podman',
      YARDMASTER_COMMANDS_NETWORK: 'none',
      YARDMASTER_COMMANDS_TIME_LIMIT_SECONDS: '3600',
      YARDMASTER_COMMANDS_MEMORY_MIB: '512',
      YARDMASTER_COMMANDS_PROCESSES: '64',
      YARDMASTER_COMMANDS_FILE_MIB: '100',
      YARDMASTER_COMMANDS_OUTPUT_MIB: '10',
      YARDMASTER_COMMANDS_ENVIRONMENT: 'DBT_*,ONE',
      YARDMASTER_BLOBS_FOLDER: 'files',
      YARDMASTER_BLOBS_S3_BUCKET: 'yard-files',
      YARDMASTER_BLOBS_S3_ENDPOINT: 'http://minio.internal:9000',
      YARDMASTER_BLOBS_S3_REGION: 'eu-central-1',
      YARDMASTER_BLOBS_S3_PREFIX: 'one/two',
      YARDMASTER_BLOBS_S3_ACCESS_KEY: 'access',
      YARDMASTER_BLOBS_S3_SECRET_KEY: 'secret-key-of-s3',
      YARDMASTER_RETENTION_RUN_DAYS: '9',
      YARDMASTER_RETENTION_LOG_DAYS: '8',
      YARDMASTER_RETENTION_FILE_DAYS: '0',
      YARDMASTER_RETENTION_DELIVERY_DAYS: '7',
      YARDMASTER_OUTGOING_ALLOW: '10.0.0.0/8, hooks.internal, ::1',
      YARDMASTER_OUTGOING_ALLOW_HTTP: 'true',
      YARDMASTER_AGENTS_SLOTS: '2',
      YARDMASTER_AGENTS_STEPS: '10',
      YARDMASTER_AGENTS_SECONDS: '600',
      YARDMASTER_AGENTS_TOKENS: '100000',
      YARDMASTER_AGENTS_COST_CENTS: '150',
      YARDMASTER_AGENTS_SANDBOX: 'container',
      YARDMASTER_AGENTS_IMAGE: 'python:3.13',
      YARDMASTER_AGENTS_COMMIT_NAME: 'Data agents',
      YARDMASTER_AGENTS_COMMIT_EMAIL: 'agents@example.com',
      YARDMASTER_AGENTS_SHOWN_CHARS: '2000',
      YARDMASTER_AGENTS_KEPT_CHARS: '20000',
      YARDMASTER_SESSION_HOURS: '1',
      YARDMASTER_DEMO: 'false',
    },
  })
  assert.equal(config.blobs.folder, join(cwd, 'files'))
  assert.deepEqual(config.schedules, { folders: ['.bolt', 'dbt/.bolt'], files: ['jobs.yml'] })
  assert.deepEqual(config.worker.labels, ['gpu', 'eu-west'])
  assert.deepEqual(config.agents, {
    slots: 2,
    steps: 10,
    seconds: 600,
    tokens: 100_000,
    costCents: 150,
    sandbox: 'container',
    image: 'python:3.13',
    commitName: 'Data agents',
    commitEmail: 'agents@example.com',
    shownChars: 2000,
    keptChars: 20_000,
  })
  assert.deepEqual(config.outgoing, { allow: ['10.0.0.0/8', 'hooks.internal', '::1'], allowHttp: true })
  assert.ok([...sources.values()].every(({ kind }) => kind === 'environment'))
  assert.equal(config.data, join(cwd, 'state'))
  assert.equal(config.publicUrl, 'https://yard.example.com')
  assert.deepEqual(config.trustProxy, ['10.0.0.5', 'fd00::/8'])
  assert.deepEqual(config.tls, { certFile: join(cwd, 'cert.pem'), keyFile: join(cwd, 'key.pem') })
  assert.deepEqual(config.roles, ['worker', 'api'])
  assert.deepEqual(config.workspaceHeaders, ['X-One', 'X-Two'])
  assert.equal(config.metrics.token?.reveal(), 'metrics-token-of-mine')
  assert.equal(config.database.url?.reveal(), 'postgresql://app:pw@/yard?host=/run/postgresql')
  assert.equal(config.masterKey?.reveal(), masterKey)
  assert.equal(config.oidc.issuer, 'https://login.example.com/realms/yard')
  assert.equal(config.oidc.clientSecret?.reveal(), 'client-secret')
  assert.equal(config.demo, false)
  assert.equal(config.drainSeconds, 0)
})

test('every setting can be written in the file, lists as lists or separated by commas', (t) => {
  const { path: cwd, write } = folder(t)
  write(
    'yardmaster.yaml',
    [
      '# a comment',
      'data: /var/lib/yard',
      'roles: [api]',
      'workspaceHeaders: []',
      'trustProxy: 10.0.0.5,10.0.0.6',
      'demo: false',
      'log: &log',
      '  level: warn',
      'metrics:',
      '  token: "0123456789012345678"',
      'limits: { requestsPerSecond: 7 }',
      'host:',
    ].join('\n'),
  )
  const { config, sources } = loadConfig({ env: {}, cwd })
  assert.equal(config.data, '/var/lib/yard')
  assert.deepEqual([config.roles, config.workspaceHeaders], [['api'], []])
  assert.deepEqual(config.trustProxy, ['10.0.0.5', '10.0.0.6'])
  assert.deepEqual([config.demo, config.log.level, config.limits.requestsPerSecond], [false, 'warn', 7])
  assert.equal(config.metrics.token?.reveal(), '0123456789012345678')
  assert.equal(config.host, '127.0.0.1')
  assert.deepEqual(sources.get('metrics.token'), {
    kind: 'file',
    file: 'yardmaster.yaml',
    line: 10,
    key: 'metrics.token',
  })
})

test('an empty file, and one of comments only, says nothing', (t) => {
  const { path: cwd, write } = folder(t)
  for (const content of ['', '# nothing\n', '---\n']) {
    write('yardmaster.yaml', content)
    assert.equal(loadConfig({ env: {}, cwd }).config.port, 4400)
  }
})

test('an empty variable counts as not given', (t) => {
  const { path: cwd } = folder(t)
  const env = {
    YARDMASTER_PORT: '',
    DATABASE_URL: '',
    DATABASE_URL_FILE: '',
    YARDMASTER_CONFIG: '',
    YARDMASTER_OLD: '',
  }
  const { config } = loadConfig({ env, cwd })
  assert.equal(config.port, 4400)
  assert.equal(config.database.url, undefined)
})

test('a secret can be given as a file, by variable or by key, and its last line break is cut off', (t) => {
  const { path: cwd, write } = folder(t)
  const token = write('secrets/token', 'token-from-a-file-1\r\n')
  write('secrets/url', 'postgres://app:pw@db/yard\n\n')
  write('yardmaster.yaml', 'database:\n  urlFile: secrets/url\n', 0o644)
  const { config, sources } = loadConfig({ env: { YARDMASTER_METRICS_TOKEN_FILE: token }, cwd })
  assert.equal(config.metrics.token?.reveal(), 'token-from-a-file-1')
  assert.equal(config.database.url?.reveal(), 'postgres://app:pw@db/yard')
  assert.deepEqual(sources.get('database.url'), {
    kind: 'file',
    file: 'yardmaster.yaml',
    line: 2,
    key: 'database.urlFile',
    secretFile: join(cwd, 'secrets/url'),
  })
})

test('a variable wins over the file, whichever of value and file form the two have', (t) => {
  const { path: cwd, write } = folder(t)
  write('token', 'token-from-a-file-1')
  write('yardmaster.yaml', 'metrics: { tokenFile: missing }')
  const first = loadConfig({ env: { YARDMASTER_METRICS_TOKEN: 'token-from-variable' }, cwd })
  assert.equal(first.config.metrics.token?.reveal(), 'token-from-variable')
  write('yardmaster.yaml', 'metrics: { token: token-from-yaml-file }')
  const second = loadConfig({ env: { YARDMASTER_METRICS_TOKEN_FILE: 'token' }, cwd })
  assert.equal(second.config.metrics.token?.reveal(), 'token-from-a-file-1')
})

test('the configuration is frozen at every depth', (t) => {
  const { path: cwd } = folder(t)
  const { config } = loadConfig({ env: { YARDMASTER_METRICS_TOKEN: 'metrics-token-of-mine' }, cwd })
  const unfrozen: string[] = []
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) unfrozen.push(path)
    if (!(value instanceof Secret)) for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`)
  }
  visit(config, 'config')
  assert.deepEqual(unfrozen, [])
  assert.throws(() => (config.roles as string[]).push('api'), TypeError)
  assert.throws(() => Object.assign(config.database, { poolSize: 3 }), TypeError)
  // The next load is not touched by the freezing of this one.
  assert.deepEqual(loadConfig({ env: { YARDMASTER_ROLES: 'api' }, cwd }).config.roles, ['api'])
})

test('the public URL is made from host, port and TLS unless it is given', (t) => {
  const { path: cwd, write } = folder(t)
  const { cert, key } = selfSigned()
  const tls = { YARDMASTER_TLS_CERT_FILE: write('c', cert), YARDMASTER_TLS_KEY_FILE: write('k', key) }
  const urlOf = (env: Record<string, string>) => loadConfig({ env, cwd }).config.publicUrl
  assert.equal(urlOf({ YARDMASTER_HOST: '0.0.0.0' }), 'http://127.0.0.1:4400')
  assert.equal(urlOf({ YARDMASTER_HOST: '::', YARDMASTER_PORT: '80' }), 'http://127.0.0.1')
  assert.equal(urlOf({ YARDMASTER_HOST: '::1' }), 'http://[::1]:4400')
  assert.equal(urlOf({ ...tls, YARDMASTER_HOST: 'yard.internal' }), 'https://yard.internal:4400')
  assert.equal(urlOf({ YARDMASTER_PUBLIC_URL: 'https://yard.example.com:8443/' }), 'https://yard.example.com:8443')
})

test('with port 0 the port that was got goes into the made public URL, and never into a given one', (t) => {
  const { path: cwd } = folder(t)
  const made = withListeningPort(loadConfig({ env: { YARDMASTER_PORT: '0' }, cwd }).config, 51234)
  assert.deepEqual([made.port, made.publicUrl], [51234, 'http://127.0.0.1:51234'])
  assert.ok(Object.isFrozen(made))
  const env = { YARDMASTER_PORT: '0', YARDMASTER_PUBLIC_URL: 'https://yard.example.com' }
  const given = withListeningPort(loadConfig({ env, cwd }).config, 51234)
  assert.deepEqual([given.port, given.publicUrl], [51234, 'https://yard.example.com'])
})

test('what Kubernetes, the tests and runs put into the environment is passed over', (t) => {
  const { path: cwd } = folder(t)
  const { config } = loadConfig({
    cwd,
    env: {
      YARDMASTER_SERVICE_HOST: '10.1.2.3',
      YARDMASTER_SERVICE_PORT: '4400',
      YARDMASTER_SERVICE_PORT_HTTP: '4400',
      YARDMASTER_PORT: 'tcp://10.1.2.3:4400',
      YARDMASTER_PORT_4400_TCP: 'tcp://10.1.2.3:4400',
      YARDMASTER_PORT_4400_TCP_ADDR: '10.1.2.3',
      YARDMASTER_WORKER_PORT: 'tcp://10.1.2.4:4400',
      YARDMASTER_TEST_POSTGRES: 'x',
      YARDMASTER_RUN_ID: '42',
      YARDMASTER_COMMAND_ID: '43',
      YARDMASTER_RESOURCES_DIRECTORY: '/x',
      PATH: '/bin',
      DATABASE_HOST: 'x',
    },
  })
  assert.equal(config.port, 4400)
})

test('master keys are read in both alphabets, the current one first', () => {
  const [one, two] = [randomBytes(32), randomBytes(32)]
  const keys = parseMasterKeys(`${one.toString('base64')}, ${two.toString('base64url')}`)
  assert.deepEqual(
    keys.map((key) => key.toString('hex')),
    [one.toString('hex'), two.toString('hex')],
  )
})

test('a name that is no setting, or a secret, cannot be an option', (t) => {
  const { path: cwd } = folder(t)
  assert.throws(() => loadConfig({ env: {}, cwd, overrides: { prt: '1' } as never }), /prt is not a setting/)
  assert.throws(() => loadConfig({ env: {}, cwd, overrides: { masterKey: 'x' } }), /masterKey is a secret/)
})
