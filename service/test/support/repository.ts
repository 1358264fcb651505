// A git repository in a folder of its own, with `main` as its branch.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

export interface TestRepository extends AsyncDisposable {
  readonly folder: string
  /** Writes files and commits them; null takes one away. Gives the commit. */
  commit(files: Readonly<Record<string, string | null>>): Promise<string>
  git(...argv: string[]): Promise<string>
}

export async function testRepository(files: Readonly<Record<string, string>>): Promise<TestRepository> {
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-repository-'))
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.com',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.com',
  }
  const git = async (...argv: string[]): Promise<string> =>
    (await exec('git', argv, { cwd: folder, env })).stdout.trim()
  const commit: TestRepository['commit'] = async (changed) => {
    for (const [name, content] of Object.entries(changed)) {
      const path = join(folder, name)
      if (content === null) await rm(path)
      else {
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, content)
      }
    }
    await git('add', '--all')
    await git('commit', '--quiet', '--allow-empty', '--message', 'Change')
    return await git('rev-parse', 'HEAD')
  }
  await git('init', '--quiet', '--initial-branch=main')
  await commit(files)
  return { folder, commit, git, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
