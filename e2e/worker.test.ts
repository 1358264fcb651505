// Servers and workers as processes of their own on one PostgreSQL, each with its own data folder.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ExternalPostgres, externalPostgres } from './support/external-postgres.ts'
import { type Client, clientOf, makeRepository } from './support/runs.ts'
import { type Launched, launch, type ServiceProcess, startProcess, temporaryFolder } from './support/service.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

let postgres: ExternalPostgres
let service: ServiceProcess
let client: Client
let shared: Record<string, string>

before(async () => {
  postgres = await externalPostgres()
  const blobs = join(await temporaryFolder('blobs'), 'blobs')
  shared = { DATABASE_URL: postgres.url, YARDMASTER_MASTER_KEY: MASTER_KEY, YARDMASTER_BLOBS_FOLDER: blobs }
  service = await startProcess({ env: { ...shared, YARDMASTER_ROLES: 'api,scheduler' } })
  client = clientOf(service)
})
after(async () => {
  await service.stop()
  await postgres.stop()
})

const startWorker = (env: Record<string, string>, ...more: string[]): Promise<Launched> =>
  launch({ env, args: ['worker', ...more] })

const taking = async (worker: Launched): Promise<void> => {
  await client.until(async () => /is taking runs/.test(worker.stdout()))
}

test('a worker takes runs of its labels, what it leaves is read through the server, and it waits for its runs', async () => {
  const worker = await startWorker(shared, '--slots', '2')
  await taking(worker)
  const repository = await makeRepository({ 'one.txt': '1\n' })
  const slug = await client.schedule(await client.environment(repository), ['echo on a worker; cp one.txt two.txt'])
  const special = await client.environment(repository, { workerLabels: ['gpu'] })
  const pinned = await client.trigger(await client.schedule(special, ['true']))
  const status = await client.ended(await client.trigger(slug))
  assert.equal(status.state, 'SUCCESS', JSON.stringify(status))
  assert.equal(status.commands[2].stdout, 'on a worker\n')
  const waiting = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state phase detail } } }', {
    id: pinned,
  })
  const detail = 'It waits: no worker with the label gpu is running.'
  assert.deepEqual(waiting.run, { state: 'RUNNING', phase: 'WAITING', detail })
  await client.ask('mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }', { id: pinned })
  assert.equal((await client.ended(pinned)).state, 'CANCELED')
  const { resources } = await client.ask(
    'query ($id: Int!) { boltCommand(commandId: $id) { resources { id path } } }',
    {
      id: status.commands[2].id,
    },
  )
  const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { url } }', {
    id: resources[0].id,
  })
  assert.equal(await (await fetch(url)).text(), '1\n')

  const runId = await client.trigger(slug, { commands: ['echo begun; sleep 2; echo done'] })
  await client.until(async () => {
    const { commands } = await client.ask('query ($id: Int!) { boltRunStatus(runId: $id) { commands { stdout } } }', {
      id: runId,
    })
    return commands[2].stdout === 'begun\n'
  })
  worker.signal('SIGTERM')
  assert.deepEqual(await worker.exited, { code: 0, signal: null })
  const waited = await client.ended(runId)
  assert.equal(waited.state, 'SUCCESS')
  assert.equal(waited.commands[2].stdout, 'begun\ndone\n')
})

test('a second signal ends the runs of a worker, and they say so', async () => {
  const worker = await startWorker(shared)
  await taking(worker)
  const repository = await makeRepository({ 'one.txt': '1\n' })
  const slug = await client.schedule(await client.environment(repository), ['echo begun; sleep 600'])
  const runId = await client.trigger(slug)
  await client.until(async () => {
    const { commands } = await client.ask('query ($id: Int!) { boltRunStatus(runId: $id) { commands { stdout } } }', {
      id: runId,
    })
    return commands[2].stdout === 'begun\n'
  })
  worker.signal('SIGTERM')
  await client.until(async () => /a second signal ends them now/.test(worker.stdout() + worker.stderr()))
  // Two signals within half a second count as one, because one press of Ctrl-C may arrive twice.
  await client.until(async () => {
    worker.signal('SIGTERM')
    return /second signal: ending the runs now/.test(worker.stdout() + worker.stderr())
  })
  assert.equal((await worker.exited).code, 130)
  const { run } = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state detail } } }', { id: runId })
  assert.deepEqual(run, { state: 'FAILED', detail: 'worker stopped' })
})

test('a worker that cannot read what the servers wrote, or has no database of theirs, does not start and says why', async () => {
  const { YARDMASTER_BLOBS_FOLDER: _, ...alone } = shared
  const apart = await startWorker(alone)
  assert.equal((await apart.exited).code, 1)
  assert.match(apart.stderr(), /does not hold what the servers wrote/)
  const homeless = await startWorker({})
  assert.equal((await homeless.exited).code, 1)
  assert.match(homeless.stderr(), /set DATABASE_URL/)
})
