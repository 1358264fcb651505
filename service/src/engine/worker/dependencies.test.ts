import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import { finish, freshFolder, SYSTEM_PATH } from '../../../test/support/executor.ts'
import { createProcessExecutor, probeIsolation } from '../../adapters/executor/process.ts'
import type { Executor } from '../../ports/executor.ts'
import { type DependencyRequest, findKeptVenv, type InstallCommand, planInstall } from './dependencies.ts'
import { isPinned, readRequirements } from './requirements.ts'

// Stand-ins that do in a millisecond what takes seconds: a Python that makes an environment with a pip, and a dbt.
const PYTHON = `#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 9
mkdir -p "$3/bin" "$3/lib"
printf '#!/bin/sh\\necho "$@" >> "%s/lib/installed"; case "$*" in *broken*) exit 1;; esac\\n' "$3" > "$3/bin/python"
printf '#!%s/bin/python\\n' "$3" > "$3/bin/tool"
chmod +x "$3/bin/python" "$3/bin/tool"
echo made >> "$HOME/made"
`
const DBT = `#!/bin/sh
echo deps >> "$HOME/made"
mkdir -p dbt_packages/utils && cp packages.yml dbt_packages/utils/macro.sql
if grep -q local packages.yml; then ln -s "$PWD/packages.yml" dbt_packages/local; fi
`

interface Yard extends Disposable {
  readonly path: string
  readonly cache: string
  /** A run with this checkout; gives its plan. */
  plan(files: Readonly<Record<string, string>>, more?: Partial<DependencyRequest>): Promise<Planned>
  /** How often an environment was made, or dbt's packages were fetched. */
  made(): number
  now: Date
  isOpenToCommands: boolean
}

interface Planned extends InstallCommand {
  readonly checkout: string
  readonly run: string
  /** Does what a worker does with it. */
  install(): Promise<boolean>
  /** What a worker does at the end of a run. */
  end(): void
}

function yard(): Yard {
  const folder = freshFolder()
  const bin = join(folder.path, 'bin')
  const cache = join(folder.path, 'cache')
  mkdirSync(bin)
  for (const [name, script] of [
    ['python3', PYTHON],
    ['dbt', DBT],
  ] as const) {
    writeFileSync(join(bin, name), script, { mode: 0o755 })
  }
  let runs = 0
  const state: Yard = {
    path: folder.path,
    cache,
    now: new Date('2026-03-01T12:00:00Z'),
    isOpenToCommands: false,
    made: () => {
      const file = join(folder.path, 'made')
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
    },
    plan: async (files, more = {}) => {
      const run = join(folder.path, 'work', `${++runs}-1`)
      const checkout = join(run, 'checkout')
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(checkout, name)), { recursive: true })
        writeFileSync(join(checkout, name), content)
      }
      mkdirSync(checkout, { recursive: true })
      const plan = await planInstall({
        cache: { folder: cache, run, isOpenToCommands: state.isOpenToCommands, now: state.now },
        checkout,
        commit: 'c'.repeat(40),
        installStep: null,
        pythonPackages: [],
        python: '3.11.7 linux-x64',
        ...more,
      })
      return {
        ...plan,
        checkout,
        run,
        install: async () => {
          if (plan.script === null) return true
          const env = { PATH: `${bin}:${SYSTEM_PATH}`, HOME: folder.path }
          const ok = await promisify(execFile)('bash', ['-c', plan.script], { cwd: checkout, env }).then(
            () => true,
            () => false,
          )
          await (ok ? plan.keep() : plan.discard())
          return ok
        },
        end: () => rmSync(run, { recursive: true }),
      }
    },
    [Symbol.dispose]: () => {
      execFileSync('chmod', ['-R', 'u+w', folder.path])
      folder[Symbol.dispose]()
    },
  }
  return state
}

const folders = (cache: string): string[] => readdirSync(cache).filter((name) => /\.\d+-\d+$/.test(name))

