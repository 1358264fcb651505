// Real pipes for the output of a command. What Node makes for a child are sockets, and a socket cannot be opened by its
// name: `tee /dev/stderr`, which many scripts have, fails on one. A fifo can, and is the same pipe. It loses its name
// before the command starts, in the folder of the command, so that nothing is left of it whatever happens.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export interface OutputPipes {
  /** For the child: standard output and standard error. */
  readonly ends: readonly [number | 'pipe', number | 'pipe']
  /** After the child has its ends: gives ours. */
  take(child: ChildProcess, places: readonly [number, number]): readonly [Readable, Readable]
  /** What was not taken. */
  close(): void
}

const SOCKETS: OutputPipes = {
  ends: ['pipe', 'pipe'],
  take: (child, [out, err]) => [child.stdio[out] as Readable, child.stdio[err] as Readable],
  close() {},
}

export const PIPE_PREFIX = '.yardmaster-'

const nameIn = (folder: string): string => join(folder, `${PIPE_PREFIX}${randomBytes(8).toString('hex')}`)

/** Sockets all the same where the file system has no fifos. */
export async function openPipes(mkfifo: string | null, folder: string): Promise<OutputPipes> {
  if (mkfifo === null) return SOCKETS
  const paths = [nameIn(folder), nameIn(folder)]
  const opened: number[] = []
  const close = (): void => {
    for (const one of opened.splice(0)) closeSync(one)
  }
  try {
    // The command may be another user's; who has no descriptor cannot find it any more.
    const making = spawn(mkfifo, ['-m', '0622', ...paths], { cwd: '/', env: {}, stdio: 'ignore' })
    const [code] = await once(making, 'exit')
    if (code !== 0) return SOCKETS
    for (const path of paths) opened.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK))
    for (const path of paths) opened.push(openSync(path, constants.O_WRONLY))
  } catch {
    close()
    return SOCKETS
  } finally {
    for (const path of paths) rmSync(path, { force: true })
  }
  const [, , outEnd, errEnd] = opened as [number, number, number, number]
  return {
    ends: [outEnd, errEnd],
    take() {
      const ours = opened.splice(0, 2).map((fd) => new Socket({ fd, readable: true, writable: false }))
      // The end of the output is seen only when nobody has the other end, and we are somebody.
      close()
      return ours as [Socket, Socket]
    },
    close,
  }
}

/** A file without a name, for a text that is too long to be an argument. */
export function openText(folder: string, text: string): number {
  const path = nameIn(folder)
  const writing = openSync(path, 'wx', 0o444)
  try {
    writeSync(writing, text)
    return openSync(path, 'r')
  } finally {
    closeSync(writing)
    rmSync(path, { force: true })
  }
}
