/**
 * More than a hundred secrets of every kind go through the real service, which logs at debug level; afterwards none of
 * them is in its data folder, its WAL, its logs or a dump, in any of some fifteen forms.
 *
 * What is meant to be readable is left out, and only that: `first-key` (written for the owner alone), `master.key`
 * (the same, and not in the database's folder), the banner of the first start on stdout, and on stderr the link of a
 * mail where no mail server is set up.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { newPublicKeyId, newSecret } from '../service/src/domain/ids.ts'
import { formatKey, formatToken } from '../service/src/domain/key.ts'
import { type TestSmtp, testSmtp } from '../service/test/support/smtp.ts'
import { formsOf, searchFor } from './support/needles.ts'
import { awkward, dump, linkIn, Planted, plain, postForm, report, secretOf } from './support/planted.ts'
import { graphql, type ServiceProcess, startProcess } from './support/service.ts'

describe('secrets that went through the service', () => {
  const planted = new Planted()
  const canary = `canary-${randomBytes(15).toString('hex')}`
  let smtp: TestSmtp
  let service: ServiceProcess
  let dumped: Buffer

  const ask = (query: string, variables: object = {}, headers: Record<string, string> = {}, key = service.key) =>
    graphql(service.url, key, query, { ...variables }, { 'x-service-workspace': service.workspaceUid, ...headers })

  async function done(query: string, variables: object = {}, headers: Record<string, string> = {}) {
    const { status, body } = await ask(query, variables, headers)
    assert.deepEqual([status, body.errors], [200, undefined])
    return Object.values(body.data!)[0] as Record<string, string>
  }

  before(async () => {
    const masterKey = planted.add('master key as bytes', randomBytes(32))
    const mailPassword = planted.add('password of the mail server', plain('smtp'))
    smtp = await testSmtp({
      authOptional: false,
      allowInsecureAuth: true,
      authMethods: ['PLAIN', 'LOGIN'],
      onAuth: (auth, _session, callback) => {
        const good = auth.username === 'mailer' && auth.password === mailPassword
        callback(good ? null : new Error('wrong password'), { user: 'mailer' })
      },
      onRcptTo: ({ address }, _session, callback) =>
        callback(address.startsWith('bounce') ? new Error(`no mailbox ${address} here`) : null),
    })
    service = await startProcess({
      env: {
        YARDMASTER_LOG_LEVEL: 'debug',
        YARDMASTER_SMTP_URL: smtp.url.replace('//', `//mailer:${encodeURIComponent(mailPassword)}@`),
        YARDMASTER_METRICS_TOKEN: planted.add('token of the metrics', plain('metrics')),
        YARDMASTER_MASTER_KEY: planted.add('master key', masterKey.toString('base64')),
        YARDMASTER_REQUESTS_PER_SECOND: '100000',
        YARDMASTER_REQUEST_BURST: '1000000',
        YARDMASTER_BAD_CREDENTIALS_PER_MINUTE: '100000',
        YARDMASTER_SIGN_INS_PER_MINUTE: '100000',
      },
    })
    planted.key('first key', service.key)
  })
  after(async () => {
    await service?.stop()
    await smtp?.[Symbol.asyncDispose]()
  })

  test('the searcher finds every form of a value, wherever it stands, and the ends of its bytes', () => {
    const value = awkward('needle')
    const search = searchFor([{ name: 'x', value }])
    for (const [form, bytes] of formsOf(value)) {
      for (const text of [bytes, Buffer.concat([bytes, Buffer.alloc(5)]), Buffer.concat([randomBytes(1000), bytes])]) {
        assert.ok(
          search.in(text, '').some((one) => one.form === form),
          form,
        )
      }
      assert.deepEqual(
        search.in(bytes.subarray(1), '').filter((one) => one.form === form),
        [],
      )
    }
    for (const before of ['', 'a', 'ab', 'abc']) {
      const text = Buffer.from(`${before}${value}tail`).toString('base64')
      assert.equal(search.in(Buffer.from(text), '').length > 0, true, `base64 behind ${before.length} bytes`)
    }
    assert.deepEqual(search.in(randomBytes(1_000_000), ''), [])
  })

  test('keys of every kind are made, used, and refused', async () => {
    const create = `mutation ($key: ApiKeyInput!) { createApiKey(key: $key) { id key secret } }`
    const kinds = ['ACCOUNT', 'WORKSPACE', 'PAIR'] as const
    for (let number = 0; number < 27; number++) {
      const kind = kinds[number % 3]!
      const bound = kind === 'ACCOUNT' ? {} : { workspaceUid: service.workspaceUid }
      const client = kind !== 'PAIR' && number % 6 < 2 ? { client: 'paradime' } : {}
      const input = { key: { name: `key ${number}`, kind, ...bound, ...client } }
      // A few are asked for twice with one Idempotency-Key: their answer lies in the database.
      const again: Record<string, string> = number < 6 ? { 'idempotency-key': `once-${number}` } : {}
      const made = await done(create, input, again)
      if (number < 6) assert.deepEqual(await done(create, input, again), made)
      if (kind === 'PAIR') planted.key('secret of a pair', made.secret!)
      else planted.key(`${kind} key`, made.key!)
      const headers: Record<string, string> =
        kind === 'PAIR'
          ? { 'x-api-key': made.key!, 'x-api-secret': made.secret! }
          : { authorization: `Bearer ${made.key}` }
      const { body } = await ask('{ listUsers { ok } apiKeyIdentity { isValid } }', {}, headers, '')
      assert.deepEqual(body.data, { listUsers: { ok: true }, apiKeyIdentity: { isValid: true } })
      if (number % 9 === 0) {
        await done('mutation ($id: Int!) { revokeApiKey(id: $id) { ok } }', { id: made.id })
        assert.equal((await ask('{ listUsers { ok } }', {}, headers, '')).status, 401)
      }
    }
    for (let number = 0; number < 5; number++) {
      const { key } = formatKey('account', null, newPublicKeyId(), newSecret())
      planted.key('unknown key', key)
      assert.equal((await ask('{ listUsers { ok } }', {}, {}, key)).status, 401)
      assert.equal(
        (await ask('mutation { inviteUser(email: "a@b.c", accountType: ADMIN) { ok } }', {}, {}, key)).status,
        401,
      )
      const spoilt = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`
      assert.equal((await ask('{ listUsers { ok } }', {}, {}, spoilt)).status, 401)
    }
  })

  test('keys and tokens are sent in all the wrong places', async () => {
    const wrong = () =>
      planted.key('key in a wrong place', formatKey('account', null, newPublicKeyId(), newSecret()).key)
    assert.equal((await ask(`{ listUsers(key: "${wrong()}") { ok } }`)).status, 400)
    assert.equal((await ask(`{ ${wrong()} }`)).status, 400)
    assert.equal((await ask(`{ listUsers { ok } # ${wrong()}`)).status, 400)
    assert.equal(
      (await ask('query ($limit: Int) { getAuditLogs(limit: $limit) { ok } }', { limit: wrong() })).status,
      400,
    )
    const invite = 'mutation ($email: String!) { inviteUser(email: $email, accountType: ADMIN) { ok } }'
    assert.equal((await ask(invite, { email: wrong() })).body.errors?.[0]?.extensions?.code, 'INVALID_INPUT')
    assert.equal((await ask(invite, { email: wrong() }, { 'idempotency-key': 'wrong-email' })).status, 200)
    assert.equal((await ask('{ listUsers { ok } }', {}, { 'x-service-workspace': wrong() })).status, 403)
    assert.equal((await ask('{ listUsers { ok } }', {}, { 'x-paradime-workspace': wrong() })).status, 400)
    assert.equal(
      (await ask('{ environments { ok } }', {}, { authorization: `Basic ${btoa(`x:${wrong()}`)}` }, '')).status,
      401,
    )
    const remove = 'mutation ($name: String!) { deleteVariable(name: $name) { ok } }'
    assert.equal((await ask(remove, { name: wrong() })).body.errors?.[0]?.extensions?.code, 'NOT_FOUND')
    assert.equal((await fetch(`${service.url}/${wrong()}?key=${wrong()}`)).status, 404)
    assert.equal((await fetch(`${service.url}/graphql?key=${wrong()}`)).status, 405)
    assert.equal(
      (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${wrong()}` } })).status,
      401,
    )
    const body = `{"query": "{ listUsers { ok } }", "key": "${wrong()}"`
    const headers = { 'content-type': 'application/json' }
    assert.equal((await fetch(`${service.url}/graphql`, { method: 'POST', headers, body })).status, 400)
    for (const path of ['invitation', 'welcome', 'reset']) {
      const token = planted.add('unknown token', formatToken(newSecret()))
      assert.ok((await fetch(`${service.url}/${path}/${token}`)).status >= 400)
      assert.ok(
        (await postForm(service.url, `/${path}/${token}`, { password: awkward('pw'), again: 'x' })).status >= 400,
      )
    }
    const metrics = planted.needles.find((one) => one.name.startsWith('token of the metrics'))!.value
    assert.equal(
      (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${metrics}` } })).status,
      200,
    )
  })

  test('people are invited by mail, choose passwords, sign in, fail to, and reset', async () => {
    const welcome = /\/welcome\/(ymt_\w+)/.exec(service.stdout())![1]!
    planted.add('sign-in link', welcome)
    assert.equal((await fetch(`${service.url}/welcome/${welcome}`)).status, 200)
    planted.session(await postForm(service.url, `/welcome/${welcome}`, {}))

    const invite = 'mutation ($email: String!) { inviteUser(email: $email, accountType: ADMIN) { ok } }'
    for (let number = 0; number < 8; number++) {
      const email = `person-${number}@example.com`
      // The first link is renewed before it is used.
      if (number === 0) {
        await done(invite, { email })
        planted.add('renewed invitation', await linkIn(smtp, email, 'invitation', 1))
      }
      await done(invite, { email })
      const token = planted.add('invitation', await linkIn(smtp, email, 'invitation', number === 0 ? 2 : 1))
      assert.equal((await fetch(`${service.url}/invitation/${token}`)).status, 200)
      const password = planted.add('password', awkward('password'))
      const short = { name: 'P', password: 'short', again: 'short' }
      assert.equal((await postForm(service.url, `/invitation/${token}`, short)).status, 400)
      const joined = await postForm(service.url, `/invitation/${token}`, {
        name: `Person ${number}`,
        password,
        again: password,
      })
      const session = planted.session(joined)
      planted.session(await postForm(service.url, '/signin', { email, password }))
      if (number < 4) await personalKey(session)
      if (number === 4) {
        const next = planted.add('changed password', awkward('changed'))
        const fields = { current: password, password: next, again: next }
        assert.equal((await postForm(service.url, '/account/password', fields, session)).status, 303)
      }
      if (number > 5) {
        await postForm(service.url, '/reset', { email })
        const link = planted.add('reset link', await linkIn(smtp, email, 'reset', 1))
        const reset = planted.add('reset password', awkward('reset'))
        planted.session(await postForm(service.url, `/reset/${link}`, { password: reset, again: reset }))
      }
    }
    for (let number = 0; number < 4; number++) {
      const password = planted.add('wrong password', awkward('wrong'))
      assert.equal((await postForm(service.url, '/signin', { email: 'person-1@example.com', password })).status, 401)
      const typed = planted.add('password in the e-mail field', number % 2 ? awkward('typed') : plain('typed'))
      assert.equal((await postForm(service.url, '/signin', { email: typed, password: 'x' })).status, 401)
      await postForm(service.url, '/reset', { email: planted.add('password in the reset field', awkward('reset')) })
    }
    // The server refuses this one: the mail is kept for later, and the log says why.
    await done(invite, { email: 'bounce@example.com' })
    while (!service.stderr().includes('mail was not sent')) await pause(5)
  })

  async function personalKey(session: string): Promise<void> {
    const headers = { cookie: `yardmaster_session=${session}`, 'x-yardmaster-console': '1', origin: service.url }
    const create = 'mutation { createPersonalKey(key: { name: "laptop" }) { key } }'
    const { body } = await ask(create, {}, headers, '')
    const { key } = body.data!.createPersonalKey as { key: string }
    planted.key('personal key', key)
    assert.equal((await ask('{ listUsers { ok } }', {}, {}, key)).status, 200)
  }

  test('secrets and clone addresses are set, changed, refused and deleted', async () => {
    const environment = 'mutation ($e: EnvironmentInput!) { createEnvironment(environment: $e) { slug } }'
    const clone = (token: string) => `https://ana:${encodeURIComponent(token)}@git.example.com/team/repo.git`
    for (let number = 0; number < 5; number++) {
      const token = planted.add('token in a clone address', number % 2 ? awkward('clone') : plain('glpat'))
      const address = number === 0 ? `https://${encodeURIComponent(token)}@git.example.com/r` : clone(token)
      const { slug } = await done(environment, { e: { displayName: `E${number}`, repositoryUrl: address } })
      const bad = planted.add('token in a refused address', plain('bad'))
      const hostile = { e: { repositoryUrl: `ext::https://x:${bad}@h/r`, displayName: 'x' } }
      assert.equal((await ask(environment, hostile, { 'idempotency-key': `bad-${number}` })).body.errors?.length, 1)
      const unknown = `mutation ($e: EnvironmentInput!) { updateEnvironment(slug: "none", environment: $e) { slug } }`
      await ask(unknown, { e: { repositoryUrl: clone(planted.add('token for nobody', plain('nobody'))) } })
      const later = planted.add('token of a changed address', plain('later'))
      const update =
        'mutation ($s: String!, $e: EnvironmentInput!) { updateEnvironment(slug: $s, environment: $e) { slug } }'
      await done(update, { s: slug, e: { repositoryUrl: clone(later) } })
      await plantSecrets(slug!, number)
    }
    await done('mutation ($v: String!) { setVariable(name: "CANARY", value: $v) { ok } }', { v: canary })
  })

  async function plantSecrets(slug: string, number: number): Promise<void> {
    const set =
      'mutation ($s: String, $k: SecretKind!, $n: String!, $v: String!) { setSecret(environment: $s, kind: $k, name: $n, value: $v) { ok } }'
    const long = () => `${awkward('file')}\n`.repeat(200)
    const all = [
      { s: slug, k: 'VARIABLE', n: 'DB_PASSWORD', v: planted.add('secret variable', awkward('variable')) },
      { s: slug, k: 'FILE', n: 'profiles.yml', v: planted.add('secret file', awkward('file')) },
      { s: slug, k: 'CREDENTIAL', n: 'ssh_key', v: planted.add('credential', plain('-----BEGIN KEY-----')) },
      { s: null, k: 'VARIABLE', n: `SHARED_${number}`, v: planted.add('secret of the workspace', plain('shared')) },
    ]
    for (const variables of all) await done(set, variables)
    // What is large may be compressed where it lies: its beginning is looked for in the dump, which is not.
    const large = long()
    planted.add('large secret file', large.slice(0, 60))
    await done(set, { s: slug, k: 'FILE', n: 'large.txt', v: large }, { 'idempotency-key': `large-${number}` })
    const changed = planted.add('changed secret', plain('changed'))
    await done(set, { s: slug, k: 'VARIABLE', n: 'DB_PASSWORD', v: changed })
    await done('mutation ($s: String) { deleteSecret(environment: $s, kind: FILE, name: "profiles.yml") { ok } }', {
      s: slug,
    })
    const refused = { s: slug, k: 'VARIABLE', n: 'LD_PRELOAD', v: planted.add('secret of a bad name', plain('bad')) }
    assert.equal((await ask(set, refused)).body.errors?.[0]?.extensions?.code, 'INVALID_INPUT')
  }

  test('webhooks and integrations are made, changed, tried and refused', async () => {
    const hook = { url: 'https://127.0.0.1:9/', events: ['bolt.run.completed'] }
    const create = 'mutation ($hook: WebhookInput!) { createWebhook(webhook: $hook) { id secret } }'
    const made = await done(create, { hook }, { 'idempotency-key': 'hook' })
    planted.add('secret of a webhook', made.secret!.replace('whsec_', ''))
    const rotate = 'mutation ($id: Int!) { rotateWebhookSecret(id: $id) { secret } }'
    planted.add('new secret of a webhook', (await done(rotate, { id: made.id })).secret!.replace('whsec_', ''))
    await done('mutation ($id: Int!) { testWebhook(id: $id) { deliveryId } }', { id: made.id })
    const secret = (name: string, value: string) => [{ name, value }]
    const integrate = `mutation ($kind: IntegrationKind!, $secrets: [IntegrationSettingInput!]) {
      createIntegration(kind: $kind, secrets: $secrets) { id } }`
    const slack = secret('token', planted.add('token of an integration', plain('xoxb')))
    const { id } = await done(integrate, { kind: 'SLACK', secrets: slack })
    const fresh = secret('token', planted.add('changed token', plain('xoxb')))
    const update = `mutation ($id: Int!, $secrets: [IntegrationSettingInput!]) {
      updateIntegration(id: $id, secrets: $secrets) { ok } }`
    await done(update, { id, secrets: fresh })
    const wrong = secret('token', planted.add('token with a space', `${plain('bad')} x`))
    assert.equal(
      (await ask(integrate, { kind: 'PAGERDUTY', secrets: wrong })).body.errors?.[0]?.extensions?.code,
      'INVALID_INPUT',
    )
  })

  test('models and servers of agents are set, tried and refused', async () => {
    const set = `mutation ($name: String!, $provider: ModelProvider, $settings: [IntegrationSettingInput!],
      $secrets: [IntegrationSettingInput!]) {
      setModelFamily(name: $name, provider: $provider, model: "m", settings: $settings, secrets: $secrets) { ok } }`
    const given = (name: string, value: string) => [{ name, value }]
    const key = () => given('apiKey', planted.add('key of a model', plain('sk')))
    const here = given('address', 'http://127.0.0.1:9/v1')
    await done(set, { name: 'own', provider: 'OPENAI_COMPATIBLE', settings: here, secrets: key() })
    await done(set, { name: 'own', secrets: key() }, { 'idempotency-key': 'model-once' })
    const tried = await done('mutation { testModelFamily(name: "own") { ok text } }')
    assert.equal(tried.ok, false)
    const trigger = 'mutation { triggerDinoaiAgentRun(message: "Hello", modelFamily: "own") { agentSessionId } }'
    const { agentSessionId } = await done(trigger)
    const state = 'query ($id: String!) { dinoaiAgentRun(agentSessionId: $id) { status } }'
    while ((await done(state, { id: agentSessionId })).status !== 'FAILED') await pause(100)
    const refusals = [
      { name: 'own', settings: given('address', 'http://127.0.0.1:10/v1'), secrets: [] },
      { name: 'other', provider: 'ANTHROPIC', secrets: given('token', planted.add('misnamed key', plain('sk'))) },
      { name: 'other', provider: 'ANTHROPIC', secrets: given('apiKey', planted.add('odd key', awkward('sk'))) },
    ]
    for (const variables of refusals)
      assert.equal((await ask(set, variables)).body.errors?.[0]?.extensions?.code, 'INVALID_INPUT')
    const serve = `mutation ($url: String, $headers: [IntegrationSettingInput!]) {
      setMcpServer(name: "tools", url: $url, headers: $headers) { ok } }`
    const bearer = given('authorization', `Bearer ${planted.add('header of an MCP server', plain('mcp'))}`)
    await done(serve, { url: 'https://mcp.example.com', headers: bearer })
    assert.match(JSON.stringify(await done('{ listMcpServers { servers { headerNames } } }')), /authorization/)
  })

  test('of more than a hundred, each used, none is in the data folder, the WAL, the logs or a dump', async (context) => {
    assert.ok(planted.needles.length >= 100, `${planted.needles.length} were planted`)
    assert.equal(new Set(planted.needles.map((one) => String(one.value))).size, planted.needles.length)
    dumped = await dump(service.dataFolder)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })

    const search = searchFor(planted.needles)
    const { found, bytes, files } = search.inFolder(service.dataFolder, ['first-key'])
    context.diagnostic(`${planted.needles.length} secrets, ${files} files, ${Math.round(bytes / 1024 / 1024)} MiB`)
    assert.deepEqual(report(found), [])
    assert.deepEqual(report(search.in(dumped, 'dump')), [])
    assert.deepEqual(report(search.in(Buffer.from(service.stderr()), 'log')), [])
    assert.ok(files > 500, 'the folder of the database was read')
    assert.ok(service.stderr().split('\n').length > 200, 'the log is one of debug level')
    assert.match(service.stderr(), /"level":"debug"/)
  })

  test('a value that is stored readable is found in the files, in the WAL and in the dump, so the search is a search', () => {
    const search = searchFor([{ name: 'canary', value: canary }])
    const places = search.inFolder(service.dataFolder).found.map((one) => one.place)
    assert.ok(
      places.some((one) => one.startsWith('postgres/base/')),
      places.join(),
    )
    assert.ok(
      places.some((one) => one.startsWith('postgres/pg_wal/')),
      places.join(),
    )
    assert.equal(search.in(dumped, 'dump').length, 1)
    const mine = searchFor([{ name: 'first key', value: secretOf(service.key) }])
    assert.deepEqual(
      mine.inFolder(service.dataFolder).found.map((one) => one.place.split(' ')[0]),
      ['first-key'],
    )
  })
})

test('without a mail server the link is shown beside the log, once, and is nowhere else; nor is a master key of our own', async () => {
  const planted = new Planted()
  const service = await startProcess({ env: { YARDMASTER_LOG_LEVEL: 'debug' } })
  try {
    const invite = 'mutation { inviteUser(email: "ben@example.com", accountType: ANALYST) { ok } }'
    const headers = { 'x-service-workspace': service.workspaceUid }
    assert.equal((await graphql(service.url, service.key, invite, {}, headers)).status, 200)
    while (!/\/invitation\/ymt_\w{43}/.test(service.stderr())) await pause(5)
    planted.add('invitation', /\/invitation\/(ymt_\w{43})/.exec(service.stderr())![1]!)
    const masterKey = readFileSync(join(service.dataFolder, 'master.key'), 'utf8').trim()
    planted.add('master key', masterKey)
    planted.add('master key as bytes', Buffer.from(masterKey, 'base64'))
    const search = searchFor(planted.needles)
    const dumped = await dump(service.dataFolder)
    await service.stop()
    assert.deepEqual(report(search.inFolder(service.dataFolder, ['first-key', 'master.key']).found), [])
    assert.deepEqual(report(search.in(dumped, 'dump')), [])
    const shown = search.in(Buffer.from(service.stderr()), 'log')
    assert.deepEqual(
      shown.map((one) => one.name),
      ['invitation 1'],
      'the link is shown to whoever reads the output, because nobody else could pass it on',
    )
  } finally {
    await service.stop()
  }
})
