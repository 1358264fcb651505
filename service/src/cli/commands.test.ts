// The real commands as processes, on real data folders: one that has no service and then has one, and one whose
// database is somewhere else.
import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type CommandLine, commandLine, OLD_NODE, type Started } from '../../test/support/command-line.ts'
import { CAPABILITIES } from '../domain/capability.ts'
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts'

interface Created {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly key: string
  readonly secret?: string
  readonly capabilities: readonly string[]
  readonly expiresAt: string | null
}

interface Checks {
  readonly ok: boolean
  readonly checks: readonly { readonly name: string; readonly status: string; readonly message: string }[]
}

const codeOf = (err: string): string => (JSON.parse(err) as { error: { code: string } }).error.code

describe('a data folder of its own', () => {
  let line: CommandLine
  let service: Started | undefined
  let url = ''

  before(() => {
    line = commandLine()
  })
  after(async () => {
    service?.child.kill('SIGKILL')
    await service?.ended
    line.remove()
  })

  test('before it is set up commands say so and make nothing, and doctor finds nothing wrong', async () => {
    const [refused, doctor] = await Promise.all([line.run(['keys', 'list', '--json']), line.json<Checks>(['doctor'])])
    assert.equal(refused.code, 1)
    assert.equal(codeOf(refused.err), 'NOT_FOUND')
    assert.match(refused.err, /Nothing is set up in .*yardmaster setup/)
    assert.equal(doctor.ok, true)
    assert.equal(existsSync(line.data), false)
  })

  test('setup makes the account, a workspace, an administrator and a link, and refuses to do it again', async () => {
    const argv = ['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com']
    const done = await line.json<{ workspace: { uid: string }; signInLink: string }>(argv)
    assert.match(done.workspace.uid, /^[a-z0-9]{16}$/)
    assert.match(done.signInLink, /^http:\/\/127\.0\.0\.1:4400\/welcome\/ymt_[A-Za-z0-9]{43}$/)
    const again = await line.run(argv)
    assert.equal(again.code, 1)
    assert.match(again.err, /^yardmaster: This deployment is set up already\..*\n$/)
    assert.equal(again.out, '')
    assert.equal(statSync(line.data).mode & 0o777, 0o700)
  })

  test('a service starts beside the set-up on the pinned Node and makes no demo', async () => {
    service = line.start(['serve', '--port', '0'], { node: OLD_NODE })
    url = (await service.says(/^Yardmaster is running at (\S+)$/m))[1]!
    assert.deepEqual(
      (await line.json<{ name: string }[]>(['workspaces', 'list'])).map(({ name }) => name),
      ['Analytics'],
    )
  })

  const ask = async (headers: Record<string, string>, query: string): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    })
    return (await response.json()) as Record<string, unknown>
  }

  test('keys of every kind are printed once, in one shape, and work at once', async () => {
    const [account, pair, bound] = await Promise.all([
      line.json<Created>(['keys', 'create', '--kind', 'account', '--name', 'deploy']),
      line.json<Created>(['keys', 'create', '--kind', 'pair', '--expires-days', '3']),
      line.json<Created>([
        'keys',
        'create',
        '--kind',
        'workspace',
        '--client',
        'paradime',
        '--capability',
        'users:read',
      ]),
    ])
    assert.deepEqual(Object.keys(account), ['id', 'name', 'kind', 'key', 'capabilities', 'expiresAt'])
    assert.deepEqual([account.name, account.kind, account.expiresAt], ['deploy', 'account', null])
    assert.deepEqual(account.capabilities, CAPABILITIES)
    assert.deepEqual(Object.keys(pair), ['id', 'name', 'kind', 'key', 'secret', 'capabilities', 'expiresAt'])
    assert.match(pair.expiresAt ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
    assert.match(bound.key, /^prdm_wsp_/)
    assert.deepEqual(bound.capabilities, ['users:read'])

    const query = '{ apiKeyIdentity { isValid capabilities } listWorkspaces { workspaces { name } } }'
    const workspaces = { workspaces: [{ name: 'Analytics' }] }
    const credentials: Record<string, string>[] = [
      { authorization: `Bearer ${account.key}` },
      { 'x-api-key': pair.key, 'x-api-secret': pair.secret! },
      { authorization: `Bearer ${bound.key}` },
    ]
    for (const headers of credentials) {
      const { data } = (await ask(headers, query)) as { data: Record<string, { isValid: boolean }> }
      assert.equal(data.apiKeyIdentity?.isValid, true)
      assert.deepEqual(data.listWorkspaces, workspaces)
    }

    await line.json(['keys', 'revoke', String(account.id)])
    const { data } = (await ask({ authorization: `Bearer ${account.key}` }, '{ apiKeyIdentity { isValid } }')) as {
      data: { apiKeyIdentity: { isValid: boolean } }
    }
    assert.equal(data.apiKeyIdentity.isValid, false)
    const [again, listed] = await Promise.all([
      line.run(['keys', 'revoke', String(account.id), '--json']),
      line.run(['keys', 'list']),
    ])
    assert.equal(codeOf(again.err), 'NOT_FOUND')
    assert.match(listed.out, /^ID +NAME +KIND +BEGINS/)
    assert.match(listed.out, /\n\d+ +deploy +account +ym_acc_[A-Za-z0-9]{6} /)
    for (const { key, secret } of [account, pair, bound]) {
      assert.equal(listed.out.includes(key), false)
      assert.equal(secret !== undefined && listed.out.includes(secret), false)
    }
  })

  test('the values of secrets come from files and standard input, and are in no output', async () => {
    const typed = 'typed-into-the-terminal'
    const filed = 'kept-in-a-file-for-git'
    writeFileSync(join(line.folder, 'token'), `${filed}\n`)
    writeFileSync(join(line.folder, 'profiles.yml'), 'shop: {}\n')
    const debug = { YARDMASTER_LOG_LEVEL: 'trace' }
    const made = await line.json<{ slug: string }>([
      ...['environments', 'create', 'Production EU', '--repository', 'https://git.example.com/shop.git'],
      ...['--python-package', 'dbt-core==1.10.0', 'dbt-postgres', '--exclude', '*.csv'],
    ])
    assert.equal(made.slug, 'production-eu')
    const outputs = await Promise.all([
      line.run(['environments', 'set', 'production-eu', '--secret', 'PASSWORD'], { input: `${typed}\n`, env: debug }),
      line.run(
        [
          ...['environments', 'set', 'production-eu', '--variable', 'TARGET=prod', 'LIMIT=1=2'],
          ...['--credential', 'token', '--from-file', 'token', '--secret-file', 'profiles.yml=profiles.yml'],
        ],
        { env: debug },
      ),
    ])
    for (const { code, err } of outputs) assert.equal(code, 0, err)
    const [listed] = await line.json<
      { isDefault: boolean; variables: object[]; secrets: { kind: string; name: string }[] }[]
    >(['environments', 'list'])
    assert.equal(listed?.isDefault, true)
    assert.deepEqual(listed?.variables, [
      { name: 'LIMIT', value: '1=2' },
      { name: 'TARGET', value: 'prod' },
    ])
    assert.deepEqual(
      listed?.secrets.map(({ kind, name }) => `${kind}:${name}`),
      ['credential:token', 'file:profiles.yml', 'variable:PASSWORD'],
    )
    const all = JSON.stringify([outputs, listed])
    for (const value of [typed, filed]) assert.equal(all.includes(value), false)
  })

  test('what would put a secret among the arguments, or is not whole, is refused and changes nothing', async () => {
    const refused = await Promise.all([
      line.run(['environments', 'create', 'x', '--repository', 'https://me:pa55w0rd@git.example.com/x.git']),
      line.run(['environments', 'set', 'production-eu', '--secret', 'NAME=pa55w0rd']),
      line.run(['environments', 'set', 'production-eu', '--secret', 'A', '--credential', 'token']),
      line.run(['environments', 'set', 'production-eu', '--variable', 'OK=1', '--unset-secret', 'NONE']),
      line.run(['environments', 'set', 'nowhere', '--variable', 'OK=1', '--json']),
    ])
    const messages = [/Leave the credentials out/, /takes the name alone/, /give each its file/, /No secret "NONE"/]
    for (const [index, { code, err }] of refused.entries()) {
      assert.equal(code, 1)
      assert.match(err, messages[index] ?? /No environment \\"nowhere\\"/)
      assert.equal(err.includes('pa55w0rd'), false)
    }
    const [listed] = await line.json<{ slug: string; variables: { name: string }[] }[]>(['environments', 'list'])
    assert.equal(
      listed?.variables.some(({ name }) => name === 'OK'),
      false,
    )
  })

  test('people are invited, listed and let in again, with links to the service that runs', async () => {
    const [invited, reset] = await Promise.all([
      line.json<{ link: string; accountType: string }>(['users', 'invite', 'ben@example.com', '--type', 'developer']),
      line.json<{ link: string }>(['users', 'reset', 'ANA@example.com']),
    ])
    assert.equal(invited.accountType, 'DEVELOPER')
    assert.ok(invited.link.startsWith(`${url}/invitation/ymt_`))
    assert.ok(reset.link.startsWith(`${url}/reset/ymt_`))
    const [users, last, unknown] = await Promise.all([
      line.json<{ email: string; status: string; accountType: string }[]>(['users', 'list']),
      line.run(['users', 'disable', 'ana@example.com', '--json']),
      line.run(['users', 'reset', 'nobody@example.com', '--json']),
    ])
    assert.deepEqual(
      users.map(({ email, status, accountType }) => [email, status, accountType]),
      [
        ['ana@example.com', 'active', 'ADMIN'],
        ['ben@example.com', 'invited', 'DEVELOPER'],
      ],
    )
    assert.equal(codeOf(last.err), 'CONFLICT')
    assert.equal(codeOf(unknown.err), 'NOT_FOUND')
  })

  test('with a second workspace the commands ask which one is meant', async () => {
    const { uid } = await line.json<{ uid: string }>(['workspaces', 'create', 'Finance'])
    const [asked, unknown, chosen, switches] = await Promise.all([
      line.run(['environments', 'list', '--json']),
      line.run(['environments', 'list', '--workspace', 'aaaaaaaaaaaaaaaa', '--json']),
      line.json<unknown[]>(['environments', 'list', '--workspace', uid]),
      line.json<{ enabled: boolean; workspace: string }>(['features', 'set', 'agents', 'off', '--workspace', uid]),
    ])
    assert.equal(codeOf(asked.err), 'WORKSPACE_REQUIRED')
    assert.match(asked.err, new RegExp(`--workspace UID, of .*${uid} \\(Finance\\)`))
    assert.equal(codeOf(unknown.err), 'NOT_FOUND')
    assert.deepEqual(chosen, [])
    assert.deepEqual([switches.enabled, switches.workspace], [false, uid])
  })

  test('doctor sees the service and what it stands on', async () => {
    const { code, out } = await line.run(['doctor', '--json'])
    const { ok, checks } = JSON.parse(out) as Checks
    assert.equal(code, 0)
    assert.equal(ok, true)
    const said = new Map(checks.map((one) => [one.name, one]))
    for (const name of ['yardmaster', 'git', 'data folder', 'disk', 'isolation', 'durability', 'clock', 'mail']) {
      assert.ok(said.has(name), name)
    }
    assert.match(said.get('database')?.message ?? '', /^embedded PostgreSQL 18/)
    assert.match(said.get('migrations')?.message ?? '', /^current/)
    assert.match(said.get('audit owner')?.message ?? '', /\(yardmaster\) does not own the audit table/)
    assert.match(said.get('audit log')?.message ?? '', /^append-only, \d+ rows, head outside the database/)
    assert.ok(said.get('service')?.message.startsWith(`running at ${url} `))
  })

  test('a signal to the launcher stops the service once, and its exit code comes back', async () => {
    // Twice, as a terminal and npm send it: still one signal, so that the service drains.
    service!.child.kill('SIGTERM')
    service!.child.kill('SIGTERM')
    const { code, err } = await service!.ended
    assert.equal(code, 0)
    assert.match(err, /"msg":"stopped"/)
    assert.doesNotMatch(err, /second signal: ending now/)
  })

  test('the audit log verifies, and so does its export without the database; a change in either is found', async () => {
    const verified = await line.json<{ ok: boolean; rows: number; witnesses: number; head: { mac: string } }>([
      'audit',
      'verify',
    ])
    assert.equal(verified.ok, true)
    assert.ok(verified.rows > 10 && verified.witnesses > 1)
    await line.json(['audit', 'export', '--output', 'audit.jsonl'])
    const file = join(line.folder, 'audit.jsonl')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    assert.equal(lines.length, verified.rows)
    assert.equal((JSON.parse(lines.at(-1)!) as { mac: string }).mac, verified.head.mac)

    writeFileSync(join(line.folder, 'changed.jsonl'), lines.join('\n').replace('ana@example.com', 'eve@example.com'))
    writeFileSync(join(line.folder, 'cut.jsonl'), [...lines.slice(0, 3), ...lines.slice(4)].join('\n'))
    const [whole, changed, cut, missing] = await Promise.all([
      line.run(['audit', 'verify', '--file', 'audit.jsonl']),
      line.run(['audit', 'verify', '--file', 'changed.jsonl']),
      line.run(['audit', 'verify', '--file', 'cut.jsonl', '--json']),
      line.run(['audit', 'verify', '--file', 'none.jsonl', '--json']),
    ])
    assert.equal(whole.code, 0, whole.out)
    assert.equal(changed.code, 1)
    assert.match(changed.out, /- row \d+ was changed, or what stands before it was/)
    assert.equal(cut.code, 1)
    assert.match((JSON.parse(cut.out) as { faults: string[] }).faults[0]!, /line 4 is row 5, where row 4 belongs/)
    assert.equal(codeOf(missing.err), 'INVALID_INPUT')

    const beyond = { at: '2026-01-01T00:00:00.000Z', id: verified.rows + 1, mac: '00'.repeat(32) }
    appendFileSync(join(line.data, 'audit-heads.jsonl'), `${JSON.stringify(beyond)}\n`)
    const tampered = await line.run(['audit', 'verify'])
    assert.equal(tampered.code, 1)
    assert.match(tampered.out, /is gone: the newest rows were cut off/)
  })
})

