// git for the model. What only reads runs in the sandbox, where there is one, with the git folder read-only; without a
// sandbox no command ever wrote into the tree, and the hardened git of the host reads it. Commits and pushes are the
// host's, to the branch of the session alone.
import type { AgentSession } from '../../../domain/agent-session.ts'
import type { AgentGit, GitAuthor } from '../../../ports/agent-git.ts'
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts'
import { StartFault } from '../../../ports/executor.ts'
import { type Repository, SourceFault } from '../../../ports/source.ts'
import { answering } from './files.ts'
import { namesOf } from './paths.ts'
import { SANDBOX_GIT } from './sandbox-git.ts'
import { refused, said, type Tool, type ToolContext, type ToolResult } from './tool.ts'

export interface GitDeps {
  readonly git: AgentGit
  readonly sandbox: AgentSandbox | null
  readonly author: GitAuthor
  /** With the credentials of the session's environment. */
  repositoryOf(session: AgentSession): Promise<Repository>
}

const OUTPUT_BYTES = 60_000
const SECONDS = 60
const LONGEST_MESSAGE = 10_000
const MOST_COMMITS = 50

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Of every command that shows something: nothing of the repository's own choosing is run for it. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=all', '--no-color']

async function read({ git, sandbox }: GitDeps, of: ToolContext, argv: readonly string[]): Promise<ToolResult> {
  const { checkout, signal } = of
  if (sandbox === null) {
    const { code, output } = await git.read(checkout, argv, signal)
    const text = output.length > OUTPUT_BYTES ? `${output.slice(0, OUTPUT_BYTES)}\n[the rest was left out]` : output
    return code === 0 ? said(text.trimEnd() || 'Nothing to show.') : refused(text)
  }
  const done = await sandbox.run(
    {
      text: ['exec', 'git', '--git-dir', checkout.gitFolder, '--work-tree', checkout.folder, ...argv]
        .map(quote)
        .join(' ')
        .replace("'exec'", 'exec'),
      folder: checkout.folder,
      readOnly: [checkout.gitFolder],
      environment: { ...SANDBOX_GIT, GIT_LITERAL_PATHSPECS: '1' },
      seconds: SECONDS,
      outputBytes: OUTPUT_BYTES,
      egressHosts: [],
    },
    signal,
  )
  return done.code === 0
    ? said(done.output.trimEnd() || 'Nothing to show.')
    : refused(done.output || 'git did not answer in time.')
}

/** What git or the host refuse is for the model. */
async function told(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await answering(work)
  } catch (error) {
    if (error instanceof SourceFault) return refused(`${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`)
    if (error instanceof StartFault) return refused(`git could not be started: ${error.message}`)
    throw error
  }
}

const PATH = { type: 'string', minLength: 1, description: 'A file or folder, relative to the root of the repository.' }

const behind = (of: ToolContext, path: unknown): string[] =>
  typeof path === 'string' ? ['--', namesOf(of.checkout.folder, path).join('/') || '.'] : []

export function gitTools(deps: GitDeps): Tool[] {
  const status: Tool = {
    name: 'git_status',
    description: 'Shows the branch and which files were changed, added or removed since the last commit.',
    input: { type: 'object', properties: {}, additionalProperties: false },
    run: (of) =>
      told(() => read(deps, of, ['status', '--short', '--branch', '--untracked-files=all', '--ignore-submodules=all'])),
  }
  const diff: Tool = {
    name: 'git_diff',
    description:
      'Shows what changed since the last commit, or with since_base since the session began. New files are shown by git_status until they are committed.',
    input: {
      type: 'object',
      properties: { path: PATH, since_base: { type: 'boolean' } },
      additionalProperties: false,
    },
    run: (of, { path, since_base }) =>
      told(() => {
        const from = since_base === true ? of.checkout.baseCommit : 'HEAD'
        return read(deps, of, ['diff', ...PLAIN, from, ...behind(of, path)])
      }),
  }
  const log: Tool = {
    name: 'git_log',
    description: 'Shows the last commits: of everything, or of a path; with patch what each changed.',
    input: {
      type: 'object',
      properties: {
        count: { type: 'integer', minimum: 1, maximum: MOST_COMMITS },
        path: PATH,
        patch: { type: 'boolean' },
      },
      additionalProperties: false,
    },
    run: (of, { count, path, patch }) =>
      told(() => {
        const many = typeof count === 'number' ? Math.min(count, MOST_COMMITS) : 10
        const format = ['--no-show-signature', '--date=iso-strict', '--format=%h %ad %an: %s']
        const shown = patch === true ? ['--patch', ...PLAIN] : ['--no-patch']
        return read(deps, of, ['log', `--max-count=${many}`, ...format, ...shown, 'HEAD', ...behind(of, path)])
      }),
  }
  return [status, diff, log, commitTool(deps), pushTool(deps)]
}

/** In the message of the commit, so that a call that is run again finds what it did. */
const trailerOf = (key: string): string => `Agent-Call: ${key}`

function commitTool({ git, author }: GitDeps): Tool {
  return {
    name: 'git_commit',
    description:
      "Commits changes to the session's own branch: all of them, new files too, or those of some paths. Nothing is pushed.",
    input: {
      type: 'object',
      properties: {
        message: { type: 'string', minLength: 1, maxLength: LONGEST_MESSAGE },
        paths: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 200 },
      },
      required: ['message'],
      additionalProperties: false,
    },
    run: (of, { message, paths }) =>
      told(async () => {
        const { checkout, signal, key } = of
        const text = String(message).replaceAll('\0', '').trim()
        if (text === '') return refused('The message is empty.')
        const head = await git.head(checkout, signal)
        if (head.message.includes(trailerOf(key)))
          return said(`Committed ${head.commit.slice(0, 12)} on ${checkout.branch}.`)
        const wanted = Array.isArray(paths) ? paths.map((one) => namesOf(checkout.folder, String(one)).join('/')) : null
        const made = await git.commit(
          checkout,
          { message: `${text}\n\n${trailerOf(key)}`, author, paths: wanted },
          signal,
        )
        if (made === null) return refused('There is nothing to commit.')
        const files = `${made.files} ${made.files === 1 ? 'file' : 'files'}`
        return said(
          [`Committed ${made.commit.slice(0, 12)} on ${checkout.branch} (${files}).`, ...made.notes].join('\n'),
        )
      }),
  }
}

function pushTool({ git, repositoryOf }: GitDeps): Tool {
  return {
    name: 'git_push',
    description:
      "Pushes the commits of the session's own branch to the repository. No other branch can be pushed, and nothing is ever forced.",
    input: { type: 'object', properties: {}, additionalProperties: false },
    run: (of) =>
      told(async () => {
        const { checkout, session, signal } = of
        const { commit } = await git.head(checkout, signal)
        if (commit === checkout.baseCommit) return refused('There is no commit to push: use git_commit first.')
        const repository = await repositoryOf(session)
        const done = await git.push(checkout, { repository, session: session.id, branch: checkout.branch }, signal)
        if (done.kind === 'refused') return refused(`It was not pushed: ${done.why}.`)
        const there = done.kind === 'already there' ? ' (it was there already)' : ''
        return said(`Pushed ${done.commit.slice(0, 12)} to the branch ${checkout.branch}${there}.`)
      }),
  }
}