test('nothing is installed where nothing is asked for', async () => {
  using t = yard()
  const { script, venv, writable } = await t.plan({ 'README.md': 'x' })
  assert.deepEqual([script, venv, writable], [null, null, []])
})

test('an environment is made once, and the second run of an unchanged repository has nothing to do', async () => {
  using t = yard()
  const files = { 'requirements.txt': 'dbt-core==1.9.4 # the core\n\ndbt-duckdb==1.9.3\n' }
  const first = await t.plan(files, { pythonPackages: ['pytz==2025.1'] })
  assert.deepEqual([first.writable, first.readOnly], [[first.venv], []])
  assert.ok(await first.install())
  const installed = readFileSync(join(first.venv!, 'lib', 'installed'), 'utf8')
  assert.match(installed, /install --quiet -- pytz==2025.1\n.*--requirement requirements.txt\n$/)
  first.end()
  t.now = new Date('2026-03-04T12:00:00Z')
  const second = await t.plan(files, { pythonPackages: ['pytz==2025.1'] })
  assert.deepEqual([second.script, second.venv, second.readOnly], [null, first.venv, [first.venv]])
  assert.equal(t.made(), 1)
})

test('what a run kept is found by whoever asks for the same, and looking makes nothing', async () => {
  using y = yard()
  const files = { 'requirements.txt': 'dbt-core==1.9.4\n' }
  const first = await y.plan(files)
  const request: DependencyRequest = {
    cache: { folder: y.cache, run: join(y.path, 'elsewhere'), isOpenToCommands: false, now: y.now },
    checkout: first.checkout,
    commit: 'c'.repeat(40),
    installStep: null,
    pythonPackages: [],
    python: '3.11.7 linux-x64',
  }
  const before = readdirSync(y.cache)
  assert.equal(await findKeptVenv(request), null)
  assert.deepEqual(readdirSync(y.cache), before)
  await first.install()
  assert.equal(await findKeptVenv(request), first.venv)
  assert.equal(await findKeptVenv({ ...request, pythonPackages: ['other==1.0'] }), null)
})

test('versions that are not pinned are looked for anew the next day', async () => {
  using t = yard()
  for (const [asked, more] of [
    [{ 'requirements.txt': 'dbt-core>=1.9\n' }, {}],
    [{ 'requirements.txt': 'dbt-core==1.9.*\n' }, {}],
    [{ 'requirements.txt': '-r base.txt\n', 'base.txt': 'dbt-core\n' }, {}],
    [{ 'requirements.txt': 'git+https://example.com/x.git\n' }, {}],
    [{ 'pyproject.toml': '[project]\n' }, {}],
    [{}, { pythonPackages: ['dbt-core'] }],
  ] as const) {
    t.now = new Date('2026-03-01T00:00:01Z')
    const first = await t.plan(asked, more)
    await first.install()
    t.now = new Date('2026-03-01T23:59:59Z')
    assert.equal((await t.plan(asked, more)).venv, first.venv, JSON.stringify(asked))
    t.now = new Date('2026-03-02T00:00:01Z')
    const next = await t.plan(asked, more)
    assert.notEqual(next.venv, first.venv, JSON.stringify(asked))
    await next.discard()
  }
})

