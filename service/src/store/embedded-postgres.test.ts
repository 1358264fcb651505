import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { quietLog } from '../../test/support/log.ts'
import { type Connection, isUnavailable, openDatabase } from './database.ts'
import { assertDurable } from './durability.ts'
import {
  type EmbeddedPostgres,
  FolderTaken,
  startEmbeddedPostgres,
  startWithInternals,
  writeServiceFile,
} from './embedded-postgres.ts'
import { isAlive, prepareDataFolder, prepareSocketFolder, sendSignal } from './embedded-postgres-files.ts'
import { findBinaries } from './embedded-postgres-package.ts'
import { processesIn } from './embedded-postgres-process.ts'

const CHILD = join(import.meta.dirname, '..', '..', 'test', 'support', 'embedded-postgres-child.ts')
const NOBODY = 65534
const isRoot = process.getuid?.() === 0

interface Said {
  readonly owner: Connection
  readonly adopted?: boolean
  readonly refused?: string
}

/** What a failed test left running goes with the file. */
const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A process of its own on the folder, and what it said when it was ready or refused. */
async function startChild(folder: string, purpose: string, prefix: string[] = []): Promise<[Said, ChildProcess]> {
  const [command, ...args] = [...prefix, process.execPath, CHILD, folder, purpose]
  const child = spawn(command!, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SECRET_OF_THE_SERVICE: 'do not pass on' },
  })
  children.add(child)
  const [line] = await Promise.race([
    once(createInterface(child.stdout!), 'line') as Promise<[string]>,
    once(child, 'exit').then(([code]) => [JSON.stringify({ refused: `exit ${code}` })]),
  ])
  return [JSON.parse(line!) as Said, child]
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

async function query<T = Record<string, unknown>>(connection: Connection, text: string): Promise<T[]> {
  const database = openDatabase(connection, { poolSize: 1, queryTimeoutMs: 10_000, applicationName: 'test' })
  try {
    return (await sql.raw<T>(text).execute(database.kysely)).rows
  } finally {
    await database.close()
  }
}

