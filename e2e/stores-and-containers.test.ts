// Whole runs by the ways that are not the default: files in a bucket, commands in containers.
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { findEngine } from '../service/test/support/container-engine.ts'
import { couldNotRun } from '../service/test/support/could-not-run.ts'
import { clientOf, makeRepository } from './support/runs.ts'
import { startProcess, temporaryFolder } from './support/service.ts'

interface FakeS3 {
  run(): Promise<{ port: number }>
  close(): Promise<void>
}
// It brings no types.
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (options: object) => FakeS3

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && one.name.endsWith('_object'))
    .map((one) => join(one.parentPath, one.name))

test('a run keeps its files in a bucket, and a link gives them back', async () => {
  const folder = await temporaryFolder('bucket')
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'yard' }],
  })
  const { port } = await server.run()
  const service = await startProcess({
    env: {
      YARDMASTER_BLOBS_S3_BUCKET: 'yard',
      YARDMASTER_BLOBS_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      YARDMASTER_BLOBS_S3_PREFIX: 'some/where',
      YARDMASTER_BLOBS_S3_ACCESS_KEY: 'S3RVER',
      YARDMASTER_BLOBS_S3_SECRET_KEY: 'S3RVER',
    },
  })
  try {
    const client = clientOf(service)
    const environment = await client.environment(await makeRepository({ 'README.md': 'x\n' }))
    const slug = await client.schedule(environment, [
      'mkdir -p target && echo from-the-bucket > target/out.txt && head -c 3000000 /dev/zero > target/big',
      'cat "$YARDMASTER_RESOURCES_DIRECTORY"/*/target/out.txt',
    ])
    const status = await client.ended(await client.trigger(slug))
    assert.equal(status.state, 'SUCCESS', JSON.stringify(status))
    assert.equal(status.commands.at(-1).stdout, 'from-the-bucket\n')
    const { resources } = await client.ask(
      'query ($id: Int!) { boltCommand(commandId: $id) { resources { id path } } }',
      { id: status.commands[2].id },
    )
    const sizes: Record<string, number> = {}
    for (const { id, path } of resources) {
      const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { url } }', { id })
      sizes[path] = (await (await fetch(url)).arrayBuffer()).byteLength
    }
    assert.deepEqual(sizes, { 'target/big': 3_000_000, 'target/out.txt': 16 })
    assert.ok(filesBelow(folder).length >= 2)
    assert.ok(!readdirSync(service.dataFolder).includes('blobs'), 'no file is kept beside the bucket')
  } finally {
    await service.stop()
    await server.close()
  }
})

const found = findEngine()
if (found.options === null) couldNotRun('a whole run in containers', found.why)
else {
  const { engine, engineFlags = [], flags = [], image, network } = found.options
  test('a run executes its commands in containers, which see its folders and nothing else', async (t) => {
    const folder = await temporaryFolder('engine')
    const program = join(folder, 'engine')
    const words = (all: readonly string[]): string => all.map((one) => `'${one}'`).join(' ')
    writeFileSync(
      program,
      `#!/bin/sh\nif [ "$1" = run ]; then shift; exec ${engine} ${words(engineFlags)} run ${words(flags)} "$@"; fi\nexec ${engine} ${words(engineFlags)} "$@"\n`,
      { mode: 0o755 },
    )
    const service = await startProcess({
      env: {
        YARDMASTER_COMMANDS_ISOLATION: 'container',
        YARDMASTER_COMMANDS_IMAGE: image,
        YARDMASTER_COMMANDS_ENGINE: program,
        YARDMASTER_COMMANDS_NETWORK: network,
        YARDMASTER_DEMO: 'true',
      },
    })
    try {
      const client = clientOf(service)
      const environment = await client.environment(await makeRepository({ 'README.md': 'in the repository\n' }), {
        installStep: 'echo installed > installed.txt',
      })
      await client.ask(
        'mutation ($v: String!) { setSecret(environment: null, kind: FILE, name: "file.txt", value: $v) { ok } }',
        { v: 'content-of-the-file' },
      )
      const slug = await client.schedule(environment, [
        'cat README.md installed.txt; mkdir -p out; echo made > out/file; echo "to stderr" >&2',
        `cat "$YARDMASTER_RESOURCES_DIRECTORY"/*/out/file; wc -c < "$YARDMASTER_FILE_FILE_TXT"; ls '${service.dataFolder}' | tr '\\n' ' '; cat '${service.dataFolder}/master.key' || echo no key; id -u > ~/home && echo home`,
        'exit 7',
      ])
      const status = await client.ended(await client.trigger(slug), 120_000)
      assert.equal(status.state, 'ERROR', JSON.stringify(status))
      const [, , first, second, third] = status.commands
      assert.deepEqual([first.stdout, first.stderr.split('\n')[0]], ['in the repository\ninstalled\n', 'to stderr'])
      assert.match(second.stdout, /^made\n19\n(cache )?work (cache )?no key\nhome\n$/)
      assert.equal(third.returnCode, 7)
      const running = await client.trigger(slug, { commands: ['echo up; sleep 600'] })
      await client.until(async () => {
        const query = 'query ($id: Int!) { boltRunStatus(runId: $id) { commands { stdout } } }'
        return (await client.ask(query, { id: running })).commands.at(-1).stdout === 'up\n'
      }, 60_000)
      await client.ask('mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }', { id: running })
      assert.equal((await client.ended(running, 60_000)).state, 'CANCELED')
      const { runs } = await client.ask('{ boltRunPage(limit: 1) { runs { isolation } } }')
      assert.deepEqual(runs, [{ isolation: 'L2' }])
      t.diagnostic(`${engine}: a run of five commands, and one that was canceled`)
    } finally {
      await service.stop()
      await found[Symbol.asyncDispose]()
    }
  })
}
