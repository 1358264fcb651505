// A real run gives away all the secrets that it was given, byte by byte and in every form that programs print. They are
// looked for in every way out: answers of the API, downloads, events, dbt's results, the audit log, metrics, the service's
// own log, its data folder and a dump of its database. Only the files that the command itself left are its own.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Needle, searchFor } from './support/needles.ts'
import { awkward, dump, plain, report } from './support/planted.ts'
import { type Client, clientOf, makeRepository } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

const TELLER = readFileSync(join(import.meta.dirname, 'support', 'secret-teller.mjs'), 'utf8')
const canary = `canary-${randomBytes(9).toString('hex')}`
const line = (): string => randomBytes(48).toString('base64')
const key = `-----BEGIN PRIVATE KEY-----\n${line()}\n${line()}\n${line()}\n-----END PRIVATE KEY-----\n`
const VALUES = {
  PLAIN: plain('token'),
  AWKWARD: awkward("it's"),
  LETTERS: `ключ-秘密-🦖-${randomBytes(6).toString('hex')}`,
  KEY: key,
  FROM_SCHEDULE: plain('schedule'),
  OVERLAP_ONE: `${randomBytes(8).toString('hex')}-shared-part`,
}
/** Begins inside of the one before. */
const overlap = `shared-part-${randomBytes(8).toString('hex')}`
const file = `profile:\n  password: ${plain('in-a-file')}\n`

const bash = (text: string, secret: string): string =>
  execFileSync('bash', ['--norc', '-c', `exec 2>&1; ${text}`], {
    env: { S: secret, LC_ALL: 'C.UTF-8' },
    encoding: 'utf8',
  })
const needles: Needle[] = [
  ...Object.entries({ ...VALUES, OVERLAP_TWO: overlap, FILE: file.trim() }).map(([name, value]) => ({ name, value })),
  ...key
    .split('\n')
    .filter((one) => one.length > 40)
    .map((value) => ({ name: 'a line of KEY', value })),
  { name: 'AWKWARD as bash quotes it', value: bash('printf %q "$S"', VALUES.AWKWARD) },
  { name: 'AWKWARD as bash traces it', value: bash('set -x; : "$S"', VALUES.AWKWARD).trim().slice(4) },
]
const search = searchFor(needles)

let service: ServiceProcess
let client: Client
let runId: number
let told: { readonly id: number; readonly stdout: string; readonly stderr: string }

before(async () => {
  service = await startProcess({ env: { YARDMASTER_LOG_LEVEL: 'debug' } })
  client = clientOf(service)
  const environment = await client.environment(await makeRepository({ 'tell.mjs': TELLER }))
  const set = async (kind: string, name: string, value: string, of: string | null = environment) =>
    await client.ask(
      'mutation ($e: String, $k: SecretKind!, $n: String!, $v: String!) { setSecret(environment: $e, kind: $k, name: $n, value: $v) { ok } }',
      { e: of, k: kind, n: name, v: value },
    )
  const { FROM_SCHEDULE, PLAIN, ...rest } = VALUES
  for (const [name, value] of Object.entries(rest)) await set('VARIABLE', name, value)
  await set('VARIABLE', 'OVERLAP_TWO', overlap)
  await set('VARIABLE', 'PLAIN', PLAIN, null)
  await set('FILE', 'profiles.yml', file)
  const slug = await client.schedule(environment, ['true'], {
    envVars: [{ key: 'FROM_SCHEDULE', value: FROM_SCHEDULE }],
  })
  const names = [...Object.keys(VALUES), 'OVERLAP_TWO'].join(' ')
  runId = await client.trigger(slug, {
    commands: [
      `'${process.execPath}' tell.mjs ${canary} ${names}`,
      `echo ${canary}; cat "$DBT_PROFILES_DIR/profiles.yml"; printf '%q\\n' "$AWKWARD"; set -x; : "$AWKWARD"; env; exit 1`,
    ],
  })
  const status = await client.ended(runId)
  assert.equal(status.state, 'ERROR', JSON.stringify(status.commands.slice(0, 2)))
  told = status.commands[2]
})
after(async () => {
  await service?.stop()
})

/** Nothing is in it, and it is the output: what is no secret is there. */
function clean(place: string, text: string, holds: string = canary): void {
  assert.ok(text.includes(holds), `${place} does not hold the output: ${text.slice(0, 300)}`)
  assert.deepEqual(report(search.in(Buffer.from(text), place)), [])
}

