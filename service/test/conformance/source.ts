// What every source keeps to, whatever its transport. The host behind it is real as far as this machine has one.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Repository, type Source, SourceFault } from '../../src/ports/source.ts'
import { eventually } from '../support/executor.ts'
import { fetchesIn, type GitHost } from '../support/git-host.ts'

export interface SourceOptions {
  readonly folder: string
  readonly path: string
  readonly variables: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

export interface SourceUnderTest {
  readonly name: string
  host(): Promise<GitHost>
  /** `child` makes one checkout with the same options, as a process of its own. */
  make(options: SourceOptions & { readonly now: () => number }): Source
  readonly child: string
}

const unhurried = (): AbortSignal => new AbortController().signal

export function sourceConformance(under: SourceUnderTest): void {
  describe(`a source: ${under.name}`, { concurrency: 3 }, () => {
    const one = async (body: (t: Bench) => Promise<void>): Promise<void> => {
      await using host = await under.host()
      await body(new Bench(under, host))
    }

    test('lays out a branch, a tag and a commit, and says which commit it is', () =>
      one(async (t) => {
        const first = await t.host.git('rev-parse', 'HEAD')
        await t.host.git('tag', '--annotate', '--message', 'x', 'v1/rc.1')
        await t.host.git('push', '--quiet', 'origin', 'v1/rc.1')
        const second = await t.host.commit({ 'README.md': 'two\n', 'deep/er/file': 'x' })
        for (const [reference, commit, text] of [
          ['main', second, 'two\n'],
          ['v1/rc.1', first, 'one\n'],
          [first, first, 'one\n'],
          [first.slice(0, 10), first, 'one\n'],
        ] as const) {
          const { checkout, folder } = await t.checkout(reference)
          assert.equal(checkout.commit, commit, reference)
          assert.equal(readFileSync(join(folder, 'README.md'), 'utf8'), text, reference)
        }
        for (const missing of ['gone', 'v2', '0'.repeat(40), 'deadbeef'])
          await assert.rejects(t.checkout(missing), {
            name: 'SourceFault',
            message: /there is no branch, tag or commit/,
          })
      }))

    test('follows a branch that moved, that was written anew, and that was deleted', () =>
      one(async (t) => {
        const read = async (): Promise<string> => {
          const { folder } = await t.checkout('topic')
          return readFileSync(join(folder, 'README.md'), 'utf8')
        }
        await t.host.git('switch', '--quiet', '--create', 'topic')
        await t.host.commit({ 'README.md': 'moved\n' })
        assert.equal(await read(), 'moved\n')
        await t.host.commit({ 'README.md': 'moved on\n' })
        assert.equal(await read(), 'moved on\n')
        await t.host.git('reset', '--quiet', '--hard', 'main')
        await t.host.commit({ 'README.md': 'forced\n' })
        assert.equal(await read(), 'forced\n')
        await t.host.git('push', '--quiet', 'origin', ':topic')
        await assert.rejects(read(), /there is no branch, tag or commit "topic"/)
        // A name that was a branch may become a folder of branches.
        await t.host.git('switch', '--quiet', '--create', 'topic-x')
        await t.host.git('branch', '--delete', '--force', 'topic')
        await t.host.git('branch', '--move', 'topic/below')
        await t.host.git('push', '--quiet', 'origin', 'topic/below')
        assert.ok((await t.checkout('topic/below')).checkout.commit)
      }))

    test('fetches when it must, and not for a commit that is there', () =>
      one(async (t) => {
        const commit = await t.host.git('rev-parse', 'HEAD')
        await t.checkout('main')
        assert.equal(await t.fetches(), 1)
        await t.checkout(commit)
        assert.equal(await t.fetches(), 1, 'a commit does not change')
        await t.checkout('main')
        assert.equal(await t.fetches(), 2, 'a branch may have moved')
        const read = async () => await t.source.read(t.host.repository, 'main', 'README.md', unhurried())
        assert.equal((await read()).files.get('README.md'), 'one\n')
        t.now += 29_000
        await read()
        assert.equal(await t.fetches(), 2, 'definitions may be half a minute old')
        t.now += 2_000
        await read()
        assert.equal(await t.fetches(), 3)
      }))

    test('makes many checkouts at once, by two processes, with as few fetches as it can', () =>
      one(async (t) => {
        const other = t.another()
        const all = [t.source, other, t.source, other, t.source, other].map((source, at) =>
          t.checkout('main', { source, folder: `at-once-${at}` }),
        )
        const ended = once(t.spawn('main', 'of-another-process'), 'close')
        const commits = new Set((await Promise.all(all)).map(({ checkout }) => checkout.commit))
        assert.deepEqual(await ended, [0, null])
        assert.equal(commits.size, 1)
        const fetches = await t.fetches()
        assert.ok(fetches >= 2 && fetches <= 4, `${fetches} fetches`)
      }))

    test('reads definitions from what was fetched last when the host does not answer, and says so', () =>
      one(async (t) => {
        await t.checkout('main')
        const source = t.another({ timeoutMs: 700 })
        t.now += 31_000
        const stalled = t.host.stall()
        const answer = await source.read(t.host.repository, 'main', '.', unhurried())
        stalled.end()
        assert.deepEqual([answer.stale, [...answer.files]], [true, [['README.md', 'one\n']]])
      }))

    test('ends within its time with a host that never answers, and leaves no process', () =>
      one(async (t) => {
        const limit = 1_000
        const source = t.another({ timeoutMs: limit })
        const stalled = t.host.stall()
        const began = performance.now()
        await assert.rejects(t.checkout('main', { source }), { name: 'SourceFault', message: /took longer than 1 s/ })
        assert.ok(performance.now() - began < limit + 2_000)
        assert.ok(stalled.waiting() > 0, 'the host was asked')
        stalled.end()
        await eventually(() => t.processes() === 0, 'no process of git is left')
        assert.ok((await t.checkout('main', { folder: 'after' })).checkout.commit)
      }))

    test('called off while it fetches, or while it waits for its turn, it ends at once and leaves no lock', () =>
      one(async (t) => {
        const stalled = t.host.stall()
        const calls = ['fetching', 'waiting'].map((folder) => {
          const controller = new AbortController()
          const ended = t.checkout('main', { folder, signal: controller.signal })
          return { controller, ended: assert.rejects(ended, SourceFault) }
        })
        await eventually(() => stalled.waiting() > 0, 'the host was asked')
        for (const { controller } of calls.toReversed()) controller.abort()
        for (const { ended } of calls) await ended
        stalled.end()
        assert.ok((await t.checkout('main', { folder: 'after' })).checkout.commit)
      }))

    test('killed in the middle of a fetch, the next one goes on with what is there', () =>
      one(async (t) => {
        const commit = await t.host.git('rev-parse', 'HEAD')
        const stalled = t.host.stall()
        const child = t.spawn('main', 'killed')
        await eventually(() => stalled.waiting() > 0, 'the host was asked')
        const ended = once(child, 'close')
        child.kill('SIGKILL')
        await ended
        stalled.end()
        assert.equal((await t.checkout('main', { folder: 'after' })).checkout.commit, commit)
        assert.deepEqual(t.secretsOnDisk(), [])
        await eventually(() => t.processes() === 0, 'no process of git is left')
      }))

    test('shows no credentials: not in arguments, output, errors, the checkout, or on the disk after it', () =>
      one(async (t) => {
        const { folder, lines } = await t.checkout('main')
        const config = await readFile(join(folder, '.git', 'config'), 'utf8')
        const { secret } = t.host
        const fault = await t.checkout('gone', { folder: 'fault' }).catch((error: Error) => error)
        assert.ok(fault instanceof SourceFault)
        if (secret === null) return
        const forms = [secret, Buffer.from(`x-access-token:${secret}`).toString('base64')]
        const said = JSON.stringify([lines, config, fault.message, String(fault.stack), await t.host.calls()])
        for (const form of forms) assert.ok(!said.includes(form))
        assert.deepEqual(t.secretsOnDisk(), [])
      }))

    test('gives nothing of a mirror to a workspace without the credentials', () =>
      one(async (t) => {
        await t.checkout('main')
        if (t.host.secret === null) return
        const wrong: Repository = {
          ...t.host.repository,
          credentials: { token: 'wrong-token', ssh_key: 'wrong-key' },
        }
        for (const [at, repository] of [t.host.stranger, wrong].entries()) {
          const folder = `stranger-${at}`
          await assert.rejects(t.checkout('main', { repository, folder }), {
            name: 'SourceFault',
            message: /refused the credentials/,
          })
          await assert.rejects(t.source.read(repository, 'main', '.', unhurried()), /refused the credentials/)
          assert.ok(!existsSync(join(t.host.folder, folder, 'README.md')))
        }
        assert.equal((await t.checkout('main', { folder: 'again' })).checkout.commit.length, 40)
      }))

    test('a job that writes into its checkout and its .git changes nothing for the next run', () =>
      one(async (t) => {
        const commit = await t.host.git('rev-parse', 'HEAD')
        const { folder } = await t.checkout('main')
        const canary = join(t.host.folder, 'canary')
        await mkdir(join(folder, '.git', 'hooks'), { recursive: true })
        for (const hook of ['post-checkout', 'reference-transaction', 'pre-auto-gc'])
          await writeFile(join(folder, '.git', 'hooks', hook), `#!/bin/sh\ntouch ${canary}\n`, { mode: 0o755 })
        await writeFile(join(folder, '.git', 'config'), `[core]\n\tfsmonitor = "touch ${canary}"\n`)
        await rm(join(folder, '.git', 'objects'), { recursive: true })
        await writeFile(join(folder, 'README.md'), 'changed\n')
        const next = await t.checkout('main', { folder: 'next' })
        assert.equal(next.checkout.commit, commit)
        assert.equal(readFileSync(join(next.folder, 'README.md'), 'utf8'), 'one\n')
        assert.ok(!existsSync(canary))
        assert.ok(!existsSync(join(next.folder, '.git', 'hooks')))
      }))
  })
}

class Bench {
  readonly host: GitHost
  readonly source: Source
  now = 1_000_000
  readonly #under: SourceUnderTest
  readonly #mirrors: string
  #count = 0

