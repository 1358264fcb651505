import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { AUTHOR, never, SESSION } from '../../../test/support/agent-checkout.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import { openCheckout } from '../../engine/agent/checkout.ts'
import { SourceFault } from '../../ports/source.ts'
import { openFilesystemBlobs } from '../blob/filesystem.ts'
import { agentGit } from './agent-git.ts'
import { requireOwnBranch } from './push.ts'

test('a session pushes branches under its own prefix and no other', () => {
  const prefix = `agent/${SESSION}/`
  for (const word of ['work', 'fix-orders', 'a.b_c', 'A1']) requireOwnBranch(SESSION, `${prefix}${word}`)
  const refused = [
    ...['main', 'master', 'HEAD', '', 'agent', 'agent/', prefix, 'agent/b1b2c3d4e5f6a7b8/work', `x${prefix}work`],
    ...[`refs/heads/main`, `refs/heads/${prefix}work`, `+${prefix}work`, ` ${prefix}work`, `${prefix}../../main`],
    ...[`${prefix}a:refs/heads/main`, `${prefix}a b`, `${prefix}a\nb`, `${prefix}-f`, `${prefix}.x`, `${prefix}a..b`],
    ...[
      `${prefix}a.lock`,
      `${prefix}a.LOCK`,
      `${prefix}a.`,
      `${prefix}a/b`,
      `${prefix}a~1`,
      `${prefix}a^`,
      `${prefix}*`,
    ],
    ...[
      `${prefix}a@{1}`,
      `${prefix}\u0000`,
      `AGENT/${SESSION}/work`,
      `--force`,
      `--mirror`,
      `${prefix}${'a'.repeat(100)}`,
    ],
  ]
  for (const branch of refused)
    assert.throws(() => requireOwnBranch(SESSION, branch), SourceFault, JSON.stringify(branch))
  for (const session of ['', '.*', 'a', `${SESSION}/x`, '../../../../main'])
    assert.throws(() => requireOwnBranch(session, `agent/${session}/work`), SourceFault, session)
})

for (const transport of ['local path', 'https', 'ssh'] as const) {
  describe(`over ${transport}`, () => {
    let host: GitHost
    before(async () => {
      host = await gitHost(transport)
      if (transport === 'https')
        await host.git('--git-dir', join(host.folder, '..', 'origin', 'team.git'), 'config', 'http.receivepack', 'true')
    })
    after(async () => await host[Symbol.asyncDispose]())

    const session = { id: SESSION, attempt: 1, baseBranch: 'main', baseCommit: '', branch: '', treeKey: '' }
    const opened = async () => {
      const { path, variables, repository } = host
      const git = agentGit({ folder: join(host.folder, 'mirrors'), path, variables, now: () => Date.now() })
      const ports = {
        git,
        blobs: await openFilesystemBlobs(join(host.folder, 'blobs')),
        place: join(host.folder, 'agents'),
      }
      return {
        git,
        repository,
        checkout: await openCheckout(ports, { session, workspaceUid: repository.workspaceUid, repository }, never),
      }
    }
    const at = async (branch: string): Promise<string> =>
      (await host.git('ls-remote', 'origin', `refs/heads/${branch}`)).split('\t')[0] ?? ''

    test('commits of a session arrive on its branch, once, and main stays where it is', async () => {
      const { git, repository, checkout } = await opened()
      const main = await at('main')
      const push = () => git.push(checkout, { repository, session: SESSION, branch: checkout.branch }, never)
      await writeFile(join(checkout.folder, 'one'), '1')
      const first = await git.commit(checkout, { message: 'One', author: AUTHOR, paths: null }, never)
      assert.deepEqual(await push(), { kind: 'pushed', commit: first?.commit })
      assert.deepEqual(await push(), { kind: 'already there', commit: first?.commit })
      assert.equal(await at(checkout.branch), first?.commit)
      await writeFile(join(checkout.folder, 'two'), '2')
      const second = await git.commit(checkout, { message: 'Two', author: AUTHOR, paths: null }, never)
      assert.deepEqual(await push(), { kind: 'pushed', commit: second?.commit })
      assert.equal(await at('main'), main)
      for (const branch of ['main', 'agent/b1b2c3d4e5f6a7b8/work']) {
        await git.read(checkout, ['update-ref', `refs/heads/${branch}`, 'HEAD'], never)
        const pushing = git.push(checkout, { repository, session: SESSION, branch }, never)
        await assert.rejects(pushing, /can only push branches that begin with agent\//)
      }
      assert.equal(await at('agent/b1b2c3d4e5f6a7b8/work'), '')
      assert.equal(await at('main'), main)
      if (host.secret !== null) {
        const calls = (await host.calls()).join('\n')
        assert.ok(!calls.includes(host.secret), 'a credential was an argument')
      }
    })

    test('what somebody else put on the branch is never overwritten', async () => {
      const { git, repository, checkout } = await opened()
      await host.git('fetch', '--quiet', 'origin', checkout.branch)
      await host.git('checkout', '--quiet', '-B', 'theirs', 'FETCH_HEAD')
      await host.git('commit', '--quiet', '--allow-empty', '--message', 'Of a person')
      await host.git('push', '--quiet', 'origin', `HEAD:refs/heads/${checkout.branch}`)
      const theirs = await at(checkout.branch)
      await writeFile(join(checkout.folder, 'mine'), '1')
      await git.commit(checkout, { message: 'Mine', author: AUTHOR, paths: null }, never)
      const pushed = await git.push(checkout, { repository, session: SESSION, branch: checkout.branch }, never)
      assert.equal(pushed.kind, 'refused')
      assert.match(pushed.kind === 'refused' ? pushed.why : '', /not this session’s/)
      assert.equal(await at(checkout.branch), theirs)
    })

    test('without the credentials the host refuses, and nothing secret is in the words', async (t) => {
      if (host.secret === null) return t.skip('this transport knows no credentials')
      const { git, checkout } = await opened()
      await writeFile(join(checkout.folder, 'mine'), '1')
      await git.commit(checkout, { message: 'Mine', author: AUTHOR, paths: null }, never)
      const pushed = await git.push(
        checkout,
        { repository: host.stranger, session: SESSION, branch: checkout.branch },
        never,
      )
      assert.equal(pushed.kind, 'refused')
      assert.match(pushed.kind === 'refused' ? pushed.why : '', /refused the credentials/)
    })
  })
}