async function until(fact: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<number> {
  const began = performance.now()
  while (!(await fact())) {
    assert.ok(performance.now() - began < limitMs, `not within ${limitMs} ms`)
    await pause(10)
  }
  return performance.now() - began
}

const postmasterOf = async (folder: string): Promise<number> =>
  Number((await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])

const serve = (dataFolder: string) => startEmbeddedPostgres({ dataFolder, purpose: 'serve', log: quietLog })
const command = (dataFolder: string) => startEmbeddedPostgres({ dataFolder, purpose: 'command', log: quietLog })

/** A temporary folder that only its owner may enter, with a long path below it. */
async function makeFolder(t: TestContext | undefined, owner?: number): Promise<string> {
  const top = await mkdtemp(join(tmpdir(), 'yardmaster-embedded-'))
  t?.after(() => rm(top, { recursive: true }))
  const folder = join(top, 'a-path-that-is-much-longer-than-what-a-socket-may-have'.repeat(3))
  if (owner !== undefined) await chown(top, owner, owner)
  return folder
}

describe('the embedded PostgreSQL', () => {
  let folder: string
  let top: string
  before(async () => {
    folder = await makeFolder(undefined)
    top = join(folder, '..')
    assert.ok(folder.length > 150)
  })
  after(() => rm(top, { recursive: true }))

  describe('while a process serves from it', () => {
    let said: Said
    let child: ChildProcess
    before(async () => {
      ;[said, child] = await startChild(folder, 'serve')
      assert.equal(said.adopted, false, said.refused)
    })
    after(async () => {
      await end(child, 'SIGTERM')
      assert.deepEqual(await processesIn(join(folder, 'postgres')), [])
      assert.ok(!(await readdir(join(folder, 'postgres'))).includes('postmaster.pid'))
    })

    test('is closed to everybody else', async () => {
      const mode = async (name: string) => ((await stat(join(folder, name))).mode & 0o777).toString(8)
      assert.equal(await mode('.'), '700')
      assert.equal(await mode('postgres'), '700')
      assert.equal(await mode('database-passwords.json'), '600')
      assert.equal(await mode('postgres.log'), '600')
      assert.equal(await readFile(join(folder, '.gitignore'), 'utf8'), '*\n')
      const names = await readdir(folder)
      assert.deepEqual(
        names.filter((name) => /\.\d+/.test(name)),
        [],
      )
      const hba = await readFile(join(folder, 'postgres', 'pg_hba.conf'), 'utf8')
      const rules = hba.split('\n').filter((line) => /^(local|host)/.test(line))
      assert.ok(
        rules.every((rule) => /^local.*scram-sha-256$|^host.*reject$/.test(rule)),
        rules.join('\n'),
      )
    })

    test('loses nothing it has confirmed, and tells its log nothing that was asked', async () => {
      const { owner } = said
      const database = openDatabase(owner, { poolSize: 1, queryTimeoutMs: 5_000, applicationName: 'test' })
      await assertDurable(database.kysely)
      await assert.rejects(sql`select 'planted-secret-1'::int`.execute(database.kysely))
      await assert.rejects(sql`select ${'planted-secret-2'}::int`.execute(database.kysely))
      await sql`create temporary table t (v text unique)`.execute(database.kysely)
      await sql`insert into t values (${'planted-secret-3'})`.execute(database.kysely)
      await assert.rejects(sql`insert into t values (${'planted-secret-3'})`.execute(database.kysely))
      await database.close()
      assert.doesNotMatch(await readFile(join(folder, 'postgres.log'), 'utf8'), /planted-secret/)
    })

    test('has a role for the service that is no superuser', async () => {
      const rows = await query(
        (said as unknown as EmbeddedPostgres).service,
        'select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user',
      )
      assert.deepEqual(rows, [{ rolsuper: false, rolcreatedb: false, rolcreaterole: false }])
    })

    test('has nothing of our environment', async () => {
      const environment = await readFile(`/proc/${await postmasterOf(folder)}/environ`, 'utf8').catch(() => '')
      assert.doesNotMatch(environment, /SECRET/)
    })

    test('refuses a second one that wants to serve, within two seconds and with a way out', async () => {
      const startedAt = '2030-01-01T00:00:00Z'
      await writeServiceFile(folder, { pid: child.pid!, startedAt, url: 'http://localhost:1', version: '1' })
      const began = performance.now()
      await assert.rejects(serve(folder), (error: Error) => {
        assert.ok(error instanceof FolderTaken)
        assert.match(error.message, new RegExp(`Another Yardmaster \\(pid ${child.pid}, since ${startedAt}`))
        assert.match(error.message, /choose another folder with --data/)
        return true
      })
      assert.ok(performance.now() - began < 2_000)
    })

    test('is shared with commands, which leave it running', async () => {
      const [one, two] = await Promise.all([command(folder), command(folder)])
      assert.ok(one.adopted && two.adopted)
      assert.deepEqual(await query(one.owner, 'select 1 as one'), [{ one: 1 }])
      await one.stop()
      await two.stop()
      assert.deepEqual(await query(said.owner, 'select 1 as one'), [{ one: 1 }])
    })
  })

  test('is there again at once when the service was killed, with everything that was committed', async () => {
    for (let round = 0; round < 3; round++) {
      const [said, child] = await startChild(folder, 'serve')
      assert.equal(said.adopted, false, said.refused)
      await query(said.owner, 'create table if not exists public.kept (round integer)')
      await query(said.owner, `insert into public.kept values (${round})`)
      await end(child, 'SIGKILL')
    }
    const began = performance.now()
    const postgres = await serve(folder)
    assert.ok(performance.now() - began < 10_000)
    assert.deepEqual(await query(postgres.owner, 'select count(*) from public.kept'), [{ count: 3 }])
    await query(postgres.owner, 'drop table public.kept')
    const running = await processesIn(join(folder, 'postgres'))
    const servers = running.filter(({ parent }) => !running.some(({ pid }) => pid === parent))
    assert.equal(servers.length, 1)
    await postgres.stop()
    await postgres.stop()
  })

  test('recovers when everything was killed, and when the pid file names somebody else', async () => {
    const [said, child] = await startChild(folder, 'serve')
    await query(said.owner, 'create table public.kept as select 1 as one')
    const pids = (await processesIn(join(folder, 'postgres'))).map(({ pid }) => pid)
    child.kill('SIGKILL')
    for (const pid of pids) sendSignal(pid, 'SIGKILL')
    await until(() => !pids.some(isAlive))
    const file = join(folder, 'postgres', 'postmaster.pid')
    // As in a container that was started again: the number is taken by another program.
    const socketLock = join((said.owner as { host: string }).host, '.s.PGSQL.5432.lock')
    for (const path of [file, socketLock]) {
      await writeFile(path, (await readFile(path, 'utf8')).replace(/^\d+/, String(process.pid)))
    }
    const postgres = await serve(folder)
    assert.deepEqual(await query(postgres.owner, 'select one from public.kept'), [{ one: 1 }])
    await query(postgres.owner, 'drop table public.kept')
    await postgres.stop()
    assert.ok(isUnavailable(await query(postgres.service, 'select 1').catch((error: unknown) => error)))
    // Killed between making its pid file and writing to it.
    await writeFile(file, '')
    await (await serve(folder)).stop()
  })

  test('is started again under a service when it was killed, also with a backend that does not notice', async () => {
    const postgres = await serve(folder)
    const owner = openDatabase(postgres.owner, { poolSize: 1, queryTimeoutMs: 30_000, applicationName: 'busy' })
    const busy = sql`select count(*) from generate_series(1, 1000000000)`.execute(owner.kysely).catch(() => 'cut off')
    await until(async () =>
      (await processesIn(join(folder, 'postgres'))).some(({ title }) => /yardmaster_owner.*SELECT/.test(title)),
    )
    process.kill(await postmasterOf(folder), 'SIGKILL')
    await until(async () => (await query(postgres.owner, 'select 1').catch(() => [])).length === 1)
    assert.equal(await busy, 'cut off')
    await owner.close()
    // The lock is held again.
    await until(async () => {
      const [row] = await query(
        { ...postgres.owner, database: 'postgres' } as Connection,
        "select count(*) from pg_locks where locktype = 'advisory'",
      )
      return row!.count === 1
    })
    const [said] = await startChild(folder, 'serve')
    assert.match(said.refused ?? '', /Another Yardmaster/)
    await postgres.stop()
    assert.deepEqual(await processesIn(join(folder, 'postgres')), [])
  })

  test('of a command goes on until the commands that joined it are done', async () => {
    const [starter, child] = await startChild(folder, 'command')
    assert.equal(starter.adopted, false, starter.refused)
    const joined = await command(folder)
    assert.equal(joined.adopted, true)
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    // New connections still work while the starter waits.
    assert.deepEqual(await query(joined.service, 'select 1 as one'), [{ one: 1 }])
    await joined.stop()
    await gone
    assert.deepEqual(await processesIn(join(folder, 'postgres')), [])
  })

  test('of a command makes way for a service', async () => {
    const one = await command(folder)
    const starting = startChild(folder, 'serve')
    await one.stop()
    const [said, child] = await starting
    assert.equal(said.adopted, false, said.refused)
    await end(child, 'SIGTERM')
  })

  test('refuses passwords that others may read, and a cluster without them', async () => {
    const file = join(folder, 'database-passwords.json')
    await chmod(file, 0o640)
    await assert.rejects(serve(folder), /can be read by others.*chmod 600/)
    const text = await readFile(file)
    await rm(file)
    await assert.rejects(serve(folder), /is missing/)
    await writeFile(file, text, { mode: 0o600 })
  })

  test('refuses a socket folder that is open to others', async () => {
    const data = join(folder, 'elsewhere')
    const socket = await prepareSocketFolder(data, process.getuid!())
    await chmod(socket, 0o755)
    await assert.rejects(prepareSocketFolder(data, process.getuid!()), /belongs to somebody else or is open to others/)
    await rm(socket, { recursive: true })
  })

  test("does not close a folder that is everybody's", async () => {
    await assert.rejects(prepareDataFolder(tmpdir()), /cannot be the data folder/)
    await assert.rejects(prepareDataFolder('/'), /cannot be the data folder/)
  })

  test('says what to do on a platform without one', () => {
    assert.throws(() => findBinaries('sunos', 'x64'), /no built-in PostgreSQL for sunos on x64.*set DATABASE_URL/)
  })
})

test('two first starts at once on an empty folder: one serves, one is refused', async (t) => {
  const folder = await makeFolder(t)
  const both = await Promise.all([startChild(folder, 'serve'), startChild(folder, 'serve')])
  const [served] = both.filter(([said]) => said.adopted === false)
  const [refused] = both.filter(([said]) => said.refused !== undefined)
  assert.match(refused?.[0].refused ?? '', /Another Yardmaster/)
  assert.deepEqual(await query(served![0].owner, 'select 1 as one'), [{ one: 1 }])
  for (const [, child] of both) await end(child, 'SIGTERM')
  assert.deepEqual(
    (await readdir(folder)).filter((name) => /^postgres\.\d/.test(name)),
    [],
  )
})

/** Only root can become somebody else, and that one must be able to read this clone. */
async function canRunAsNobody(): Promise<boolean> {
  if (!isRoot) return false
  const probe = spawn(
    'setpriv',
    [...AS_NOBODY.slice(1), process.execPath, '-e', `require('fs').readFileSync(${JSON.stringify(CHILD)})`],
    { stdio: 'ignore' },
  )
  const [code] = await once(probe, 'exit').catch(() => [1])
  return code === 0
}
const AS_NOBODY = ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups']

test('another user than root has a PostgreSQL of their own', async (t) => {
  if (!(await canRunAsNobody())) return t.diagnostic('cannot run as another user here')
  const folder = await makeFolder(t, NOBODY)
  const [said, child] = await startChild(folder, 'serve', AS_NOBODY)
  assert.equal(said.adopted, false, said.refused)
  assert.equal((await stat(join(folder, 'postgres'))).uid, NOBODY)
  await end(child, 'SIGKILL')
  const [again, second] = await startChild(folder, 'serve', AS_NOBODY)
  assert.equal(again.adopted, false, again.refused)
  await end(second, 'SIGTERM')
})

test('root without user namespaces runs it as another user, and takes it back where there are some', async (t) => {
  if (!(await canRunAsNobody())) return t.diagnostic('cannot run as another user here')
  const dataFolder = await mkdtemp(join(tmpdir(), 'yardmaster-embedded-'))
  t.after(() => rm(dataFolder, { recursive: true }))
  const options = { dataFolder, purpose: 'serve', log: quietLog } as const
  const switched = await startWithInternals(options, { userNamespaces: false })
  assert.equal((await stat(`/proc/${await postmasterOf(dataFolder)}`)).uid, NOBODY)
  await query(switched.owner, 'create table public.kept as select 1 as one')
  await switched.stop()
  const mapped = await startEmbeddedPostgres(options)
  assert.deepEqual(await query(mapped.owner, 'select one from public.kept'), [{ one: 1 }])
  assert.equal((await stat(join(dataFolder, 'postgres', 'base'))).uid, 0)
  await mapped.stop()
})