describe('a database somewhere else', () => {
  let line: CommandLine
  let folder: string
  let stop: () => Promise<void>
  let owner = ''

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'yardmaster-external-'))
    // Its own PostgreSQL stands in for a server of somebody's: the commands know its address and nothing else.
    const server = await startEmbeddedPostgres({
      dataFolder: folder,
      purpose: 'command',
      log: { info: () => {}, warn: () => {}, error: () => {} },
    })
    stop = () => server.stop()
    const address = (connection: typeof server.service): string => {
      if ('url' in connection) return connection.url
      const { user, password, database, host, port } = connection
      return `postgres://${user}:${password}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
    }
    owner = address(server.owner)
    line = commandLine({
      DATABASE_URL: address(server.service),
      YARDMASTER_DATABASE_OWNER_URL: owner,
      YARDMASTER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    })
  })
  after(async () => {
    await stop()
    line.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test('set-up, keys and checks work there, with a master key that is given', async () => {
    const empty = await line.run(['workspaces', 'list'])
    assert.equal(empty.code, 1)
    assert.match(empty.err, /Nothing is set up in the database of DATABASE_URL/)
    await line.json(['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'])
    const [key, doctor, rotate] = await Promise.all([
      line.json<Created>(['keys', 'create', '--kind', 'workspace']),
      line.json<Checks>(['doctor']),
      line.run(['secrets', 'rotate', '--new-key']),
    ])
    assert.match(key.key, /^ym_wsp_/)
    assert.match(doctor.checks.find(({ name }) => name === 'database')?.message ?? '', /^external PostgreSQL/)
    assert.match(
      doctor.checks.find(({ name }) => name === 'master key')?.message ?? '',
      /^given by YARDMASTER_MASTER_KEY/,
    )
    assert.equal(rotate.code, 1)
    assert.match(rotate.err, /given by YARDMASTER_MASTER_KEY.*openssl rand -base64 32/)
    assert.equal(existsSync(join(line.data, 'postgres')), false)
    const verified = await line.json<{ ok: boolean }>(['audit', 'verify'])
    assert.equal(verified.ok, true)
  })

  test('secrets are wrapped anew under a key that was put before the old one', async () => {
    await line.json(['environments', 'create', 'production'])
    await line.json(['environments', 'set', 'production', '--secret', 'PASSWORD'], { input: 'correct horse' })
    const keys = [Buffer.alloc(32, 9), Buffer.alloc(32, 7)].map((key) => key.toString('base64'))
    const both = { env: { YARDMASTER_MASTER_KEY: keys.join(',') } }
    assert.equal((await line.json<{ secrets: number }>(['secrets', 'rotate'], both)).secrets, 1)
    assert.equal((await line.json<{ secrets: number }>(['secrets', 'rotate'], both)).secrets, 0)
  })

  test('doctor says when the role of the service could take the protection of the audit log away', async () => {
    const { checks } = await line.json<Checks>(['doctor'], { env: { DATABASE_URL: owner } })
    assert.deepEqual(
      checks.filter(({ name }) => name === 'audit owner').map(({ status }) => status),
      ['warn'],
    )
  })

  test('a server that does not answer is said in one sentence, without the password', async () => {
    const env = { DATABASE_URL: 'postgres://yard:hunter2hunter2@127.0.0.1:1/yard', YARDMASTER_LOG_LEVEL: 'debug' }
    const [refused, doctor] = await Promise.all([
      line.run(['keys', 'list', '--json'], { env }),
      line.run(['doctor'], { env }),
    ])
    assert.equal(refused.code, 1)
    assert.equal(codeOf(refused.err), 'UNAVAILABLE')
    assert.equal(doctor.code, 1)
    assert.match(doctor.out, /\nfail {2}database /)
    assert.equal(JSON.stringify([refused, doctor]).includes('hunter2'), false)
  })
})
