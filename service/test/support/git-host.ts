// A git host on this machine: bare repositories behind every transport that can be had here. What git and ssh were
// called with is written down, so that tests can count fetches and look for credentials.
import { execFile, spawn } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Repository } from '../../src/ports/source.ts'
import { selfSigned } from './certificate.ts'

const exec = promisify(execFile)

const path = process.env.PATH ?? '/usr/bin:/bin'
/** Nobody's settings but these. */
const variables = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
}

export interface GitHost extends AsyncDisposable {
  readonly transport: 'local path' | 'https' | 'ssh'
  /** An empty folder of the test. */
  readonly folder: string
  readonly repository: Repository
  /** Null where the transport knows no credentials. */
  readonly secret: string | null
  /** The same address for another workspace without credentials. */
  readonly stranger: Repository
  /** PATH by which the adapter finds git and ssh. */
  readonly path: string
  readonly variables: Readonly<Record<string, string>>
  /** git in a working copy that pushes to the host. */
  git(...argv: string[]): Promise<string>
  /** Commits to the branch that is checked out, and pushes it. */
  commit(files: Readonly<Record<string, string>>): Promise<string>
  /** Every line that git and ssh were called with. */
  calls(): Promise<string[]>
  /** From now on requests are taken and not answered; gives how many are waiting. */
  stall(): { waiting(): number; end(): void }
}

export const fetchesIn = (calls: readonly string[]): number =>
  calls.filter((line) => /^git .*fetch --quiet --prune/.test(line)).length

export async function gitHost(transport: GitHost['transport']): Promise<GitHost> {
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-source-'))
  const bin = join(folder, 'bin')
  const origin = join(folder, 'origin', 'team.git')
  const work = join(folder, 'work')
  const log = join(folder, 'calls')
  const git = async (cwd: string, ...argv: string[]): Promise<string> =>
    (await exec('git', argv, { cwd, env: { ...variables, PATH: path, HOME: folder } })).stdout.trim()
  await mkdir(bin)
  await mkdir(dirname(origin))
  await mkdir(work)
  await writeFile(log, '')
  const real = (await exec('/bin/sh', ['-c', 'command -v git'], { env: { PATH: path } })).stdout.trim()
  program(join(bin, 'git'), `printf 'git %s\\n' "$*" >> '${log}'\nexec '${real}' "$@"`)
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', origin)
  await git(work, 'init', '--quiet', '--initial-branch=main')
  await git(work, 'remote', 'add', 'origin', origin)
  const door = await DOORS[transport]({ folder, bin, origin, log })
  const host: GitHost = {
    transport,
    folder: join(folder, 'of-the-test'),
    repository: { workspaceUid: 'a'.repeat(16), url: door.url, credentials: door.credentials },
    stranger: { workspaceUid: 'b'.repeat(16), url: door.url, credentials: {} },
    secret: door.secret,
    path: `${bin}${delimiter}${path}`,
    variables: door.variables ?? {},
    git: (...argv) => git(work, ...argv),
    commit: async (files) => {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(work, name)), { recursive: true })
        await writeFile(join(work, name), content)
      }
      await git(work, 'add', '--all')
      await git(work, 'commit', '--quiet', '--message', 'Change')
      await git(work, 'push', '--quiet', '--force', 'origin', 'HEAD')
      return await git(work, 'rev-parse', 'HEAD')
    },
    calls: async () => (await readFile(log, 'utf8')).split('\n').filter((line) => line !== ''),
    stall: door.stall,
    [Symbol.asyncDispose]: async () => {
      await door.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  await mkdir(host.folder)
  await host.commit({ 'README.md': 'one\n' })
  return host
}

const program = (path: string, script: string): void => writeProgram(path, `#!/bin/sh\n${script}\n`)

interface Place {
  readonly folder: string
  readonly bin: string
  readonly origin: string
  readonly log: string
}

interface Door {
  readonly url: string
  readonly credentials: Repository['credentials']
  readonly secret: string | null
  readonly variables?: Record<string, string>
  stall: GitHost['stall']
  close(): Promise<void>
}

const TOKEN = 'ghp_CanaryTokenOfTheHost0123456789'

