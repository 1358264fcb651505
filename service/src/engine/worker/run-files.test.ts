import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TestApp } from '../../../test/support/app.ts'
import { testApp } from '../../../test/support/app.ts'
import { type HeldRun, heldRun } from '../../../test/support/commands.ts'
import { openFilesystemBlobs } from '../../adapters/blob/filesystem.ts'
import { listArtifacts } from '../../app/artifacts.ts'
import { listDbtResults } from '../../app/dbt-results.ts'
import { parseDbtResults } from '../../domain/dbt-results.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import type { CollectRequest } from './ports.ts'
import { restoreState } from './restore-state.ts'
import { runFiles } from './run-files.ts'

let t: TestApp
let blobs: BlobStore
let folder: string
before(async () => {
  t = await testApp()
  folder = await mkdtemp(join(tmpdir(), 'yardmaster-files-'))
  blobs = await openFilesystemBlobs(join(folder, 'blobs'))
})
after(async () => {
  await t.close()
  await rm(folder, { recursive: true })
})

const RESULTS = {
  metadata: { dbt_schema_version: 'https://schemas.getdbt.com/dbt/run-results/v6.json' },
  results: [
    {
      status: 'success',
      timing: [
        { name: 'compile', started_at: '2026-03-01T10:00:00.123456Z', completed_at: '2026-03-01T10:00:01Z' },
        { name: 'execute', started_at: '2026-03-01T10:00:01Z', completed_at: '2026-03-01T10:00:02Z' },
      ],
      execution_time: 1.5,
      message: 'OK',
      failures: null,
      unique_id: 'model.jobs.first',
    },
    {
      status: 'fail',
      timing: [],
      execution_time: 0,
      message: 'Got 2 results: hunter2-swordfish',
      failures: 2,
      unique_id: 'test.jobs.second',
    },
    { status: 'skipped', unique_id: 'model.jobs.third' },
  ],
}

async function checkout(): Promise<string> {
  const root = await mkdtemp(join(folder, 'checkout-'))
  await mkdir(join(root, 'target'))
  return root
}

function request(of: HeldRun, commandId: number, root: string, more: Partial<CollectRequest> = {}): CollectRequest {
  const facts = { ...of.owner(commandId) } as unknown as CollectRequest['facts']
  const command = { id: commandId } as unknown as CollectRequest['command']
  const resources = `${root}-resources`
  const signal = new AbortController().signal
  return { facts, command, checkout: root, excluded: null, secrets: [], resources, signal, ...more }
}

test('the files of a command are kept, laid out for later commands, and read as results of dbt', async () => {
  const of = await heldRun(t)
  const files = runFiles(t.app, blobs)
  const root = await checkout()
  const commandId = await of.command('dbt build')
  const before = await files.snapshot(root, null)
  await writeFile(join(root, 'target/run_results.json'), JSON.stringify(RESULTS))
  await writeFile(join(root, 'report.csv'), 'a,b\n')
  await writeFile(join(root, 'dev.duckdb'), 'x')
  const notes = await files.collect(before, request(of, commandId, root, { secrets: ['hunter2-swordfish'] }))
  assert.deepEqual(
    (await listArtifacts(of.ctx, { commandId })).map((one) => one.path),
    ['report.csv', 'target/run_results.json'],
  )
  assert.equal(await readFile(`${root}-resources/report.csv`, 'utf8'), 'a,b\n')
  assert.equal(notes.length, 1)
  assert.match(notes[0]!, /1 file was not kept.*"dev\.duckdb"/)
  assert.deepEqual(await listDbtResults(of.ctx, of.runId), [
    {
      commandId,
      uniqueId: 'model.jobs.first',
      status: 'success',
      message: 'OK',
      startedAt: '2026-03-01 10:00:00.123456',
      seconds: 1.5,
      failures: null,
      resourceType: 'model',
      name: 'first',
      path: '',
      relation: '',
    },
    {
      commandId,
      uniqueId: 'model.jobs.third',
      status: 'skipped',
      message: '',
      startedAt: null,
      seconds: null,
      failures: null,
      resourceType: 'model',
      name: 'third',
      path: '',
      relation: '',
    },
    {
      commandId,
      uniqueId: 'test.jobs.second',
      status: 'fail',
      message: 'Got 2 results: ***',
      startedAt: null,
      seconds: 0,
      failures: 2,
      resourceType: 'test',
      name: 'second',
      path: '',
      relation: '',
    },
  ])
  const other = await heldRun(t)
  assert.deepEqual(await listDbtResults(other.ctx, of.runId), [])
})

test('a run keeps so many files and no more, over all its commands', async () => {
  const of = await heldRun(t)
  const files = runFiles(t.app, blobs, { files: 10, bytes: 1_000 })
  const root = await checkout()
  for (const [count, left] of [
    [6, 0],
    [6, 2],
  ] as const) {
    const commandId = await of.command()
    const before = await files.snapshot(root, null)
    for (let at = 0; at < count; at++) await writeFile(join(root, `f${commandId}-${at}`), 'same')
    const notes = await files.collect(before, request(of, commandId, root, { resources: `${root}-${commandId}` }))
    assert.equal((await listArtifacts(of.ctx, { commandId })).length, count - left)
    assert.equal(notes.length, left === 0 ? 0 : 1)
    if (left > 0) assert.match(notes[0]!, /2 files were not kept because they are more than a run may keep/)
  }
})