test('the command told them, in every form: without the mask they would be there', () => {
  assert.ok((told.stdout.match(/\*\*\*/g)?.length ?? 0) > 100, told.stdout)
  assert.equal(told.stdout, told.stderr)
  assert.ok(told.stdout.includes(`${VALUES.PLAIN.slice(0, -1)} is not the secret`), 'what only begins like one is kept')
})

test('answers of the API', async () => {
  const status = await client.ended(runId)
  clean('boltRunStatus', JSON.stringify(status))
  for (const { id } of status.commands.slice(2)) {
    const command = await client.ask('query ($id: Int!) { boltCommand(commandId: $id) { stdout stderr command } }', {
      id,
    })
    clean('boltCommand', JSON.stringify(command))
    for (let cursor: string | null = null, finished = false; !finished; ) {
      const batch = await client.ask(
        'query ($id: Int!, $c: String) { boltCommandLogs(commandId: $id, cursor: $c) { lines { line } cursor finished } }',
        { id, c: cursor },
      )
      clean('boltCommandLogs', batch.lines.map((one: { line: string }) => one.line).join(''))
      ;({ cursor, finished } = batch)
    }
    for (const stream of ['STDOUT', 'STDERR']) {
      const { url } = await client.ask(
        'query ($id: Int!, $s: BoltLogStream!) { commandLogUrl(commandId: $id, stream: $s) { url } }',
        { id, s: stream },
      )
      const text = await (await fetch(url)).text()
      if (text !== '') clean('the whole log', text, stream === 'STDOUT' || id === told.id ? canary : '***')
    }
  }
})

test('a search finds the lines, and neither the secrets nor by them', async () => {
  const found = async (text: string) =>
    await client.ask(
      'query ($id: Int!, $t: String!) { searchCommandLog(commandId: $id, text: $t, limit: 1000) { matches { line } } }',
      { id: told.id, t: text },
    )
  clean('searchCommandLog', JSON.stringify(await found('base64')), 'base64')
  assert.ok((await found(canary)).matches.length >= 4)
  for (const { name, value } of needles) {
    const one = String(value).split('\n')[0]!
    // The line that says BEGIN is no secret.
    if (one.startsWith('-----') || one.startsWith('profile')) continue
    assert.deepEqual((await found(one)).matches, [], name)
  }
})

test('events', async () => {
  const answer = await fetch(`${client.url}/graphql`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: `subscription { boltCommandLog(commandId: ${told.id}) { lines { line } finished } }`,
    }),
  })
  clean('boltCommandLog', await answer.text())
})

test("dbt's results", async () => {
  const { dbtResults } = await client.ask(
    'query ($id: Int!) { boltRun(runId: $id) { dbtResults { uniqueId status message } } }',
    { id: runId },
  )
  assert.ok(dbtResults.length > 100)
  clean('dbtResults', dbtResults.map((one: { message: string }) => one.message).join('\n'))
})

test('the audit log, metrics and the log of the service', async () => {
  clean(
    'audit',
    JSON.stringify(await client.ask('{ getAuditLogs { auditLogs { metadataJson eventType } } }')),
    'secret',
  )
  clean('metrics', await (await fetch(`${client.url}/metrics`)).text(), 'yardmaster_http_requests_total')
  clean('log', service.stderr(), '"level":"debug"')
})

test('the database and the data folder, but for the files that the command left', async () => {
  const dumped = await dump(service.dataFolder)
  clean('dump', dumped.toString('latin1'), Buffer.from(canary).toString('hex'))
  // Output lies there as bytes, which a dump writes in hex.
  const stored = [...dumped.toString('latin1').matchAll(/\\x([0-9a-f]{20,})/g)].map(([, hex]) =>
    Buffer.from(hex!, 'hex').toString('latin1'),
  )
  clean('stored output', stored.join('\n'))
  await service.stop()
  const { found, files } = search.inFolder(service.dataFolder, ['first-key'])
  assert.ok(files > 500)
  const ours = found.filter(({ place }) => !place.startsWith('blobs/'))
  assert.deepEqual(report(ours), [])
  assert.notEqual(found.length, ours.length, 'the file that the command left is as it left it')
})