test('an environment belongs to everything that it is made from', async () => {
  using t = yard()
  const base = { 'requirements.txt': 'a==1\n-r more/base.txt\n', 'more/base.txt': 'b==1\n-c limits.txt\n' }
  const all = { ...base, 'more/limits.txt': 'c==1\n' }
  const venvOf = async (files: Record<string, string>, more: Partial<DependencyRequest> = {}): Promise<string> => {
    const plan = await t.plan(files, more)
    await plan.install()
    plan.end()
    return plan.venv!
  }
  const one = await venvOf(all)
  assert.equal(await venvOf(all), one)
  assert.equal(await venvOf(all, { commit: 'd'.repeat(40) }), one, 'another commit with the same packages')
  const others = [
    await venvOf({ ...all, 'requirements.txt': 'a==2\n-r more/base.txt\n' }),
    await venvOf({ ...all, 'more/base.txt': 'b==2\n-c limits.txt\n' }),
    await venvOf({ ...all, 'more/limits.txt': 'c==2\n' }),
    await venvOf(all, { pythonPackages: ['a==1'] }),
    await venvOf(all, { python: '3.12.0 linux-x64' }),
  ]
  assert.equal(new Set([one, ...others]).size, 6)
  const local: readonly Record<string, string>[] = [
    { 'pyproject.toml': 'x' },
    { 'requirements.txt': '-e .\n' },
    { 'requirements.txt': './lib\n' },
  ]
  for (const files of local) {
    const here = await venvOf(files)
    assert.notEqual(await venvOf(files, { commit: 'd'.repeat(40) }), here, 'the code of the repository is in it')
  }
})

test('what is pinned is told from what is not', () => {
  for (const line of [
    'a==1',
    'a[x,y]===1.0+local',
    'a == 1!2.0',
    'a==1 ; python_version < "3"',
    'a==1 --hash=sha256:0',
  ])
    assert.ok(isPinned(line), line)
  for (const line of ['a', 'a>=1', 'a==1.*', 'a~=1', '-r x', 'a @ https://x/a.whl', '--index-url x', 'a==1,<2'])
    assert.ok(!isPinned(line), line)
})

test('an install that fails leaves nothing, and one that was killed leaves nothing that is used', async () => {
  using t = yard()
  const files = { 'requirements.txt': 'broken==1\n' }
  const failing = await t.plan(files, { pythonPackages: ['broken==1'] })
  assert.equal(await failing.install(), false)
  assert.deepEqual(readdirSync(t.cache), [])
  const killed = await t.plan({ 'requirements.txt': 'a==1\n' })
  mkdirSync(join(killed.venv!, 'bin'))
  const next = await t.plan({ 'requirements.txt': 'a==1\n' })
  assert.notEqual(next.venv, killed.venv)
  assert.notEqual(next.script, null)
  assert.ok(existsSync(killed.venv!), 'its run may still be at work')
  killed.end()
  await t.plan({})
  assert.ok(!existsSync(killed.venv!))
})

test('two runs that need the same at once do not disturb each other, and one of the two is kept', async () => {
  using t = yard()
  const files = { 'requirements.txt': 'a==1\n' }
  const both = [await t.plan(files), await t.plan(files)]
  assert.deepEqual(await Promise.all(both.map((one) => one.install())), [true, true])
  for (const { venv } of both) assert.ok(existsSync(join(venv!, 'bin', 'tool')))
  assert.notEqual(both[0]!.venv, both[1]!.venv)
  const third = await t.plan(files)
  assert.equal(third.script, null)
  assert.ok(both.some(({ venv }) => venv === third.venv))
  for (const one of both) one.end()
  await t.plan({})
  assert.deepEqual(folders(t.cache), [basename(third.venv!)])
})

test('what nobody asked for in a week goes', async () => {
  using t = yard()
  const pinned = await t.plan({ 'requirements.txt': 'a==1\n' })
  await pinned.install()
  const old = await t.plan({ 'requirements.txt': 'a>=1\n' })
  await old.install()
  for (const one of [pinned, old]) one.end()
  for (const name of readdirSync(t.cache).filter((one) => one.endsWith('.json')))
    utimesSync(join(t.cache, name), t.now, t.now)
  t.now = new Date('2026-03-06T00:00:00Z')
  await t.plan({ 'requirements.txt': 'a==1\n' })
  t.now = new Date('2026-03-09T00:00:00Z')
  await t.plan({})
  assert.deepEqual(folders(t.cache), [basename(pinned.venv!)])
})

