// The real commands as processes, on a real data folder that has no service and then has one.
import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  type Checks,
  type CommandLine,
  type Created,
  codeOf,
  commandLine,
  OLD_NODE,
  type Started,
} from '../../test/support/command-line.ts'
import { CAPABILITIES } from '../domain/capability.ts'

describe('a data folder of its own', () => {
  let line: CommandLine
  let service: Started | undefined
  let url = ''

  before(() => {
    line = commandLine()
  })
  after(async () => {
    // Not killed: the launcher must hand it on to the service.
    service?.child.kill('SIGTERM')
    await service?.ended
    line.remove()
  })

  test('before it is set up commands say so and make nothing, and doctor finds nothing wrong', async () => {
    const [refused, doctor] = await Promise.all([
      line.run(['keys', 'list', '--json']),
      line.jsonHere<Checks>(['doctor']),
    ])
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
    const again = await line.here(argv)
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

    await line.jsonHere(['keys', 'revoke', String(account.id)])
    const { data } = (await ask({ authorization: `Bearer ${account.key}` }, '{ apiKeyIdentity { isValid } }')) as {
      data: { apiKeyIdentity: { isValid: boolean } }
    }
    assert.equal(data.apiKeyIdentity.isValid, false)
    const [again, listed] = await Promise.all([
      line.here(['keys', 'revoke', String(account.id), '--json']),
      line.here(['keys', 'list']),
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
      line.here(['environments', 'create', 'x', '--repository', 'https://me:pa55w0rd@git.example.com/x.git']),
      line.here(['environments', 'set', 'production-eu', '--secret', 'NAME=pa55w0rd']),
      line.here(['environments', 'set', 'production-eu', '--secret', 'A', '--credential', 'token']),
      line.here(['environments', 'set', 'production-eu', '--variable', 'OK=1', '--unset-secret', 'NONE']),
      line.here(['environments', 'set', 'nowhere', '--variable', 'OK=1', '--json']),
    ])
    const messages = [/Leave the credentials out/, /takes the name alone/, /give each its file/, /No secret "NONE"/]
    for (const [index, { code, err }] of refused.entries()) {
      assert.equal(code, 1)
      assert.match(err, messages[index] ?? /No environment \\"nowhere\\"/)
      assert.equal(err.includes('pa55w0rd'), false)
    }
    const [listed] = await line.jsonHere<{ slug: string; variables: { name: string }[] }[]>(['environments', 'list'])
    assert.equal(
      listed?.variables.some(({ name }) => name === 'OK'),
      false,
    )
  })

  test('people are invited, listed and let in again, with links to the service that runs', async () => {
    const [invited, reset] = await Promise.all([
      line.json<{ link: string; accountType: string }>(['users', 'invite', 'ben@example.com', '--type', 'developer']),
      line.jsonHere<{ link: string }>(['users', 'reset', 'ANA@example.com']),
    ])
    assert.equal(invited.accountType, 'DEVELOPER')
    assert.ok(invited.link.startsWith(`${url}/invitation/ymt_`))
    assert.ok(reset.link.startsWith(`${url}/reset/ymt_`))
    const [users, last, unknown] = await Promise.all([
      line.jsonHere<{ email: string; status: string; accountType: string }[]>(['users', 'list']),
      line.here(['users', 'disable', 'ana@example.com', '--json']),
      line.here(['users', 'reset', 'nobody@example.com', '--json']),
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
    const { uid } = await line.jsonHere<{ uid: string }>(['workspaces', 'create', 'Finance'])
    const [asked, unknown, chosen, switches] = await Promise.all([
      line.here(['environments', 'list', '--json']),
      line.here(['environments', 'list', '--workspace', 'aaaaaaaaaaaaaaaa', '--json']),
      line.jsonHere<unknown[]>(['environments', 'list', '--workspace', uid]),
      line.jsonHere<{ enabled: boolean; workspace: string }>(['features', 'set', 'agents', 'off', '--workspace', uid]),
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
    for (const name of [
      'yardmaster',
      'git',
      'data folder',
      'disk',
      'isolation',
      'agent shell',
      'durability',
      'clock',
      'mail',
    ]) {
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

  test('a new master key goes before the old one in its file, and every secret is wrapped under it', async () => {
    const added = await line.jsonHere<{ kid: string; file: string; restart: string | null }>([
      ...['secrets', 'rotate', '--new-key'],
    ])
    assert.equal(added.restart, null)
    assert.equal(statSync(added.file).mode & 0o777, 0o600)
    assert.equal(readFileSync(added.file, 'utf8').trim().split('\n').length, 2)
    const done = await line.jsonHere<{ kid: string; secrets: number }>(['secrets', 'rotate'])
    assert.deepEqual([done.kid, done.secrets], [added.kid, 3])
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
      line.here(['audit', 'verify', '--file', 'audit.jsonl']),
      line.here(['audit', 'verify', '--file', 'changed.jsonl']),
      line.here(['audit', 'verify', '--file', 'cut.jsonl', '--json']),
      line.here(['audit', 'verify', '--file', 'none.jsonl', '--json']),
    ])
    assert.equal(whole.code, 0, whole.out)
    assert.equal(changed.code, 1)
    assert.match(changed.out, /- row \d+ was changed, or what stands before it was/)
    assert.equal(cut.code, 1)
    assert.match((JSON.parse(cut.out) as { faults: string[] }).faults[0]!, /line 4 is row 5, where row 4 belongs/)
    assert.equal(codeOf(missing.err), 'INVALID_INPUT')

    const beyond = { at: '2026-01-01T00:00:00.000Z', id: verified.rows + 1, mac: '00'.repeat(32) }
    appendFileSync(join(line.data, 'audit-heads.jsonl'), `${JSON.stringify(beyond)}\n`)
    const tampered = await line.here(['audit', 'verify'])
    assert.equal(tampered.code, 1)
    assert.match(tampered.out, /is gone: the newest rows were cut off/)
  })
})
