/** Reads everything that runs have left through several servers, and compares: each must show the same, to the byte. */
import { createHash } from 'node:crypto'
import type { Client } from './runs.ts'

interface CommandRead {
  readonly id: number
  readonly stdout: string
  readonly stderr: string
  /** Path to the bytes of the file. */
  readonly files: ReadonlyMap<string, string>
}

export interface ReadBack {
  readonly logs: number
  readonly files: number
  readonly searches: number
  readonly bytes: number
  /** Between two servers. */
  readonly different: readonly string[]
  /** From what the caller knows must be there. */
  readonly wrong: readonly string[]
}

const LOGS = `query ($id: Int!, $cursor: String) {
  boltCommandLogs(commandId: $id, cursor: $cursor) { cursor finished lines { stream line } } }`
const SEARCH = `query ($id: Int!, $text: String!) {
  searchCommandLog(commandId: $id, text: $text, limit: 1000) { more matches { stream lineNumber line offset } } }`
const AT_ONCE = 8

export interface ToRead {
  readonly runIds: readonly number[]
  readonly clients: readonly Client[]
  /** What to look for in the logs of a run. */
  searchFor(runId: number): string
  /** What is wrong with the user's command of a run; empty for nothing. */
  judge(runId: number, last: CommandRead): string
}

export async function readBack({ runIds, clients, searchFor, judge }: ToRead): Promise<ReadBack> {
  const figures = { logs: 0, files: 0, searches: 0, bytes: 0 }
  const different: string[] = []
  const wrong: string[] = []
  const left = runIds.values()
  const work = async (): Promise<void> => {
    for (const runId of left) {
      const seen = await Promise.all(clients.map((client) => readRun(client, runId, searchFor(runId), figures)))
      const digests = new Set(seen.map((one) => one.digest))
      if (digests.size > 1) different.push(`run ${runId}`)
      const last = seen[0]!.commands.at(-1)
      const fault = last === undefined ? 'it has no commands' : judge(runId, last)
      if (fault !== '') wrong.push(`run ${runId}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { ...figures, different, wrong }
}

type Figures = { -readonly [name in 'logs' | 'files' | 'searches' | 'bytes']: number }

async function readRun(client: Client, runId: number, text: string, figures: Figures) {
  const detail = await client.ask(
    `query ($id: Int!) { boltRun(runId: $id) { run { state detail startDttm endDttm gitInfo { commitHash } }
      commands { id state command startDttm endDttm returnCode stdoutBytes stderrBytes resources { id path } } } }`,
    { id: runId },
  )
  const hash = createHash('sha256').update(JSON.stringify(detail))
  const commands: CommandRead[] = []
  for (const { id, resources } of detail.commands as { id: number; resources: { id: number; path: string }[] }[]) {
    const { stdout, stderr } = await readLog(client, id)
    const found = await client.ask(SEARCH, { id, text })
    const files = new Map<string, string>()
    for (const resource of resources) {
      files.set(resource.path, await readFile(client, resource.id))
      figures.files++
    }
    figures.logs++
    figures.searches++
    figures.bytes += [stdout, stderr, ...files.values()].reduce((sum, one) => sum + one.length, 0)
    hash.update(JSON.stringify([stdout, stderr, found, [...files]]))
    commands.push({ id, stdout, stderr, files })
  }
  return { digest: hash.digest('hex'), commands }
}

async function readLog(client: Client, id: number): Promise<{ stdout: string; stderr: string }> {
  const read = { STDOUT: '', STDERR: '' }
  for (let cursor: string | null = null; ; ) {
    const batch: Awaited<ReturnType<Client['ask']>> = await client.ask(LOGS, { id, cursor })
    for (const { stream, line } of batch.lines as { stream: 'STDOUT' | 'STDERR'; line: string }[]) read[stream] += line
    if (batch.finished) return { stdout: read.STDOUT, stderr: read.STDERR }
    if (batch.cursor === cursor) throw new Error(`the log of command ${id} has no end`)
    cursor = batch.cursor
  }
}

async function readFile(client: Client, id: number): Promise<string> {
  const { url } = await client.ask('query ($id: Int!) { boltResourceUrl(resourceId: $id) { url } }', { id })
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`resource ${id}: ${response.status}`)
  return Buffer.from(await response.arrayBuffer()).toString('latin1')
}