test("the environment's own step works on a copy, which knows its own place", async () => {
  using t = yard()
  const request = {
    pythonPackages: ['a==1'],
    installStep: 'tool-of-mine() { echo more > "$VIRTUAL_ENV/lib/more"; }; tool-of-mine',
  }
  const first = await t.plan({ 'requirements.txt': 'ignored==1\n' }, request)
  assert.ok(await first.install())
  assert.equal(first.venv, join(first.run, 'venv'))
  assert.equal(readFileSync(join(first.venv!, 'bin', 'tool'), 'utf8'), `#!${first.venv}/bin/python\n`)
  assert.equal(readFileSync(join(first.venv!, 'lib', 'more'), 'utf8'), 'more\n')
  assert.doesNotMatch(readFileSync(join(first.venv!, 'lib', 'installed'), 'utf8'), /ignored/)
  const second = await t.plan({}, request)
  assert.deepEqual([second.readOnly.length, t.made()], [1, 1])
  assert.ok(!existsSync(join(second.readOnly[0]!, 'lib', 'more')))
  assert.ok(await second.install())
  const bare = await t.plan({}, { installStep: 'exit 3' })
  assert.equal(await bare.install(), false)
})

test("dbt's packages are fetched once and copied after that, until what asks for them changes", async () => {
  using t = yard()
  const files = { 'dbt_project.yml': 'name: x\n', 'packages.yml': 'packages: [a]\n', 'package-lock.yml': 'lock\n' }
  const macro = 'dbt_packages/utils/macro.sql'
  const first = await t.plan(files)
  assert.ok(await first.install())
  first.end()
  t.now = new Date('2026-03-03T00:00:00Z')
  const second = await t.plan(files)
  assert.ok(await second.install())
  assert.equal(t.made(), 1)
  assert.equal(readFileSync(join(second.checkout, macro), 'utf8'), 'packages: [a]\n')
  writeFileSync(join(second.checkout, macro), 'changed by a job')
  const third = await t.plan(files)
  await third.install()
  assert.equal(readFileSync(join(third.checkout, macro), 'utf8'), 'packages: [a]\n')
  await (await t.plan({ ...files, 'packages.yml': 'packages: [b]\n' })).install()
  assert.equal(t.made(), 2)
  const unlocked = { 'dbt_project.yml': 'name: x\n', 'dependencies.yml': 'x\n', 'packages.yml': 'y\n' }
  await (await t.plan(unlocked)).install()
  await (await t.plan(unlocked)).install()
  assert.equal(t.made(), 3)
  t.now = new Date('2026-03-04T00:00:00Z')
  await (await t.plan(unlocked)).install()
  assert.equal(t.made(), 4, 'without a lock file there may be newer ones')
  assert.equal((await t.plan({ 'packages.yml': 'no project of dbt\n' })).script, null)
  const own = { 'dbt_project.yml': 'name: x\n', 'packages.yml': 'local\n', 'package-lock.yml': 'lock\n' }
  await (await t.plan(own)).install()
  await (await t.plan(own)).install()
  assert.equal(t.made(), 6, 'a package of the repository itself belongs to its checkout')
})

test('nothing outside of a checkout is read or written on its behalf', async () => {
  using t = yard()
  const outside = join(t.path, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), 'a==1\n')
  const checkout = join(t.path, 'checkout')
  mkdirSync(join(checkout, 'inner'), { recursive: true })
  const link = join(checkout, 'requirements.txt')
  for (const target of [join(outside, 'secret'), '../outside/secret', '/dev/zero', '/proc/self/environ', '.']) {
    symlinkSync(target, link)
    assert.equal(await readRequirements(checkout), null, target)
    rmSync(link)
  }
  execFileSync('mkfifo', [link])
  assert.equal(await readRequirements(checkout), null)
  rmSync(link)
  writeFileSync(link, '-r ../outside/secret\n-r /etc/hostname\n-r requirements.txt\n')
  assert.deepEqual((await readRequirements(checkout))?.contents.slice(0, 1), ['requirements.txt'])
  assert.equal((await readRequirements(checkout))?.contents.length, 2)
  rmSync(link)
  writeFileSync(join(checkout, 'inner', 'real.txt'), 'a==1\n')
  symlinkSync('inner/real.txt', link)
  assert.equal((await readRequirements(checkout))?.isExact, true, 'a link that stays inside is followed')

  // A repository whose dbt_packages leads out: what is kept is not copied there.
  const files = { 'dbt_project.yml': 'name: x\n', 'packages.yml': 'p\n', 'package-lock.yml': 'l\n' }
  await (await t.plan(files)).install()
  const hostile = await t.plan(files)
  symlinkSync(outside, join(hostile.checkout, 'dbt_packages'))
  assert.ok(await hostile.install())
  assert.deepEqual(readdirSync(outside), ['secret'])
})