const DOORS: Record<GitHost['transport'], (place: Place) => Promise<Door>> = {
  'local path': async ({ origin, bin }) => ({
    url: origin,
    credentials: {},
    secret: null,
    stall: () => stalledProgram(join(bin, 'git'), '--prune', 'sleep 1000'),
    close: async () => {},
  }),

  // A stand-in for the client: it takes the place of ssh and of the host behind it, and refuses without the right key.
  ssh: async ({ origin, bin, log }) => {
    const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${TOKEN}\n-----END OPENSSH PRIVATE KEY-----`
    const script = [
      `printf 'ssh %s\\n' "$*" >> '${log}'`,
      'key=; command=',
      'while [ $# -gt 0 ]; do case "$1" in -i) key=$2; shift 2;; -o|-F|-p) shift 2;; -*) shift;; *) host=$1; shift; command="$*"; break;; esac; done',
      `if [ -z "$key" ] || ! grep -q ${TOKEN} "$key" || [ "$(stat -c %a "$key")" != 600 ]; then echo 'git@localhost: Permission denied (publickey).' >&2; exit 255; fi`,
      `PATH='${path}'; export PATH; exec sh -c "$command"`,
    ].join('\n')
    program(join(bin, 'ssh'), script)
    return {
      url: `git@localhost:${origin}`,
      credentials: { ssh_key: key },
      secret: TOKEN,
      stall: () => stalledProgram(join(bin, 'ssh'), 'upload-pack', 'cat'),
      close: async () => {},
    }
  },

  https: async ({ folder, log }) => {
    const { cert, key } = selfSigned()
    const authority = join(folder, 'authority.pem')
    await writeFile(authority, cert)
    const expected = `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`
    let waiting: number | null = null
    const sockets = new Set<Socket>()
    const server = createServer({ cert, key }, (request, response) => {
      if (waiting !== null) {
        waiting++
        return
      }
      noteArguments(log)
      if (request.headers.authorization !== expected) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
        return
      }
      backend(request, response, join(folder, 'origin'))
    })
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      url: `https://localhost:${(server.address() as AddressInfo).port}/team.git`,
      credentials: { token: TOKEN },
      secret: TOKEN,
      variables: { GIT_SSL_CAINFO: authority },
      stall: () => {
        waiting = 0
        return {
          waiting: () => waiting ?? 0,
          end: () => {
            waiting = null
            for (const socket of sockets) socket.destroy()
          },
        }
      },
      close: async () => {
        for (const socket of sockets) socket.destroy()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  },
}

/** While a request is here git's helpers are at work: what they were called with is written down. */
function noteArguments(log: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      if (/\bgit-remote-http|\bgit\b.*fetch/.test(line) && !/--quiet --prune/.test(line))
        appendFileSync(log, `process ${line}\n`)
    } catch {
      // It has ended.
    }
  }
}

/** The program there does not answer any more when it is called with the word. ssh ends with its input, as it does. */
function stalledProgram(path: string, word: string, wait: string): { waiting(): number; end(): void } {
  const calls = `${path}.waiting`
  const before = readFileSync(path, 'utf8')
  const stall = `case "$*" in *${word}*) echo x >> '${calls}'; exec ${wait} >/dev/null;; esac`
  writeProgram(path, before.replace('\n', `\n${stall}\n`))
  return {
    waiting: () => (existsSync(calls) ? readFileSync(calls).length / 2 : 0),
    end: () => writeProgram(path, before),
  }
}

function writeProgram(path: string, text: string): void {
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}

/** git's own CGI program. */
function backend(request: IncomingMessage, response: ServerResponse, root: string): void {
  const [pathInfo = '', query = ''] = (request.url ?? '').split('?')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: path,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      PATH_INFO: pathInfo,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'test',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => {})
  let head: Buffer | null = Buffer.alloc(0)
  child.stdout.on('data', (bytes: Buffer) => {
    if (head === null) return void response.write(bytes)
    head = Buffer.concat([head, bytes])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    const lines = head.subarray(0, end).toString().split('\r\n')
    const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2)))
    response.writeHead(Number.parseInt(headers.Status ?? '200', 10), headers)
    response.write(head.subarray(end + 4))
    head = null
  })
  child.on('close', () => response.end())
}
