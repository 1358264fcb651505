// What a command reads and writes. Handed down from main.ts, so that commands can be run without a process of their own.
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

export interface Io {
  out(text: string): void
  err(text: string): void
  /** False once nobody reads our output any more, such as after `| head`: what goes on for long can stop. */
  readonly isRead: boolean
  /** All of standard input; from a terminal one line, which is not shown while it is typed. */
  read(what: string): Promise<string>
}

/** The world of one invocation. */
export interface Cli {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly io: Io
}

export function processIo(): Io {
  let isRead = true
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    isRead = false
  })
  process.stderr.on('error', () => {})
  return {
    out: (text) => {
      if (isRead) process.stdout.write(text)
    },
    err: (text) => {
      process.stderr.write(text)
    },
    get isRead() {
      return isRead
    },
    read: async (what) => (process.stdin.isTTY ? await ask(what) : await readAll()),
  }
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function ask(what: string): Promise<string> {
  process.stderr.write(`${what} (not shown): `)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
