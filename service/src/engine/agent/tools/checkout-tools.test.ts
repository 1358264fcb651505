// The shell and git as a model has them: a real repository, a real sandbox where this machine offers one.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { AUTHOR, type CheckoutScene, checkoutScene, never, SESSION } from '../../../../test/support/agent-checkout.ts'
import { callTool } from '../../../../test/support/checkout-tools.ts'
import { couldNotRun } from '../../../../test/support/could-not-run.ts'
import { testRepository } from '../../../../test/support/repository.ts'
import { probeSandbox } from '../../../adapters/sandbox/probe.ts'
import { TOOL_NAMES } from '../../../domain/agent-tools.ts'
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts'
import type { OpenedCheckout } from '../checkout.ts'
import { checkoutTools } from './checkout-tools.ts'

const probed = await probeSandbox({ wanted: 'auto', hidden: [], outgoing: { allow: [] }, container: null })
after(() => probed.close())
if (probed.sandbox === null) couldNotRun('the shell of agents', probed.why)

interface Scene extends AsyncDisposable {
  readonly scene: CheckoutScene
  readonly checkout: OpenedCheckout
  remote(...argv: string[]): Promise<string>
  call(name: string, input?: Record<string, unknown>, key?: string): Promise<string>
}

async function begun(sandbox: AgentSandbox | null, venv: string | null = null): Promise<Scene> {
  const origin = await testRepository({ 'README.md': 'one\n', 'models/a.sql': 'select 1\n' })
  const scene = await checkoutScene(origin.folder)
  const checkout = await scene.open()
  const repositoryOf = async () => scene.repository
  const tools = checkoutTools({
    git: scene.ports.git,
    sandbox,
    author: AUTHOR,
    repositoryOf,
    egressHosts: [],
    venv: async () => venv,
  })
  return {
    scene,
    checkout,
    remote: origin.git,
    call: async (name, input = {}, key = `${SESSION}:1`) => {
      const { text, isError } = await callTool(tools, name, input, { checkout, key })
      return isError ? `refused: ${text}` : text
    },
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]()
      await origin[Symbol.asyncDispose]()
    },
  }
}

test('every tool is one of the table, and without a sandbox there is no shell', () => {
  const names = (sandbox: AgentSandbox | null): string[] =>
    checkoutTools({ sandbox, egressHosts: [], venv: null, author: AUTHOR } as unknown as Parameters<
      typeof checkoutTools
    >[0]).map((tool) => tool.name)
  const all = names({ kind: 'namespaces', noEgress: null, run: () => Promise.reject(new Error('never')) })
  assert.deepEqual(
    all.filter((name) => !TOOL_NAMES.some((known) => known === name)),
    [],
  )
  assert.deepEqual(
    all.filter((name) => !names(null).includes(name)),
    ['run_terminal_command'],
  )
})

for (const sandbox of probed.sandbox === null ? [null] : [probed.sandbox, null]) {
  const where = sandbox === null ? 'without a sandbox' : `in ${sandbox.kind}`

  test(`${where}: status, diff and log show what was done, and commit and push do it`, async () => {
    await using here = await begun(sandbox)
    const { call, checkout, remote } = here
    const main = await remote('rev-parse', 'main')
    assert.equal(await call('git_status'), `## agent/${SESSION}/work`)
    assert.match(await call('git_push'), /^refused: There is no commit to push/)
    assert.match(await call('git_commit', { message: 'Nothing' }), /^refused: There is nothing to commit/)
    await call('edit_file', { path: 'models/a.sql', old_text: '1', new_text: '2' })
    await call('write_file', { path: 'models/b.sql', content: 'select 3\n' })
    assert.equal(await call('git_status'), `## agent/${SESSION}/work\n M models/a.sql\n?? models/b.sql`)
    assert.match(await call('git_diff'), /-select 1\n\+select 2$/)
    assert.equal(await call('git_diff', { path: 'README.md' }), 'Nothing to show.')
    assert.match(await call('git_diff', { path: '../x' }), /^refused: A path cannot lead upwards/)
    assert.match(
      await call('git_commit', { message: 'Mend a' }),
      /^Committed [0-9a-f]{12} on agent\/\w+\/work \(2 files\)\.$/,
    )
    assert.match(await call('git_commit', { message: 'Mend a' }), /^Committed/, 'the same call again does nothing more')
    assert.match(await call('git_commit', { message: 'Mend a' }, `${SESSION}:2`), /^refused: There is nothing/)
    const log = await call('git_log', { count: 5 })
    assert.match(log, /^[0-9a-f]+ \S+ Agent: Mend a\n[0-9a-f]+ \S+ Test: Change$/)
    assert.match(await call('git_log', { count: 1, patch: true, path: 'models/b.sql' }), /\+select 3$/)
    assert.match(await call('git_diff', { since_base: true }), /\+select 2(?:.|\n)*\+select 3$/)
    assert.match(await call('git_push'), /^Pushed [0-9a-f]{12} to the branch agent\/\w+\/work\.$/)
    assert.match(await call('git_push'), /already/)
    const pushed = await remote('log', '-1', '--format=%an %ae%n%B', checkout.branch)
    assert.equal(pushed, `Agent agent@example.com\nMend a\n\nAgent-Call: ${SESSION}:1`)
    assert.equal(await remote('rev-parse', 'main'), main)
  })
}

