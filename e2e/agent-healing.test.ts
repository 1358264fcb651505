// Self-healing from outside: a real dbt project with a fault in it on a bare remote, a schedule that fails, and what is on
// the remote afterwards. Either a branch on which `dbt build` passes, or a message and no branch. The faults are chosen by
// chance; YARDMASTER_TEST_SEED gives the same ones again. Where no package index can be reached this cannot be run, and the
// test command says so.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { couldNotRun } from '../service/test/support/could-not-run.ts'
import { broken, DBT_PACKAGES, DBT_PROFILE, FAULTS, type Fault, SHOP } from './support/broken-dbt.ts'
import { seeded } from './support/random.ts'
import { type Client, clientOf, makeRepository } from './support/runs.ts'
import { type ServiceProcess, startProcess, temporaryFolder } from './support/service.ts'

/** Variables by which pip finds its index and believes it. */
const PIP = ['PIP_INDEX_URL', 'PIP_CERT', 'PIP_FIND_LINKS', 'SSL_CERT_FILE', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY']
const LONG = 600_000
const exec = promisify(execFile)

const reachable = await fetch(`${process.env.PIP_INDEX_URL ?? 'https://pypi.org/simple'}/dbt-duckdb/`, {
  signal: AbortSignal.timeout(10_000),
}).then(
  (answer) => answer.ok,
  () => false,
)

const seed = Number(process.env.YARDMASTER_TEST_SEED ?? Date.now() % 1_000_000)

/** Three, at least one of which can be mended. */
function choose(): Fault[] {
  const random = seeded(seed)
  const first = random.pick(FAULTS.filter((one) => one.mendable))
  const chosen = new Set([first])
  while (chosen.size < 3) chosen.add(random.pick(FAULTS))
  return [...chosen]
}

interface Scene {
  readonly remote: string
  readonly environment: string
  /** Branches of agents on the remote. */
  branches(): Promise<string[]>
}

if (!reachable) {
  couldNotRun('the mending of a dbt project', 'the package index cannot be reached')
  test('a failed run is mended', () => {
    assert.equal(process.env.YARDMASTER_TEST_NO_SKIP ?? '', '', 'the package index cannot be reached')
  })
} else {
  let service: ServiceProcess
  let client: Client

  before(async () => {
    const env = Object.fromEntries(PIP.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
    service = await startProcess({ env: { ...env, YARDMASTER_COMMANDS_ENVIRONMENT: 'PIP_*' } })
    client = clientOf(service)
  })
  after(async () => {
    await service?.stop()
  })

  /** A bare remote with these files, in an environment of its own that agents work in by default. */
  async function scene(files: Readonly<Record<string, string>>): Promise<Scene> {
    const made = await makeRepository(files)
    const remote = join(await temporaryFolder('remote'), 'shop.git')
    await exec('git', ['clone', '--quiet', '--bare', made.folder, remote])
    const environment = await client.environment(
      { ...made, folder: remote },
      { pythonPackages: DBT_PACKAGES, isDefault: true },
    )
    await client.ask(
      'mutation ($e: String, $v: String!) { setSecret(environment: $e, kind: FILE, name: "profiles.yml", value: $v) { ok } }',
      { e: environment, v: DBT_PROFILE },
    )
    return {
      remote,
      environment,
      branches: async () => {
        const { stdout } = await exec('git', ['for-each-ref', '--format=%(refname:short)', 'refs/heads'], {
          cwd: remote,
        })
        return stdout.split('\n').filter((name) => name.startsWith('agent/'))
      },
    }
  }

  const session = (id: string) =>
    client.until(async () => {
      const found = await client.ask(
        `query ($id: String!) { dinoaiAgentRun(agentSessionId: $id) { status branch messages { role content }
          steps(includeToolIo: true, maxChars: 2000) { kind tool text output isError } } }`,
        { id },
      )
      return !['QUEUED', 'RUNNING'].includes(found.status) && found
    }, LONG)

  const failedRun = async (slug: string): Promise<number> => {
    const runId = await client.trigger(slug)
    const { state, commands } = await client.ended(runId, LONG)
    assert.equal(state, 'ERROR', JSON.stringify(commands.map((one: { stdout: string }) => one.stdout.slice(-500))))
    return runId
  }

  /** What a session left behind must be one of two things. */
  async function judge(fault: Fault, { branches }: Scene, of: { id: string; slug: string; before: readonly string[] }) {
    const ended = await session(of.id)
    const trail = () => JSON.stringify(ended, null, 1)
    assert.equal(ended.status, 'COMPLETED', trail())
    const words = ended.messages.filter((one: { role: string }) => one.role === 'assistant').at(-1)?.content ?? ''
    const pushed = (await branches()).filter((name) => !of.before.includes(name))
    if (!fault.mendable) {
      assert.deepEqual(pushed, [], trail())
      assert.match(words, /I cannot mend it, and I pushed nothing/)
      return null
    }
    assert.equal(pushed.length, 1, trail())
    assert.ok(pushed[0]!.startsWith(`agent/${of.id}/`), pushed[0])
    assert.match(words, /I mended the cause/)
    const built = await client.ended(await client.trigger(of.slug, { branch: pushed[0] }), LONG)
    assert.equal(built.state, 'SUCCESS', JSON.stringify(built.commands.at(-1)))
    return { branch: pushed[0]!, words }
  }

  for (const fault of choose()) {
    test(`${fault.name} (seed ${seed}): a failed run is mended once, by itself, and again by hand`, {
      timeout: 2 * LONG,
    }, async (t) => {
      const at = await scene(broken(fault))
      const slug = await client.schedule(at.environment, ['dbt build'], { selfHealing: { enabled: true } })
      const runId = await failedRun(slug)

      const requests = async () => {
        const all = await client.ask(
          '{ listHealingRequests { requests { runId state agentSessionId branch reason scheduleSlug } } }',
        )
        return all.requests.filter((one: { scheduleSlug: string }) => one.scheduleSlug === slug)
      }
      const request = await client.until(async () => {
        const own = await requests()
        assert.ok(own.length <= 1, JSON.stringify(own))
        return own.length === 1 && !['WAITING', 'STARTED'].includes(own[0].state) && own[0]
      }, LONG)
      assert.equal(request.runId, runId)
      const healed = await judge(fault, at, { id: request.agentSessionId, slug, before: [] })
      assert.deepEqual(
        [request.state, request.branch],
        healed === null ? ['ENDED', ''] : ['PROPOSED', healed.branch],
        request.reason,
      )
      t.diagnostic(healed?.words.split('\n\n').slice(1, 3).join(' ') ?? 'left to a person')

      const before = await at.branches()
      const { agentSessionId } = await client.ask(
        'mutation ($m: String!) { triggerDinoaiAgentRun(agent: "healer", message: $m) { agentSessionId } }',
        { m: `Run ${runId} failed. Mend it, please.` },
      )
      await failedRun(slug)
      await judge(fault, at, { id: agentSessionId, slug, before })
      // It failed again with the same cause, whose mend is proposed: nobody was asked a second time.
      if (fault.mendable) assert.equal((await requests()).length, 1)
      const main = await exec('git', ['show', `main:${fault.file}`], { cwd: at.remote })
      assert.notEqual(main.stdout, SHOP[fault.file], 'nothing is pushed to the branch itself')
    })
  }
}
