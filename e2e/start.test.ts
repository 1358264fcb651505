import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { deepFolder, homelessReader, me } from './support/places.ts'
import { clusterOf, lookInto, ownerOf, postgresProcesses } from './support/postgres.ts'
import { type Exit, graphql, launch, type ServiceProcess, startProcess } from './support/service.ts'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

async function ended(exited: Promise<Exit>): Promise<{ exit: Exit; ms: number }> {
  const began = performance.now()
  return { exit: await exited, ms: performance.now() - began }
}

async function everythingWorks(service: ServiceProcess): Promise<void> {
  const { status, body } = await graphql(
    service.url,
    service.key,
    '{ listWorkspaces { ok workspaces { name uid } } apiKeyIdentity { isValid capabilities } getAuditLogs { ok auditLogs { eventType } } }',
  )
  assert.equal(status, 200)
  assert.equal(body.errors, undefined)
  const { listWorkspaces, apiKeyIdentity, getAuditLogs } = body.data as {
    listWorkspaces: { ok: boolean; workspaces: { name: string; uid: string }[] }
    apiKeyIdentity: { isValid: boolean; capabilities: string[] }
    getAuditLogs: { ok: boolean; auditLogs: { eventType: string }[] }
  }
  assert.deepEqual(listWorkspaces.workspaces, [{ name: 'Demo', uid: service.workspaceUid }])
  assert.ok(apiKeyIdentity.isValid)
  assert.equal(apiKeyIdentity.capabilities.length, 8)
  const events = getAuditLogs.auditLogs.map(({ eventType }) => eventType)
  for (const event of ['account_created', 'workspace_created', 'environment_created', 'api_key_created']) {
    assert.ok(events.includes(event), `${event} is not in ${events}`)
  }
}

