import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { type TestRepository, testRepository } from '../../test/support/repository.ts'
import { gitSource } from '../adapters/source/git.ts'
import { AppError } from '../domain/errors.ts'
import { findingLine } from '../domain/schedule-file.ts'
import type { FileSource } from '../ports/source.ts'
import { SourceFault } from '../ports/source.ts'
import type { AgentDefinitions } from './agent-definitions.ts'
import { agentDefinitions } from './agent-definitions.ts'
import type { Context } from './context.ts'
import { createEnvironment } from './environments.ts'

const agent = (name: string, more = ''): string =>
  `name: ${name}\nversion: 1\nrole: Role of ${name}\ngoal: A goal\nbackstory: A story\n${more}`
const signal = new AbortController().signal

interface Fixture extends AsyncDisposable {
  readonly t: TestApp
  readonly ctx: Context
  readonly repository: TestRepository
  readonly definitions: AgentDefinitions
}

async function fixture(files: Readonly<Record<string, string>>): Promise<Fixture> {
  const t = await testApp()
  const repository = await testRepository(files)
  const ctx = t.inside(await t.workspace('Here'))
  const folder = join(repository.folder, '.git', 'mirrors')
  const source = gitSource({ folder, path: process.env.PATH ?? '', now: Date.now })
  return {
    t,
    ctx,
    repository,
    definitions: agentDefinitions({ source }),
    [Symbol.asyncDispose]: async () => {
      await repository[Symbol.asyncDispose]()
      await t.close()
    },
  }
}

const refusal = async (work: Promise<unknown>): Promise<AppError> => {
  const error = await work.then(() => undefined).catch((one: unknown) => one)
  assert.ok(error instanceof AppError, String(error))
  return error
}

test('files and built-in agents are listed together, and a file takes the place of a built-in one', async () => {
  await using f = await fixture({
    '.dinoai/agents/reviewer.yml': agent('reviewer'),
    '.dinoai/agents/assistant.yaml': agent('assistant', 'environment: production\n'),
    '.dinoai/agents/broken.yml': agent('other'),
  })
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  const { agents, commit, warning } = await f.definitions.list(f.ctx, signal)
  assert.deepEqual([commit, warning], [await f.repository.git('rev-parse', 'HEAD'), ''])
  assert.deepEqual(
    agents.map((one) => [one.name, one.file, one.builtIn, one.definition?.role ?? null, one.findings.length]),
    [
      ['assistant', '.dinoai/agents/assistant.yaml', false, 'Role of assistant', 0],
      ['broken', '.dinoai/agents/broken.yml', false, null, 1],
      ['healer', '', true, 'Engineer on call for failed runs', 0],
      ['reviewer', '.dinoai/agents/reviewer.yml', false, 'Role of reviewer', 0],
    ],
  )
  const found = await f.definitions.find(f.ctx, 'assistant', signal)
  assert.deepEqual(
    [found.definition.environment, found.environment.slug, found.commit],
    ['production', 'production', commit],
  )
})

test('what was pushed a moment ago is found, and what the file warns of is told', async () => {
  await using f = await fixture({ 'README.md': 'nothing yet' })
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  const unknown = await refusal(f.definitions.find(f.ctx, 'asistant', signal))
  assert.deepEqual([unknown.code, unknown.message], ['NOT_FOUND', 'No agent "asistant". Did you mean assistant?'])
  const tools = 'tools: {mode: allowlist, list: [read_file, nothing_like_it]}\n'
  const commit = await f.repository.commit({ '.dinoai/agents/late.yml': agent('late', tools) })
  const found = await f.definitions.find(f.ctx, 'late', signal)
  assert.deepEqual([found.commit, found.definition.tools?.list], [commit, ['read_file']])
  assert.match(found.warnings.join(), /late\.yml:6:44: warning: .*"nothing_like_it"/)
})

test('a bad file is refused with its lines, also where it would take the place of a built-in agent', async () => {
  await using f = await fixture({ '.dinoai/agents/healer.yml': agent('healer', 'hooks: [x]\nenvironment: nowhere\n') })
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  const { code, message } = await refusal(f.definitions.find(f.ctx, 'healer', signal))
  assert.equal(code, 'INVALID_INPUT')
  assert.match(message, /healer\.yml:6:1: .*"hooks".* \.dinoai\/agents\/healer\.yml:7:14: environment: no "nowhere"/)
})

test('the default environment of agents comes before that of schedules, and one without a repository is passed over', async () => {
  await using f = await fixture({ '.dinoai/agents/one.yml': agent('one') })
  await using other = await testRepository({ '.dinoai/agents/two.yml': agent('two', 'environment: bare\n') })
  const names = async () =>
    (await f.definitions.list(f.ctx, signal)).agents.filter((one) => !one.builtIn).map((one) => one.name)
  const none = await refusal(f.definitions.find(f.ctx, 'assistant', signal))
  assert.equal(none.code, 'CONFLICT')
  assert.match(none.message, /set repositoryUrl/)
  assert.match((await f.definitions.list(f.ctx, signal)).warning, /this workspace has none/)
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  await createEnvironment(f.ctx, { displayName: 'bare', type: 'agent' })
  assert.deepEqual(await names(), ['one'])
  await createEnvironment(f.ctx, {
    displayName: 'Agents',
    type: 'agent',
    isDefault: true,
    repositoryUrl: other.folder,
  })
  assert.deepEqual(await names(), ['two'])
  // Its own environment is there, but has nothing to work on.
  const { code, message } = await refusal(f.definitions.find(f.ctx, 'two', signal))
  assert.deepEqual([code, /"bare", which has no repository/.test(message)], ['CONFLICT', true])
})

test('a host that does not answer refuses to start, built-in agents too, and the list says why it is short', async () => {
  await using f = await fixture({})
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  const away: FileSource = { files: () => Promise.reject(new SourceFault('the host does not answer')) }
  const definitions = agentDefinitions({ source: away })
  const { code, message } = await refusal(definitions.find(f.ctx, 'assistant', signal))
  assert.deepEqual([code, message], ['UNAVAILABLE', 'The files of agents could not be read: the host does not answer.'])
  const list = await definitions.list(f.ctx, signal)
  assert.deepEqual([list.warning, list.agents.length], [message, 2])
})

test('a symbolic link is refused with the reason', async () => {
  await using f = await fixture({ '.dinoai/agents/one.yml': agent('one') })
  await createEnvironment(f.ctx, { displayName: 'Production', repositoryUrl: f.repository.folder })
  await symlink('/etc/passwd', join(f.repository.folder, '.dinoai', 'agents', 'link.yml'))
  await f.repository.commit({})
  const { agents } = await f.definitions.list(f.ctx, signal)
  const link = agents.find((one) => one.name === 'link')
  assert.deepEqual(link?.findings.map(findingLine), [
    '.dinoai/agents/link.yml: is a symbolic link, which is not followed.',
  ])
})