test('the state of a failed dbt command is put back where it was, and nothing of it through a link', async () => {
  const of = await heldRun(t)
  const files = runFiles(t.app, blobs)
  const root = await checkout()
  const commandId = await of.command('dbt build --project-dir sub')
  const before = await files.snapshot(root, ['sub/target/**'])
  await mkdir(join(root, 'sub/target'), { recursive: true })
  for (const name of ['run_results.json', 'manifest.json', 'partial_parse.msgpack', 'other.json'])
    await writeFile(join(root, 'sub/target', name), name)
  await writeFile(join(root, 'manifest.json'), 'another')
  await files.collect(before, request(of, commandId, root, { excluded: ['sub/target/**'] }))
  const fresh = await checkout()
  const { workspaceId, workspaceUid } = of.owner(commandId)
  const written = await restoreState(t.app.db, blobs, { workspaceId, workspaceUid, commandId }, fresh)
  assert.deepEqual(written, [
    'sub/target/manifest.json',
    'sub/target/partial_parse.msgpack',
    'sub/target/run_results.json',
  ])
  assert.equal(await readFile(join(fresh, 'sub/target/run_results.json'), 'utf8'), 'run_results.json')
  await files.putBack(commandId, { facts: request(of, commandId, root).facts, checkout: fresh })
  const hostile = await checkout()
  const outside = await checkout()
  await symlink(outside, join(hostile, 'sub'))
  await assert.rejects(restoreState(t.app.db, blobs, { workspaceId, workspaceUid, commandId }, hostile))
  await assert.rejects(readFile(join(outside, 'target/run_results.json')))
})

test('a result of dbt is told with what the manifest says of its node, or with what its id says', async () => {
  const of = await heldRun(t)
  const files = runFiles(t.app, blobs)
  const root = await checkout()
  const commandId = await of.command()
  const before = await files.snapshot(root, null)
  await mkdir(join(root, 'target'), { recursive: true })
  const results = ['model.shop.orders', 'test.shop.unique_orders.a1'].map((unique_id) => ({ unique_id, status: 'ok' }))
  const orders = {
    unique_id: 'model.shop.orders',
    resource_type: 'model',
    name: 'orders',
    original_file_path: 'models/orders.sql',
    relation_name: '"db"."main"."orders"',
  }
  const nodes = { 'model.shop.orders': orders, broken: null, 'model.shop.other': { unique_id: 'model.shop.other' } }
  await writeFile(join(root, 'target/run_results.json'), JSON.stringify({ results }))
  await writeFile(join(root, 'target/sources.json'), JSON.stringify({ results: [results[0]] }))
  await writeFile(join(root, 'target/manifest.json'), JSON.stringify({ nodes, sources: 7 }))
  await files.collect(before, request(of, commandId, root, { secrets: ['models/orders'] }))
  const found = await listDbtResults(of.ctx, of.owner(commandId).runId)
  assert.deepEqual(
    found.map(({ uniqueId, resourceType, name, path, relation }) => ({ uniqueId, resourceType, name, path, relation })),
    [
      {
        uniqueId: 'model.shop.orders',
        resourceType: 'model',
        name: 'orders',
        path: '***.sql',
        relation: '"db"."main"."orders"',
      },
      {
        uniqueId: 'test.shop.unique_orders.a1',
        resourceType: 'test',
        name: 'unique_orders.a1',
        path: '',
        relation: '',
      },
    ],
  )
})

test('results of dbt that are broken, strange or large do no harm', async () => {
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"results": 5}',
    '{"results": [null, 1, {}, {"unique_id": 5, "status": "x"}]}',
  ]) {
    assert.deepEqual(parseDbtResults(text), [])
  }
  const odd = {
    unique_id: 'm\0x',
    status: 'ok',
    message: '\ud800',
    execution_time: 'long',
    failures: 2 ** 40,
    timing: [{ started_at: '2026-02-31T99:00:00Z' }],
  }
  assert.deepEqual(parseDbtResults(JSON.stringify({ results: [odd, odd] })), [
    { uniqueId: 'mx', status: 'ok', message: '\ufffd', startedAt: null, seconds: null, failures: null },
  ])
  const source = { unique_id: 'source.a.b', status: 'runtime error', error: 'no such table' }
  assert.equal(parseDbtResults(JSON.stringify({ results: [source] }))[0]!.message, 'no such table')
  const of = await heldRun(t)
  const files = runFiles(t.app, blobs)
  const root = await checkout()
  const commandId = await of.command()
  const before = await files.snapshot(root, null)
  const many = {
    results: Array.from({ length: 3_000 }, (_, at) => ({
      unique_id: `model.a.m${at}`,
      status: 'success',
      message: 'x'.repeat(300),
    })),
  }
  await writeFile(join(root, 'target/run_results.json'), JSON.stringify(many))
  await writeFile(join(root, 'target/sources.json'), '{"results": [')
  assert.deepEqual(await files.collect(before, request(of, commandId, root)), [])
  assert.equal((await listDbtResults(of.ctx, of.runId)).length, 3_000)
})
