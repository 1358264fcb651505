// Real dbt on a real database: what fails, what a retry runs, and that its state comes from the failed command. The
// packages and the profile come from the environment alone. Where no package index can be reached this cannot be run,
// and the test command says so.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { couldNotRun } from '../service/test/support/could-not-run.ts'
import { type Client, clientOf, makeRepository, type Repository } from './support/runs.ts'
import { type ServiceProcess, startProcess, temporaryFolder } from './support/service.ts'

const PACKAGES = ['dbt-core==1.9.4', 'dbt-duckdb==1.9.3']
/** Variables by which pip finds its index and believes it. */
const PIP = ['PIP_INDEX_URL', 'PIP_CERT', 'PIP_FIND_LINKS', 'SSL_CERT_FILE', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY']

const reachable = await fetch(`${process.env.PIP_INDEX_URL ?? 'https://pypi.org/simple'}/dbt-duckdb/`, {
  signal: AbortSignal.timeout(10_000),
}).then(
  (answer) => answer.ok,
  () => false,
)

const PROJECT = {
  'dbt_project.yml': 'name: yard\nversion: "1.0"\nprofile: yard\nmodels:\n  yard:\n    +materialized: table\n',
  'models/good.sql': 'select 1 as id\n',
  'models/bad.sql': "select cast('no number' as integer) as id\n",
  'models/after_bad.sql': 'select * from {{ ref("bad") }}\n',
}
const PROFILE = 'yard:\n  target: dev\n  outputs:\n    dev:\n      type: duckdb\n      path: warehouse.duckdb\n'

let service: ServiceProcess
let client: Client
let repository: Repository
let environment: string

if (!reachable) {
  couldNotRun('dbt', 'the package index cannot be reached')
  test('dbt runs, fails, and is retried from its state', () => {
    assert.equal(process.env.YARDMASTER_TEST_NO_SKIP ?? '', '', 'the package index cannot be reached')
  })
} else {
  before(async () => {
    repository = await makeRepository(PROJECT)
    const env = Object.fromEntries(PIP.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
    service = await startProcess({ env: { ...env, YARDMASTER_COMMANDS_ENVIRONMENT: 'PIP_*' } })
    client = clientOf(service)
    environment = await client.environment(repository, { pythonPackages: PACKAGES })
    await layProfile(environment, PROFILE)
  })
  after(async () => {
    await service?.stop()
  })

  const layProfile = async (of: string, profile: string): Promise<void> => {
    await client.ask(
      'mutation ($e: String, $v: String!) { setSecret(environment: $e, kind: FILE, name: "profiles.yml", value: $v) { ok } }',
      { e: of, v: profile },
    )
  }

  const results = async (runId: number) => {
    const { dbtResults } = await client.ask(
      'query ($id: Int!) { boltRun(runId: $id) { dbtResults { uniqueId status message name path } } }',
      { id: runId },
    )
    for (const { name, path } of dbtResults) assert.equal(path.replaceAll('\\', '/').split('/').at(-1), `${name}.sql`)
    return Object.fromEntries(
      dbtResults.map((one: { uniqueId: string; status: string }) => [
        one.uniqueId.replace(/^model\.yard\./, ''),
        one.status,
      ]),
    )
  }

  const fileOf = async (commandId: number, path: string) => {
    const { resources } = await client.ask(
      'query ($id: Int!) { boltCommand(commandId: $id) { resources { id path } } }',
      {
        id: commandId,
      },
    )
    const found = resources.find((one: { path: string }) => one.path === path)
    assert.ok(found, `${path} is not among ${JSON.stringify(resources)}`)
    const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { url } }', { id: found.id })
    return await (await fetch(url)).text()
  }

  const timeout = 900_000

  test('a model that fails is retried by dbt retry, which runs only what had failed or been skipped', {
    timeout,
  }, async (t) => {
    const slug = await client.schedule(environment, ['dbt run', 'echo after'])
    const first = await client.trigger(slug)
    const broken = await client.ended(first, timeout)
    assert.equal(broken.state, 'ERROR', JSON.stringify(broken.commands.slice(0, 3)))
    const seconds = (at: number) =>
      (Date.parse(`${broken.commands[at].endDttm}Z`) - Date.parse(`${broken.commands[at].startDttm}Z`)) / 1000
    t.diagnostic(`install ${seconds(1)} s, dbt run ${seconds(2)} s`)
    assert.match(broken.commands[2].stdout, /no number/)
    assert.deepEqual(await results(first), { good: 'success', bad: 'error', after_bad: 'skipped' })
    assert.match(await fileOf(broken.commands[2].id, 'target/run_results.json'), /"unique_id": ?"model.yard.bad"/)
    assert.equal(readdirSync(join(service.dataFolder, 'work')).filter((name) => name.startsWith(`${first}-`)).length, 0)

    await repository.commit({ 'models/bad.sql': 'select 2 as id\n' })
    const { runId } = await client.ask('mutation ($slug: String) { retryBoltRunFromFailure(slug: $slug) { runId } }', {
      slug,
    })
    const mended = await client.ended(runId, timeout)
    assert.equal(mended.state, 'SUCCESS', JSON.stringify(mended))
    assert.deepEqual(
      mended.commands.slice(2).map((one: { command: string }) => one.command),
      ['dbt retry', 'echo after'],
    )
    assert.deepEqual(await results(runId), { bad: 'success', after_bad: 'success' })
    const install = Date.parse(`${mended.commands[2].startDttm}Z`) - Date.parse(`${mended.commands[0].startDttm}Z`)
    t.diagnostic(`the second run began its first user command after ${install} ms`)
    assert.equal((await client.ended(first)).state, 'ERROR')
  })

  test('a retry of a retry takes its state, and a compile error is run again as it was written', {
    timeout,
  }, async () => {
    await repository.commit({ 'models/bad.sql': "select cast('still none' as integer) as id\n" })
    const slug = await client.schedule(environment, ['dbt run --project-dir .'])
    const first = await client.ended(await client.trigger(slug), timeout)
    assert.equal(first.state, 'ERROR')
    const retry = 'mutation ($slug: String) { retryBoltRunFromFailure(slug: $slug) { runId } }'
    const second = await client.ended((await client.ask(retry, { slug })).runId, timeout)
    assert.equal(second.state, 'ERROR', JSON.stringify(second))
    assert.equal(second.commands[2].command, 'dbt retry --project-dir .')
    await repository.commit({ 'models/bad.sql': 'select 3 as id\n' })
    const thirdId = (await client.ask(retry, { slug })).runId
    const third = await client.ended(thirdId, timeout)
    assert.equal(third.state, 'SUCCESS', JSON.stringify(third))
    assert.deepEqual(await results(thirdId), { bad: 'success', after_bad: 'success' })

    await repository.commit({ 'models/good.sql': "select * from {{ ref('nothing') }}\n" })
    const other = await client.schedule(environment, ['dbt run'])
    const uncompiled = await client.ended(await client.trigger(other), timeout)
    assert.equal(uncompiled.state, 'ERROR')
    await repository.commit({ 'models/good.sql': 'select 1 as id\n' })
    const again = await client.ended((await client.ask(retry, { slug: other })).runId, timeout)
    assert.equal(again.state, 'SUCCESS', JSON.stringify(again))
    assert.equal(again.commands[2].command, 'dbt run')
  })

  test('a pull request builds only the changed model and its child, against what the deferred schedule built', {
    timeout,
  }, async () => {
    const shop = await makeRepository({
      'dbt_project.yml': PROJECT['dbt_project.yml'],
      'models/customers.sql': 'select 1 as id\n',
      'models/orders.sql': 'select 1 as customer\n',
      'models/report.sql':
        'select count(*) as n from {{ ref("orders") }} o join {{ ref("customers") }} c on c.id = o.customer\n',
    })
    await shop.git('switch', '--quiet', '--create', 'feature')
    await shop.commit({ 'models/orders.sql': 'select 1 as customer, 2 as amount\n' })
    const warehouse = join(await temporaryFolder('warehouse'), 'shop.duckdb')
    const own = await client.environment(shop, { pythonPackages: PACKAGES })
    const schema = `"{{ env_var('YARDMASTER_SCHEMA_PREFIX', '') or 'main' }}"`
    await layProfile(own, PROFILE.replace('path: warehouse.duckdb', `path: ${warehouse}\n      schema: ${schema}`))
    const nightly = await client.schedule(own, ['dbt build'], { gitBranch: 'main' })
    const turboCi = { enabled: true, deferredScheduleSlug: nightly }
    const command = 'dbt build --select state:modified+ --defer'
    const turbo = await client.schedule(own, [command, 'echo $YARDMASTER_DEFER_STATE_DIR'], { turboCi })
    const build = async (prNumber: number) => {
      const runId = await client.trigger(turbo, { prNumber, branch: 'feature' })
      const ended = await client.ended(runId, timeout)
      assert.equal(ended.state, 'SUCCESS', JSON.stringify(ended))
      assert.equal(ended.commands[2].command, command)
      return { built: Object.keys(await results(runId)).sort(), commands: ended.commands }
    }

    const first = await build(7)
    assert.deepEqual(first.built, ['customers', 'orders', 'report'])
    const full = `there is no state of ${nightly} to defer to yet; everything is built, executed as: dbt build\n`
    assert.ok(first.commands[2].stderr.startsWith(`yardmaster: ${full}`), first.commands[2].stderr)
    assert.equal(first.commands[3].stdout, '\n')

    assert.equal((await client.ended(await client.trigger(nightly), timeout)).state, 'SUCCESS')
    // Schema pr_8 never gets the customers: the report reads those of the deferred schedule.
    const second = await build(8)
    assert.deepEqual(second.built, ['orders', 'report'])
    assert.match(second.commands[2].stderr, /^yardmaster: defers to run \d+ of \S+, executed as: .* --state \S+\n/)
    assert.match(second.commands[3].stdout, /\/\.yardmaster\/state\n$/)

    // A pull request's own runs are nobody's state: the same again.
    assert.deepEqual((await build(8)).built, ['orders', 'report'])
  })
}
