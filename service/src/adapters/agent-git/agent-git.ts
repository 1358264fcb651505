// git for sessions of agents. See the port for what it holds against a hostile tree; how it is held:
//
//   - `--git-dir` and `--work-tree` are always given, so nothing in the tree says where the repository is;
//   - plumbing alone writes (update-index, write-tree, commit-tree, update-ref): no hook, no editor, no signature;
//   - `info/attributes` stands above every .gitattributes and takes away all that would change bytes or run something;
//   - what is to be taken in is listed, looked at, and named file by file: `git add` and `git status` would run a git of
//     its own inside of a nested repository, by that one's settings.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentGit, GitPlace } from '../../ports/agent-git.ts'
import { SourceFault } from '../../ports/source.ts'
import { type GitSourceOptions, mirrored, openMirrors, TIMEOUT_MS } from '../source/git.ts'
import { localEnvironment } from '../source/git-environment.ts'
import { type GitResult, git } from '../source/git-process.ts'
import { gist } from '../source/mirror.ts'
import { outcomeOfPush, requireOwnBranch } from './push.ts'
import type { RunGit } from './run-git.ts'
import { stage } from './stage.ts'

/** How much of the history an agent can look at; the whole of a large repository would take its time. */
const HISTORY = 100
const BASE = 'refs/agent/base'
/** The tree as it was when it was kept, as a commit on top of the branch. */
const TREE = 'refs/agent/tree'

/** In the order of git's own words: before the verb. */
const SETTINGS = [
  'core.excludesFile=/dev/null',
  'core.attributesFile=/dev/null',
  'core.logAllRefUpdates=false',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'core.quotePath=false',
  'diff.ignoreSubmodules=all',
  'diff.external=',
  'gc.auto=0',
  'pack.threads=1',
  'advice.detachedHead=false',
].flatMap((one) => ['-c', one])

const NO_ATTRIBUTES =
  '* !text !eol !crlf !filter !ident !working-tree-encoding !diff !merge !export-subst !export-ignore\n'

/** Of the commits that stand for a tree: the same tree gives the same commit. */
const KEEPER = { name: 'Yardmaster', email: 'yardmaster@localhost' }
const KEPT_AT = '1970-01-01T00:00:00Z'