describe('the service on its own data folder', () => {
  let service: ServiceProcess
  let data: string
  before(async () => {
    service = await startProcess()
    data = service.dataFolder
  })
  after(async () => {
    await service.stop()
  })

  test('the first start prints where it is, a sign-in link and a key, and keeps all of it to its owner', () => {
    const said = service.stdout()
    assert.match(said, /^Yardmaster is running at http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(said, /http:\/\/127\.0\.0\.1:\d+\/\S{40,}/)
    assert.ok(said.includes(service.key))
    assert.match(service.workspaceUid, /^[a-z0-9]{16}$/)
    assert.equal(modeOf(data), '700')
    for (const file of ['first-key', 'master.key', 'database-passwords.json', 'postgres.log']) {
      assert.equal(modeOf(join(data, file)), '600', file)
    }
    assert.equal(readFileSync(join(data, '.gitignore'), 'utf8'), '*\n')
    assert.ok(!service.stderr().includes(service.key), 'the log holds the key')
  })

  test('the printed key answers listWorkspaces, apiKeyIdentity and getAuditLogs', () => everythingWorks(service))

  test('it listens on loopback only, and its database on no port at all', () => {
    const listening = listeningPorts()
    const port = Number(new URL(service.url).port)
    const ours = listening.filter((one) => one.port === port)
    assert.deepEqual(
      ours.map(({ address }) => address),
      ['0100007F'],
    )
    const inodes = postgresProcesses(clusterOf(data)).flatMap(({ pid }) => socketsOf(pid))
    assert.deepEqual(
      listening.filter(({ inode }) => inodes.includes(inode)),
      [],
    )
  })

  test('nobody has a password that they did not choose', async () => {
    const client = await lookInto(ownerOf(data))
    try {
      const { rows } = await client.query('select email, password_hash from person')
      assert.deepEqual(rows, [{ email: 'admin@yardmaster.localhost', password_hash: null }])
    } finally {
      await client.end()
    }
  })

  test('a second one on the same folder is refused within two seconds, and the first goes on', async () => {
    const second = await launch({ dataFolder: data })
    const { exit, ms } = await ended(second.exited)
    assert.equal(exit.code, 1, second.stderr())
    assert.match(second.stderr(), new RegExp(`Another Yardmaster \\(pid ${service.pid}, .*stop it first`))
    assert.ok(ms < 2_000 * SLOWNESS, `refused after ${ms} ms`)
    await everythingWorks(service)
  })

  test('SIGTERM turns readiness off, answers what is under way and ends with 0', async () => {
    const held = await holdMutation(service)
    service.signal('SIGTERM')
    await notReady(service.url)
    assert.equal(await Promise.race([held.answer, 'still waiting']), 'still waiting')
    await held.release()
    const { status, body } = await held.answer
    assert.equal(status, 200)
    assert.deepEqual(body, { data: { setVariable: { ok: true } } })
    const { exit, ms } = await ended(service.exited)
    assert.deepEqual(exit, { code: 0, signal: null })
    assert.ok(ms < 5_000 * SLOWNESS, `ended ${ms} ms after its last answer`)
    assert.deepEqual(postgresProcesses(clusterOf(data)), [])
  })

  test('the next start answers within three seconds, with what was there', async () => {
    service = await startProcess({ dataFolder: data })
    assert.ok(service.answeredAfterMs < 3_000 * SLOWNESS, `answered after ${service.answeredAfterMs} ms`)
    assert.match(service.stdout(), /^\nYardmaster is running at \S+\n$/)
    await everythingWorks(service)
  })

  test('a second signal ends it at once, and its database with it', async () => {
    const held = await holdMutation(service)
    service.signal('SIGTERM')
    await notReady(service.url)
    // Another one, because the same one right after it counts as its echo.
    service.signal('SIGINT')
    const { exit, ms } = await ended(service.exited)
    assert.equal(exit.code, 130)
    assert.ok(ms < 2_000 * SLOWNESS, `ended after ${ms} ms`)
    await assert.rejects(held.answer)
    await held.release().catch(() => {})
    while (postgresProcesses(clusterOf(data)).length > 0) await pause(20)
  })

  test('a master key that others can read is refused, with the way to mend it', async () => {
    chmodSync(join(data, 'master.key'), 0o644)
    const refused = await launch({ dataFolder: data })
    assert.equal((await refused.exited).code, 1)
    assert.match(refused.stderr(), /Others can read the master key: chmod 600 \S+master\.key/)
    chmodSync(join(data, 'master.key'), 0o600)
    service = await startProcess({ dataFolder: data })
    await everythingWorks(service)
  })
})

describe('the service in other places', () => {
  test('it starts in a folder of mode 0700 under a path of over 150 characters', async () => {
    const folder = await deepFolder(me)
    const service = await startProcess({ dataFolder: join(folder, 'data'), cwd: folder })
    await everythingWorks(service)
    assert.equal((await service.stop()).code, 0)
  })

  test('it starts as a user without a home, in such a folder of theirs', async () => {
    const folder = await deepFolder(homelessReader)
    const service = await startProcess({
      dataFolder: join(folder, 'data'),
      prefix: homelessReader.prefix,
      cwd: folder,
      env: { HOME: homelessReader.home },
    })
    await everythingWorks(service)
    if (homelessReader.uid !== null) assert.equal(statSync(join(folder, 'data', 'first-key')).uid, homelessReader.uid)
    assert.equal((await service.stop()).code, 0)
  })

  test('with the demo turned off a first start makes nothing', async () => {
    const service = await startProcess({ env: { YARDMASTER_DEMO: 'false' } })
    assert.match(service.stdout(), /^\nYardmaster is running at \S+\n$/)
    for (const file of ['first-key', 'demo-repository']) assert.ok(!existsSync(join(service.dataFolder, file)), file)
    const client = await lookInto(ownerOf(service.dataFolder))
    try {
      for (const table of ['account', 'workspace', 'person', 'api_key', 'audit_log']) {
        assert.equal((await client.query(`select from ${table}`)).rowCount, 0, table)
      }
    } finally {
      await client.end()
    }
    assert.equal((await service.stop()).code, 0)
  })

  test('after yardmaster setup a start makes no demo', async () => {
    const setup = await launch({ args: ['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'] })
    assert.equal((await setup.exited).code, 0, setup.stderr())
    const service = await startProcess({ dataFolder: setup.dataFolder })
    assert.equal(service.key, '')
    const client = await lookInto(ownerOf(service.dataFolder))
    try {
      assert.deepEqual((await client.query('select name from workspace')).rows, [{ name: 'Analytics' }])
      assert.equal((await client.query('select from api_key')).rowCount, 0)
    } finally {
      await client.end()
    }
    assert.equal((await service.stop()).code, 0)
  })
})

/** The limits hold on a machine with nothing else to do. In a full test run every core is busy with other tests. */
const SLOWNESS = loadavg()[0]! < availableParallelism() / 2 ? 1 : 4

interface Held {
  readonly answer: ReturnType<typeof graphql>
  release(): Promise<void>
}

/** A mutation that is under way for as long as we like: it waits for a lock that we have. */
async function holdMutation(service: ServiceProcess): Promise<Held> {
  const client: pg.Client = await lookInto(ownerOf(service.dataFolder))
  await client.query('begin')
  await client.query('select from audit_head for update')
  const answer = graphql(
    service.url,
    service.key,
    'mutation { setVariable(name: "HELD", value: "1") { ok } }',
    {},
    { 'x-service-workspace': service.workspaceUid },
  )
  // Who awaits it may do so late.
  answer.catch(() => {})
  const waiting = `select from pg_stat_activity where application_name = 'yardmaster serve' and wait_event_type = 'Lock'`
  while ((await client.query(waiting)).rowCount === 0) await pause(5)
  return {
    answer,
    release: async () => {
      await client.query('rollback')
      await client.end()
    },
  }
}

/** Told so, or not let in at all: either keeps requests away. */
async function notReady(url: string): Promise<void> {
  for (;;) {
    const ready = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (!ready) return
    await pause(5)
  }
}

function listeningPorts(): { address: string; port: number; inode: string }[] {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === '0A')
      .map(([, local = '', , , , , , , , inode = '']) => {
        const [address = '', port = ''] = local.split(':')
        return { address, port: Number.parseInt(port, 16), inode }
      }),
  )
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return existsSync(folder)
    ? readdirSync(folder).flatMap((fd) => {
        const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkOrNothing(`${folder}/${fd}`)) ?? []
        return inode === undefined ? [] : [inode]
      })
    : []
}

function readlinkOrNothing(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
