import assert from 'node:assert/strict'
import { test } from 'node:test'
import { githubHook, githubPull, gitlabHook, gitlabMerge, HOOK_SECRET, signHook } from '../../test/support/git-hooks.ts'
import { hookId, isSigned } from './hook-signature.ts'
import { branchOfPull, readGithubHook, readGithubPull, readGitlabHook, readGitlabMerge } from './pull-request.ts'
import { pathOfRepository, repositoryOf } from './repository-address.ts'

const EXPECTED = {
  number: 7,
  title: 'Add amounts',
  author: 'ana',
  headCommit: 'a'.repeat(40),
  headBranch: 'feature',
  baseBranch: 'main',
  isFork: false,
}

test('a pull request that is opened, reopened or pushed to is read alike from both hosts', () => {
  for (const action of ['opened', 'reopened', 'synchronize']) {
    const event = readGithubHook('pull_request', githubHook(action))
    assert.partialDeepStrictEqual(event, {
      kind: 'open',
      pull: { ...EXPECTED, provider: 'github', repository: 'github.com/acme/shop' },
    })
  }
  for (const message of [
    gitlabHook('open'),
    gitlabHook('reopen'),
    gitlabHook('update', {}, { oldrev: 'b'.repeat(40) }),
  ]) {
    assert.partialDeepStrictEqual(readGitlabHook(message), {
      kind: 'open',
      pull: { ...EXPECTED, provider: 'gitlab', repository: 'gitlab.com/acme/shop' },
    })
  }
  assert.deepEqual(readGithubPull(githubPull(), 'github.com/acme/shop')?.headCommit, EXPECTED.headCommit)
  assert.deepEqual(readGitlabMerge(gitlabMerge(), 'gitlab.com/acme/shop')?.number, 7)
})

test('an end is told from a merge, a push from a tag, and everything else is nothing', () => {
  assert.equal(readGithubHook('pull_request', githubHook('closed')).kind, 'closed')
  assert.equal(readGithubHook('pull_request', githubHook('closed', {}, true)).kind, 'merged')
  assert.equal(readGitlabHook(gitlabHook('close')).kind, 'closed')
  assert.equal(readGitlabHook(gitlabHook('merge')).kind, 'merged')
  const push = { ref: 'refs/heads/a/b', repository: { clone_url: 'https://github.com/Acme/Shop.git' } }
  assert.deepEqual(readGithubHook('push', push), { kind: 'pushed', repository: 'github.com/acme/shop', branch: 'a/b' })
  assert.equal(readGithubHook('push', { ...push, ref: 'refs/tags/v1' }).kind, 'other')
  // Only a title changed.
  assert.equal(readGitlabHook(gitlabHook('update')).kind, 'other')
  for (const [event, body] of [
    ['pull_request', githubHook('labeled')],
    ['ping', { zen: 'x' }],
    ['pull_request', null],
    ['pull_request', []],
    ['pull_request', { action: 'opened' }],
    ['pull_request', githubHook('opened', { commit: '--upload-pack=x' })],
    ['pull_request', githubHook('opened', { branch: '' })],
    ['pull_request', githubHook('opened', { number: 2 ** 31 })],
    ['pull_request', githubHook('opened', { number: 0 })],
  ] as const) {
    assert.equal(readGithubHook(event, body).kind, 'other', JSON.stringify(body))
  }
})

test('a fork is known by its repository, also when that is gone', () => {
  const fork = readGithubPull(githubPull({ isFork: true }), 'r/x')
  assert.equal(fork?.isFork, true)
  assert.equal(branchOfPull(fork), EXPECTED.headCommit)
  const gone = { ...githubPull(), head: { sha: EXPECTED.headCommit, ref: 'feature', repo: null } }
  assert.equal(readGithubPull(gone, 'r/x')?.isFork, true)
  assert.equal(readGitlabMerge(gitlabMerge({ isFork: true }), 'r/x')?.isFork, true)
})

test('a hook is believed by its secret alone, and every other one is not', () => {
  for (const provider of ['github', 'gitlab'] as const) {
    const { headers, body } = signHook(provider, githubHook('opened'))
    assert.equal(isSigned(provider, HOOK_SECRET, headers, body), true)
    assert.equal(isSigned(provider, `${HOOK_SECRET}x`, headers, body), false)
    assert.equal(isSigned(provider, '', headers, body), false)
    assert.equal(isSigned(provider, HOOK_SECRET, {}, body), false)
    assert.notEqual(hookId(provider, headers), null)
    assert.equal(hookId(provider, {}), null)
  }
  const { headers, body } = signHook('github', githubHook('opened'))
  assert.equal(isSigned('github', HOOK_SECRET, headers, Buffer.concat([body, Buffer.from(' ')])), false)
  assert.equal(isSigned('gitlab', '', { 'x-gitlab-token': '' }, body), false)
  assert.equal(hookId('github', { 'x-github-delivery': "x' or 1" }), null)
})

test('the many addresses of a repository are one', () => {
  for (const url of [
    'https://github.com/acme/shop.git',
    'https://github.com/Acme/shop',
    'https://user:token@github.com/acme/shop.git/',
    'git@github.com:acme/shop.git',
    'ssh://git@github.com/acme/shop.git',
    'ssh://git@github.com:22/acme/shop',
  ]) {
    assert.equal(repositoryOf(url), 'github.com/acme/shop', url)
  }
  assert.equal(repositoryOf('https://git.example.com:8443/a/b/c.git'), 'git.example.com:8443/a/b/c')
  assert.equal(repositoryOf('/srv/git/shop/'), '/srv/git/shop')
  assert.equal(repositoryOf('no address'), '')
  assert.equal(pathOfRepository('github.com/acme/shop'), 'acme/shop')
  assert.equal(pathOfRepository('/srv/git/shop'), null)
})