export function agentGit(options: GitSourceOptions): AgentGit {
  const { folder: home, path, now, timeoutMs = TIMEOUT_MS } = options
  const mirrors = openMirrors(options)

  const runner = async (place: GitPlace, signal: AbortSignal): Promise<RunGit> => {
    const environment = { ...(await localEnvironment(path, home)), GIT_OPTIONAL_LOCKS: '0', GIT_LITERAL_PATHSPECS: '1' }
    return async (argv, more = {}) => {
      const at = ['--git-dir', place.gitFolder, '--work-tree', place.folder]
      const done = await git([...at, ...SETTINGS, ...argv], {
        environment: { ...environment, ...more.variables },
        cwd: place.folder,
        signal,
        timeoutMs,
        ...(more.input !== undefined && { input: more.input }),
      })
      if (done.code !== 0 && more.mayFail === undefined)
        throw new SourceFault(`git ${argv[0]} failed: ${gist(done.stderr)}`)
      return done
    }
  }

  return {
    open: async (place, { repository, reference, branch }, signal) => {
      const { mirror, commit } = await mirrored(mirrors, repository, { reference, now: now() }, signal)
      await mkdir(place.folder, { mode: 0o755 })
      const environment = await localEnvironment(path, home)
      const init = ['init', '--quiet', '--template=', `--initial-branch=${branch}`]
      const made = await git([...init, `--separate-git-dir=${place.gitFolder}`, '--', place.folder], {
        environment,
        cwd: place.folder,
        signal,
        timeoutMs,
      })
      if (made.code !== 0) throw new SourceFault(`git init failed: ${gist(made.stderr)}`)
      await mkdir(join(place.gitFolder, 'info'), { recursive: true })
      await writeFile(join(place.gitFolder, 'info', 'attributes'), NO_ATTRIBUTES)
      const run = await runner(place, signal)
      const flags = ['--quiet', `--depth=${HISTORY}`, '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head']
      await run(['fetch', ...flags, '--', mirror.bare, `${commit}:${BASE}`])
      await run(['reset', '--quiet', '--hard', commit])
      return { commit }
    },

    restore: async (place, bundle, signal) => {
      const run = await runner(place, signal)
      const branch = await branchOf(run)
      const listed = (await run(['bundle', 'list-heads', bundle])).stdout.toString()
      const has = (ref: string): boolean => listed.split('\n').some((line) => line.endsWith(` ${ref}`))
      const refs = [branch, TREE].filter(has).map((ref) => `+${ref}:${ref}`)
      const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--update-head-ok']
      await run(['fetch', ...flags, '--', bundle, ...refs])
      await run(['read-tree', '--reset', '-u', has(TREE) ? TREE : 'HEAD'])
      // What was not committed is not staged either.
      await run(['read-tree', 'HEAD'])
      await run(['update-index', '-q', '--refresh'], { mayFail: true })
    },

    bundle: async (place, bundle, signal) => {
      const run = await runner(place, signal)
      const [branch, base, head] = await Promise.all([branchOf(run), idOf(run, BASE), idOf(run, 'HEAD')])
      const index = join(place.gitFolder, 'kept-index')
      const own: RunGit = (argv, more = {}) =>
        run(argv, { ...more, variables: { ...more.variables, GIT_INDEX_FILE: index } })
      try {
        await own(['read-tree', 'HEAD'])
        const { notes } = await stage(place.folder, own, null)
        const tree = textOf(await own(['write-tree']))
        const isCommitted = tree === (await idOf(run, 'HEAD^{tree}'))
        const kept = isCommitted
          ? head
          : textOf(await run(['commit-tree', '-p', head, '-m', 'The tree as it is', tree], { variables: KEPT }))
        await run(['update-ref', TREE, kept])
        if (kept === base) return { head, tree, made: false, notes }
        await rm(bundle, { force: true })
        await run(['bundle', 'create', '--quiet', bundle, branch, TREE, `^${BASE}`])
        return { head, tree, made: true, notes }
      } finally {
        await rm(index, { force: true })
      }
    },

    commit: async (place, { message, author, paths }, signal) => {
      const run = await runner(place, signal)
      const [branch, head] = await Promise.all([branchOf(run), idOf(run, 'HEAD')])
      const { files, notes } = await stage(place.folder, run, paths)
      const tree = textOf(await run(['write-tree']))
      if (tree === (await idOf(run, 'HEAD^{tree}'))) return null
      const variables = identity(author)
      const made = await run(['commit-tree', '-p', head, '-F', '-', tree], { input: `${message}\n`, variables })
      const commit = textOf(made)
      await run(['update-ref', branch, commit, head])
      return { commit, files, notes }
    },

    head: async (place, signal) => {
      const run = await runner(place, signal)
      const shown = (await run(['log', '-1', '--no-show-signature', '--format=%H%n%B', 'HEAD'])).stdout.toString()
      const end = shown.indexOf('\n')
      return { commit: shown.slice(0, end), message: shown.slice(end + 1) }
    },

    push: async (place, { repository, session, branch }, signal) => {
      requireOwnBranch(session, branch)
      const run = await runner(place, signal)
      const commit = await idOf(run, `refs/heads/${branch}`)
      return outcomeOfPush(
        commit,
        await mirrors.push(repository, { gitFolder: place.gitFolder, commit, branch }, signal),
      )
    },

    read: async (place, argv, signal) => {
      const run = await runner(place, signal)
      const { code, stdout, stderr } = await run(argv, { mayFail: true })
      return { code, output: code === 0 ? stdout.toString() : gist(stderr) }
    },
  }
}

const textOf = ({ stdout }: GitResult): string => stdout.toString().trim()

const identity = ({ name, email }: { readonly name: string; readonly email: string }): Record<string, string> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
})

const KEPT = { ...identity(KEEPER), GIT_AUTHOR_DATE: KEPT_AT, GIT_COMMITTER_DATE: KEPT_AT }

/** As `refs/heads/…`. */
const branchOf = async (run: RunGit): Promise<string> => textOf(await run(['symbolic-ref', '--quiet', 'HEAD']))

const idOf = async (run: RunGit, name: string): Promise<string> =>
  textOf(await run(['rev-parse', '--verify', '--quiet', '--end-of-options', name]))