  constructor(under: SourceUnderTest, host: GitHost) {
    this.#under = under
    this.host = host
    this.#mirrors = join(host.folder, 'mirrors')
    this.source = this.another()
  }

  get #options(): SourceOptions {
    return { folder: this.#mirrors, path: this.host.path, variables: this.host.variables }
  }

  another(more: { readonly timeoutMs?: number } = {}): Source {
    return this.#under.make({ ...this.#options, ...more, now: () => this.now++ })
  }

  async checkout(
    reference: string,
    more: { source?: Source; folder?: string; repository?: Repository; signal?: AbortSignal } = {},
  ) {
    const { source = this.source, repository = this.host.repository, signal = unhurried() } = more
    const folder = join(this.host.folder, more.folder ?? `checkout-${++this.#count}`)
    const lines: string[] = []
    const report = async (line: string): Promise<void> => void lines.push(line)
    return { folder, lines, checkout: await source.checkout(repository, reference, folder, report, signal) }
  }

  spawn(reference: string, name: string) {
    const folder = join(this.host.folder, name)
    const request = { options: this.#options, repository: this.host.repository, reference, folder }
    return spawn(process.execPath, [this.#under.child, JSON.stringify(request)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }

  async fetches(): Promise<number> {
    return fetchesIn(await this.host.calls())
  }

  /** Processes of this host's folder, other than ours. */
  processes(): number {
    return readdirSync('/proc').filter((name) => {
      try {
        return (
          /^\d+$/.test(name) &&
          Number(name) !== process.pid &&
          readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(this.#mirrors) &&
          !/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'latin1'))
        )
      } catch {
        return false
      }
    }).length
  }

  /** Files below the test's folder that hold the credential. */
  secretsOnDisk(): string[] {
    const { secret } = this.host
    if (secret === null) return []
    const forms = [secret, Buffer.from(`x-access-token:${secret}`).toString('base64')]
    return readdirSync(this.host.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => forms.some((form) => readFileSync(path, 'latin1').includes(form)))
  }
}
