// A pull request from outside: a git host over https, hooks as it sends them, a real service that runs what was pushed, and
// the host's own interface, where the results arrive.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type GithubReceiver, githubReceiver } from '../service/test/receivers/github.ts'
import { githubHook, HOOK_SECRET, signHook, type TestPull } from '../service/test/support/git-hooks.ts'
import { type GitHost, gitHost } from '../service/test/support/git-host.ts'
import { type Client, clientOf } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

const LONG = 90_000
let host: GitHost
let github: GithubReceiver
let service: ServiceProcess
let client: Client
let environment: string
let turboCi: { readonly enabled: true; readonly deferredScheduleSlug: string }

before(async () => {
  host = await gitHost('https')
  github = await githubReceiver('team')
  service = await startProcess({ env: { ...host.variables, YARDMASTER_OUTGOING_ALLOW: '127.0.0.1' } })
  client = clientOf(service)
  const { username = 'x-access-token', token } = host.repository.credentials
  const repositoryUrl = host.repository.url.replace('https://', `https://${username}:${token}@`)
  const saved = await client.ask('mutation ($e: EnvironmentInput!) { createEnvironment(environment: $e) { slug } }', {
    e: { displayName: 'shop', repositoryUrl },
  })
  environment = saved.slug
  turboCi = { enabled: true, deferredScheduleSlug: await client.schedule(environment, ['true']) }
  await client.ask(
    `mutation ($api: String!, $token: String!, $secret: String!) { createIntegration(kind: GITHUB,
      settings: [{ name: "apiUrl", value: $api }],
      secrets: [{ name: "token", value: $token }, { name: "webhookSecret", value: $secret }]) { id } }`,
    { api: github.url, token: github.token, secret: HOOK_SECRET },
  )
})
after(async () => {
  await service?.stop()
  await github[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

async function hook(action: string, pull: TestPull, merged = false) {
  const { headers, body } = signHook('github', githubHook(action, { repository: host.repository.url, ...pull }, merged))
  const answer = await fetch(`${service.url}/hooks/github/${service.workspaceUid}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: new Uint8Array(body),
  })
  return { status: answer.status, json: (await answer.json()) as { runIds: number[] } }
}

const told = (commit: string) => github.statuses.filter((one) => one.commit === commit).map((one) => one.state)

test('what is pushed runs on that commit, a newer push cancels the older run, and the pull request is told', async () => {
  const slug = await client.schedule(environment, ['sh job.sh'], { turboCi })
  await host.git('switch', '--quiet', '--create', 'feature')
  const slow = await host.commit({ 'job.sh': 'echo slow; sleep 600\n' })
  const first = await hook('opened', { number: 7, commit: slow })
  assert.deepEqual([first.status, first.json.runIds.length], [200, 1])
  const [older] = first.json.runIds
  await client.until(async () => told(slow).includes('pending'), LONG)

  const quick = await host.commit({ 'job.sh': 'git rev-parse HEAD\n' })
  const second = await hook('synchronize', { number: 7, commit: quick })
  assert.equal((await client.ended(older!, LONG)).state, 'CANCELED')
  const ended = await client.ended(second.json.runIds[0]!, LONG)
  assert.equal(ended.state, 'SUCCESS', JSON.stringify(ended))
  assert.equal(ended.commands[2].stdout, `${quick}\n`)
  const { runs } = await client.ask(
    'query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 5) { runs { actor gitInfo { branch commitHash pullRequestId } } } }',
    { slug },
  )
  assert.deepEqual(runs[0], {
    actor: 'pull request',
    gitInfo: { branch: 'feature', commitHash: quick, pullRequestId: '7' },
  })
  await client.until(async () => told(quick).at(-1) === 'success' && told(slow).at(-1) === 'error', LONG)
  await client.until(async () => github.comments.length > 0, LONG)
  assert.equal(github.comments.length, 1)
  assert.match(github.comments[0]!.body, /✅ passed/)

  // A third push: the one comment is changed.
  const broken = await host.commit({ 'job.sh': 'exit 3\n' })
  const third = await hook('synchronize', { number: 7, commit: broken })
  assert.equal((await client.ended(third.json.runIds[0]!, LONG)).state, 'ERROR')
  await client.until(async () => /a command failed/.test(github.comments[0]!.body), LONG)
  assert.equal(github.comments.length, 1)
  await client.until(async () => told(broken).at(-1) === 'failure', LONG)
  assert.deepEqual(github.refused, [])
})

test('a commit of a fork, on no branch of ours, runs once it is allowed', async () => {
  await client.schedule(environment, ['git rev-parse HEAD'], { name: 'forks', turboCi })
  await host.git('switch', '--quiet', '--orphan', 'theirs')
  const commit = await host.commit({ 'job.sh': 'true\n' })
  // As hosts keep it: under a name of its own, not among the branches.
  await host.git('push', '--quiet', 'origin', `${commit}:refs/pull/9/head`)
  await host.git('push', '--quiet', 'origin', '--delete', 'theirs')
  const hooked = await hook('opened', { number: 9, commit, isFork: true })
  assert.deepEqual(hooked.json.runIds, [])
  await client.until(async () => told(commit).includes('pending'), LONG)
  const { pullRequests } = await client.ask('{ listPullRequests { pullRequests { id number waits headCommit } } }')
  const pull = pullRequests.find((one: { number: number }) => one.number === 9)
  assert.equal(pull.waits, true)
  const allow = 'mutation ($id: Int!, $commit: String!) { allowPullRequest(id: $id, commit: $commit) { runIds } }'
  const { runIds } = await client.ask(allow, { id: pull.id, commit })
  assert.equal(runIds.length, 2)
  for (const runId of runIds) {
    const ended = await client.ended(runId, LONG)
    assert.equal(ended.state, 'SUCCESS', JSON.stringify(ended))
  }
})

test('a merge runs what waits for one, a replay and a stranger start nothing', async () => {
  const slug = await client.schedule(environment, ['true'], { gitBranch: 'main', triggerOnMerge: true })
  const merged = await hook('closed', { number: 7, commit: 'b'.repeat(40) }, true)
  assert.equal(merged.json.runIds.length, 1)
  assert.equal((await client.ended(merged.json.runIds[0]!, LONG)).state, 'SUCCESS')
  assert.deepEqual((await hook('closed', { number: 7, commit: 'b'.repeat(40) }, true)).json.runIds, [])
  const stranger = await fetch(`${service.url}/hooks/github/${service.workspaceUid}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'pull_request',
      'x-github-delivery': 'stranger-1',
    },
    body: JSON.stringify(githubHook('closed', { number: 8 }, true)),
  })
  assert.equal(stranger.status, 401)
  const { runs } = await client.ask(
    'query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 5) { runs { actor } } }',
    { slug },
  )
  assert.deepEqual(runs, [{ actor: 'merge' }])
})
