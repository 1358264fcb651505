// The executor, git and the shell are real; dbt is a script that says how it was called. Real dbt is in e2e.
import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { callTool, testSession, toolsOf } from '../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../test/support/app.ts'
import { testSettings } from '../../../test/support/runs.ts'
import { createProcessExecutor } from '../../adapters/executor/process.ts'
import { setSecret, setVariable } from '../../app/environments.ts'
import type { WorkspaceRef } from '../../domain/actor.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import type { Source } from '../../ports/source.ts'
import { laySecretFiles } from '../worker/secret-files.ts'
import { readOnlyProfile } from './duckdb-profile.ts'
import { type QueryRunner, queryRunner } from './query-runner.ts'

const DBT = `#!/bin/sh
case "$YARDMASTER_AGENT_QUERY" in
  *wait*) sleep 1000;;
  *fail*) echo "no such table" >&2; exit 2;;
esac
printf '%s\\n' "$@"
echo "in $(pwd)"
echo "secret $WAREHOUSE_PASSWORD"
grep access_mode "$DBT_PROFILES_DIR/profiles.yml"
ls
`
const PROFILE = 'yard:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: warehouse.duckdb}\n'

let t: TestApp
let workspace: WorkspaceRef
let folder: string
let session: AgentSession
let queries: QueryRunner
const asked: { url: string; reference: string }[] = []
const executor = await createProcessExecutor({ hidden: [] })

const source: Source = {
  checkout: async (repository, reference, to) => {
    asked.push({ url: repository.url, reference })
    await mkdir(to, { recursive: true })
    await writeFile(join(to, 'dbt_project.yml'), 'name: yard\n')
    return { commit: reference, branch: reference }
  },
  read: async () => {
    throw new Error('nothing is read')
  },
}

before(async () => {
  t = await testApp()
  workspace = await t.workspace()
  folder = await mkdtemp(join(tmpdir(), 'yardmaster-query-'))
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'bin', 'dbt'), DBT)
  await chmod(join(folder, 'bin', 'dbt'), 0o755)
  await chmod(folder, 0o755)
  session = await testSession(t, workspace)
  const { rows } = await sql<{
    slug: string
  }>`select slug from environment where id = ${session.environmentId}`.execute(t.app.db)
  const environment = rows[0]!.slug
  const ctx = t.inside(workspace)
  await setVariable(ctx, { environment, name: 'PATH', value: `${join(folder, 'bin')}:/usr/bin:/bin` })
  await setSecret(ctx, { environment, kind: 'variable', name: 'WAREHOUSE_PASSWORD', value: 'hunter2-secret' })
  await setSecret(ctx, { environment, kind: 'file', name: 'profiles.yml', value: PROFILE })
  queries = queryRunner({
    app: t.app,
    ports: {
      source,
      executor,
      dependencies: {
        plan: async () => ({
          script: null,
          venv: null,
          writable: [],
          readOnly: [],
          keep: async () => {},
          discard: async () => {},
        }),
        python: null,
        laySecretFiles,
      },
    },
    settings: testSettings,
    place: { work: join(folder, 'work'), cache: join(folder, 'cache') },
  })
})
after(async () => {
  executor.close()
  await t.close()
  await rm(folder, { recursive: true, force: true })
})

const ask = (input: Record<string, unknown>) =>
  callTool(t, toolsOf(t, session, { queries }), session, 'run_sql_query', input)

test('a query is one argument of dbt on the base commit, with the profile for reading, and secrets are not shown', async () => {
  const query = `select '$(touch ${folder}/pwned)"''; x' as a from {{ ref('orders') }}`
  const { text, isError } = await ask({ query, limit: 7 })
  assert.ok(!isError, text)
  const lines = text.split('\n')
  assert.ok(lines.includes(query), text)
  assert.deepEqual(lines.slice(lines.indexOf('--limit'), lines.indexOf('--limit') + 2), ['--limit', '7'])
  assert.ok(lines.includes('secret ***'), text)
  assert.match(text, /access_mode: READ_ONLY/)
  assert.equal(asked.at(-1)!.reference, session.baseCommit)
  assert.ok(!(await readdir(folder)).includes('pwned'))
  assert.deepEqual(await readdir(join(folder, 'work')), [], 'nothing is left')
})

test('what is no single select never reaches dbt', async () => {
  const before = asked.length
  for (const query of ['drop table x', 'select 1; drop table x', "select {{ env_var('WAREHOUSE_PASSWORD') }}"]) {
    assert.ok((await ask({ query })).isError)
  }
  assert.equal(asked.length, before)
})

test('a query that fails says why, and one that is stopped leaves nothing', async () => {
  const failed = await ask({ query: 'select fail' })
  assert.ok(failed.isError && /no such table/.test(failed.text), failed.text)
  const late = await queries.run(session, { sql: 'select wait', rows: 1, seconds: 1 }, new AbortController().signal)
  assert.deepEqual(late, { kind: 'failed', text: 'The query took more than 1 seconds and was ended.' })
  assert.deepEqual(await readdir(join(folder, 'work')), [])
})

test('only files of DuckDB are opened for reading; other profiles stay as they are', () => {
  assert.match(readOnlyProfile(PROFILE)!, /config_options:.*access_mode: READ_ONLY/s)
  const options = 'a:\n  outputs:\n    x:\n      type: duckdb\n      path: f.db\n      config_options: {threads: 1}\n'
  assert.match(readOnlyProfile(options)!, /threads: 1, access_mode: READ_ONLY/)
  for (const other of [
    'a:\n  outputs:\n    x: {type: postgres, host: h}\n',
    "a:\n  outputs:\n    x: {type: duckdb, path: ':memory:'}\n",
    '{{ broken',
    '',
    '- 1',
  ]) {
    assert.equal(readOnlyProfile(other), null, other)
  }
})