if (probed.sandbox !== null) {
  const { sandbox } = probed

  test('a command works on the files, sees git and cannot change it', async () => {
    await using here = await begun(sandbox)
    const { call, checkout } = here
    const before = readFileSync(join(checkout.gitFolder, 'HEAD'), 'utf8')
    const text = await call('run_terminal_command', {
      command:
        'echo new > new.txt; chmod +x new.txt; git status --short; git log --oneline | wc -l; git add . || echo closed; git commit -am x || echo closed; exit 7',
    })
    assert.match(text, /^exit code 7\n\?\? new.txt\n1\n/)
    assert.equal(text.match(/^closed$/gm)?.length, 2)
    assert.equal(readFileSync(join(checkout.gitFolder, 'HEAD'), 'utf8'), before)
    // What a command made, perhaps as another user, the tools read and change.
    assert.equal(await call('read_file', { path: 'new.txt' }), 'new\n')
    await call('edit_file', { path: 'new.txt', old_text: 'new', new_text: 'newer' })
    assert.match(
      await call('run_terminal_command', {
        command: 'cat new.txt; echo more >> new.txt; test -x new.txt && echo runs',
      }),
      /newer\nruns$/,
    )
    assert.match(await call('git_commit', { message: 'New' }), /1 file/)
    const { key } = await checkout.keep(never)
    assert.notEqual(key, '')
  })

  test('a command that takes too long is killed, and says so', async () => {
    await using here = await begun(sandbox)
    assert.equal(
      await here.call('run_terminal_command', { command: 'echo begun; sleep 1000', timeout_seconds: 1 }),
      'killed after 1 s\nbegun',
    )
    assert.match(await here.call('run_terminal_command', { command: 'x\0y' }), /^refused/)
  })

  test('a nested repository with hostile settings hurts nobody: git that only reads is in the sandbox', async () => {
    await using here = await begun(sandbox)
    const { call, checkout, scene } = here
    const canary = join(scene.folder, 'canary')
    const command = [
      'git init -q evil && cd evil && git config user.name x && git config user.email x@y && git commit -q --allow-empty -m x',
      `git config core.fsmonitor 'echo bitten > ${canary}; echo bitten > ${checkout.gitFolder}/bitten'`,
      'cd .. && rm .git && mkdir .git && cp -r evil/.git/. .git/',
    ].join(' && ')
    assert.match(await call('run_terminal_command', { command }), /^exit code 0/)
    for (const name of ['git_status', 'git_diff', 'git_log']) await call(name)
    await call('write_file', { path: 'x', content: 'x' })
    assert.match(await call('git_commit', { message: 'x' }), /"evil\/" is a repository of its own/)
    await checkout.keep(never)
    assert.ok(!existsSync(canary) && !existsSync(join(checkout.gitFolder, 'bitten')))
  })

  test('the programs of a virtual environment are there, and cannot be changed', async () => {
    await using here = await begun(null)
    const venv = join(here.scene.folder, 'venv')
    mkdirSync(join(venv, 'bin'), { recursive: true })
    writeFileSync(join(venv, 'bin', 'dbt'), '#!/bin/sh\necho "dbt of $VIRTUAL_ENV"\n')
    chmodSync(join(venv, 'bin', 'dbt'), 0o755)
    await using with_ = await begun(sandbox, venv)
    const text = await with_.call('run_terminal_command', { command: `dbt; echo x > ${venv}/bin/dbt` })
    assert.match(text, new RegExp(`^exit code [^0]\\d*\\ndbt of ${venv}\\n`))
    assert.match(readFileSync(join(venv, 'bin', 'dbt'), 'utf8'), /dbt of/)
  })
}
