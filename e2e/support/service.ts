/**
 * The real service as a child process: the entry point that people start, the pinned Node, a data folder of its own.
 * Nothing of this process' settings reaches it, and nothing of it outlives this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { atExit, removeAtExit } from './leftovers.ts'

export const root = join(import.meta.dirname, '..', '..')
export const pinnedNode = join(root, 'node_modules', '.bin', 'node')
const entry = join(root, 'service', 'src', 'main.ts')

export interface LaunchOptions {
  /** Without one: a new empty one, removed when this process ends. */
  readonly dataFolder?: string
  readonly env?: Readonly<Record<string, string>>
  /** 0, a free one, unless told otherwise. */
  readonly port?: number
  /** What stands before the program, such as `setpriv` with another user's id. */
  readonly prefix?: readonly string[]
  readonly cwd?: string
  /** Instead of `serve`. */
  readonly args?: readonly string[]
  /** The `main.ts` of another build. */
  readonly entry?: string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A process that was started and may or may not come to serve. */
export interface Launched {
  readonly pid: number
  readonly dataFolder: string
  readonly exited: Promise<Exit>
  /** Its address, as soon as it says so. Rejects, with what it wrote, when it ends before. */
  readonly address: Promise<string>
  stdout(): string
  stderr(): string
  signal(signal: NodeJS.Signals): void
}

export interface ServiceProcess extends Omit<Launched, 'address'> {
  readonly url: string
  /** The account key of the first start; empty where the demo was turned off. */
  readonly key: string
  /** Of the workspace `Demo`; empty where there is none. */
  readonly workspaceUid: string
  /** From the start of the process to the first answered request. */
  readonly answeredAfterMs: number
  /** Asks it to stop and waits until it has ended. */
  stop(): Promise<Exit>
  /** kill -9, and waits until the kernel has taken it away. Its PostgreSQL notices by itself. */
  kill9(): Promise<void>
}

export async function temporaryFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `yardmaster-${name}-`))
  removeAtExit(folder)
  return folder
}

export async function launch(options: LaunchOptions = {}): Promise<Launched> {
  const dataFolder = options.dataFolder ?? join(await temporaryFolder('e2e'), 'data')
  const argv = [...(options.prefix ?? []), pinnedNode, options.entry ?? entry, ...(options.args ?? ['serve'])]
  const child = spawn(argv[0]!, argv.slice(1), {
    // Not the repository: a yardmaster.yaml of whoever works there is none of our business.
    cwd: options.cwd ?? tmpdir(),
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.TMPDIR,
      LANG: 'C.UTF-8',
      YARDMASTER_DATA: dataFolder,
      YARDMASTER_PORT: String(options.port ?? 0),
      // Jobs of tests write where the test can see it.
      YARDMASTER_COMMANDS_USER: 'service',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return watch(child, dataFolder)
}

function watch(child: ChildProcess, dataFolder: string): Launched {
  const out = collect(child.stdout!)
  const err = collect(child.stderr!)
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    // close, not exit: what it wrote last has been read by then.
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const address = new Promise<string>((resolve, reject) => {
    const look = () => {
      const url = /^Yardmaster is running at (\S+)$/m.exec(out.text())?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout!.on('data', look)
    exited.then(
      (exit) => reject(new Error(`The service ended before it served (${said(exit)}):\n${out.text()}${err.text()}`)),
      reject,
    )
  })
  // Who launches one that is to be refused never looks at it.
  address.catch(() => {})
  exited.catch(() => {})
  atExit(child, dataFolder)
  return {
    pid: child.pid ?? 0,
    dataFolder,
    exited,
    address,
    stdout: out.text,
    stderr: err.text,
    signal: (signal) => void child.kill(signal),
  }
}

const said = ({ code, signal }: Exit): string => signal ?? `exit code ${code}`

/** Bounded: a storm writes for minutes. The beginning is kept, since that is where the address and the key are. */
function collect(stream: NodeJS.ReadableStream): { text(): string } {
  const KEPT = 200_000
  let head = ''
  let tail = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    if (head.length < KEPT) head += chunk
    else tail = (tail + chunk).slice(-KEPT)
  })
  return { text: () => head + tail }
}

/** Starts it and waits until it has answered a request. */
export async function startProcess(options: LaunchOptions = {}): Promise<ServiceProcess> {
  const began = performance.now()
  const launched = await launch(options)
  const url = await launched.address
  const key = readKey(launched.dataFolder)
  await firstAnswer(url, key, launched.exited)
  const answeredAfterMs = performance.now() - began
  return {
    ...launched,
    url,
    key,
    workspaceUid: /^ *Workspace Demo +(\S+)$/m.exec(launched.stdout())?.[1] ?? (await demoWorkspace(url, key)),
    answeredAfterMs,
    stop: () => {
      launched.signal('SIGTERM')
      return launched.exited
    },
    kill9: async () => {
      launched.signal('SIGKILL')
      await launched.exited
    },
  }
}

/** With a key, an answer that took a look into the database; without one, any answer of the API. */
async function firstAnswer(url: string, key: string, exited: Promise<Exit>): Promise<void> {
  let ended: Exit | undefined
  void exited.then((exit) => {
    ended = exit
  })
  for (;;) {
    try {
      const { status } = await graphql(url, key, '{ apiKeyIdentity { isValid } }')
      if (status === 200) return
    } catch (error) {
      if (ended) throw new Error(`The service ended before it answered (${said(ended)})`, { cause: error })
    }
    await pause(5)
  }
}

function readKey(dataFolder: string): string {
  const file = join(dataFolder, 'first-key')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
}

async function demoWorkspace(url: string, key: string): Promise<string> {
  if (key === '') return ''
  const { body } = await graphql(url, key, '{ listWorkspaces { workspaces { name uid } } }')
  const { workspaces } = (body.data?.listWorkspaces ?? { workspaces: [] }) as {
    workspaces: { name: string; uid: string }[]
  }
  return workspaces.find(({ name }) => name === 'Demo')?.uid ?? ''
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly data?: Record<string, unknown> | null
    readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[]
  }
}

/** One POST to the API. Rejects when no whole answer came. An empty key sends none. */
export async function graphql(
  url: string,
  key: string,
  query: string,
  variables: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  timeoutMs = 30_000,
): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const body = (await response.json()) as Answer['body']
  return { status: response.status, headers: response.headers, body }
}