const level = await probeIsolation()
if (level === 'L0') couldNotRun('a virtual environment against commands at L1', 'this host allows no namespaces')

for (const isolation of level === 'L1' ? (['L1', 'L0'] as const) : (['L0'] as const)) {
  test(`a job that writes into its virtual environment changes nothing for the next run, at ${isolation}`, async () => {
    using t = yard()
    t.isOpenToCommands = isolation === 'L0'
    const executor = await createProcessExecutor({ isolation })
    const files = { 'requirements.txt': 'a==1\n' }
    const first = await t.plan(files)
    assert.ok(await first.install())
    const job = (text: string) => asJob(executor, first, text)
    const good = readFileSync(join(first.venv!, 'bin', 'tool'), 'utf8')
    const tries = [
      'echo bad > "$VIRTUAL_ENV/bin/tool"',
      'rm -rf "$VIRTUAL_ENV/bin"',
      'touch "$VIRTUAL_ENV/lib/new"',
      'ln -s /tmp "$VIRTUAL_ENV/lib/link"',
    ]
    for (const text of tries) assert.notEqual((await job(text)).end.code, 0, text)
    assert.equal((await t.plan(files)).venv, first.venv, 'it was tried and not done')
    for (const text of [
      `chmod -R u+w "$VIRTUAL_ENV"; echo bad > "$VIRTUAL_ENV/bin/tool"`,
      `chmod -R u+w "$VIRTUAL_ENV"; mv "$VIRTUAL_ENV/bin/tool" /tmp/x.$$; rm -f /tmp/x.$$`,
    ]) {
      const before = await t.plan(files)
      if (before.script !== null) assert.ok(await before.install())
      await asJob(executor, before, text)
      const next = await t.plan(files)
      if (next.script !== null) assert.ok(await next.install())
      assert.equal(
        readFileSync(join(next.venv!, 'bin', 'tool'), 'utf8').split('\n')[0],
        good.split('\n')[0]!.replace(first.venv!, next.venv!),
      )
      assert.equal(next.venv === before.venv, isolation === 'L1', 'where it could be changed it was made anew')
    }
    executor.close()
  })
}

const asJob = (executor: Executor, plan: Planned, text: string) =>
  finish(executor, {
    folder: plan.checkout,
    readOnly: [plan.venv!],
    text,
    environment: { PATH: SYSTEM_PATH, VIRTUAL_ENV: plan.venv! },
  })

test('what a job did to an environment is found also when it hid the traces that it can', async () => {
  using t = yard()
  t.isOpenToCommands = true
  const files = { 'requirements.txt': 'a==1\n' }
  const first = await t.plan(files)
  assert.ok(await first.install())
  const tool = join(first.venv!, 'bin', 'tool')
  chmodSync(tool, 0o755)
  const bytes = readFileSync(tool)
  writeFileSync(tool, bytes.fill(0x23))
  chmodSync(tool, 0o555)
  utimesSync(tool, t.now, t.now)
  const next = await t.plan(files)
  assert.notEqual(next.venv, first.venv)
  assert.ok(existsSync(first.venv!), 'another run may be using it')
})
