// The commands against a database that is not theirs, with a master key that is given.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Checks, type CommandLine, type Created, codeOf, commandLine } from '../../test/support/command-line.ts'
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts'

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
    const empty = await line.here(['workspaces', 'list'])
    assert.equal(empty.code, 1)
    assert.match(empty.err, /Nothing is set up in the database of DATABASE_URL/)
    await line.json(['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'])
    const [key, doctor, rotate] = await Promise.all([
      line.json<Created>(['keys', 'create', '--kind', 'workspace']),
      line.json<Checks>(['doctor']),
      line.here(['secrets', 'rotate', '--new-key']),
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
    const verified = await line.jsonHere<{ ok: boolean }>(['audit', 'verify'])
    assert.equal(verified.ok, true)
  })

  test('doctor says when the role of the service could take the protection of the audit log away', async () => {
    const { checks } = await line.jsonHere<Checks>(['doctor'], { env: { DATABASE_URL: owner } })
    assert.deepEqual(
      checks.filter(({ name }) => name === 'audit owner').map(({ status }) => status),
      ['warn'],
    )
  })

  test('secrets are wrapped anew under a key that was put before the old one', async () => {
    await line.jsonHere(['environments', 'create', 'production'])
    await line.jsonHere(['environments', 'set', 'production', '--secret', 'PASSWORD'], { input: 'correct horse' })
    const keys = [Buffer.alloc(32, 9), Buffer.alloc(32, 7)].map((key) => key.toString('base64'))
    const both = { env: { YARDMASTER_MASTER_KEY: keys.join(',') } }
    assert.equal((await line.jsonHere<{ secrets: number }>(['secrets', 'rotate'], both)).secrets, 1)
    assert.equal((await line.jsonHere<{ secrets: number }>(['secrets', 'rotate'], both)).secrets, 0)
  })

  test('a server that does not answer is said in one sentence, without the password', async () => {
    const env = {
      DATABASE_URL: 'postgres://yard:hunter2hunter2@127.0.0.1:1/yard',
      YARDMASTER_DATABASE_OWNER_URL: '',
      YARDMASTER_LOG_LEVEL: 'debug',
    }
    const [refused, doctor] = await Promise.all([
      line.run(['keys', 'list', '--json'], { env }),
      line.here(['doctor'], { env }),
    ])
    assert.equal(refused.code, 1)
    assert.equal(codeOf(refused.err), 'UNAVAILABLE')
    assert.equal(doctor.code, 1)
    assert.match(doctor.out, /\nfail {2}database /)
    assert.equal(JSON.stringify([refused, doctor]).includes('hunter2'), false)
  })
})
