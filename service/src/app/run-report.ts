// Makes the report of a run from its rows. Output is redacted where it is written, and so are dbt's messages, so nothing
// here can hold a secret of the run.

import { isFailedStatus } from '../domain/dbt-results.ts'
import { lastLines } from '../domain/log-tail.ts'
import type { FailedNode, ReportedCommand, RunReport } from '../domain/run-report.ts'
import * as artifacts from '../store/artifacts.ts'
import * as logs from '../store/command-logs.ts'
import type { CommandRow } from '../store/commands.ts'
import * as commands from '../store/commands.ts'
import type { Db } from '../store/database.ts'
import * as dbtResults from '../store/dbt-results.ts'
import * as reports from '../store/run-reports.ts'
import type { App } from './context.ts'

const MOST_NODES = 50
const LONGEST_MESSAGE = 500
const MOST_LINES = 20
const MOST_BYTES = 4096
/** Long lines are cut; from so much of each stream the last ones are taken. */
const WINDOW_BYTES = 16 * 1024

/** As the rows are now, in the transaction of `db` where it is one. */
export async function readRunReport(
  app: Pick<App, 'settings'>,
  db: Db,
  run: { readonly workspaceId: number; readonly runId: number },
): Promise<RunReport> {
  const { workspaceId, runId } = run
  const found = await reports.find(db, workspaceId, runId)
  if (found === null) throw new Error(`there is no run ${runId} to report on`)
  const rows = await commands.listOfRun(db, workspaceId, runId)
  const files = await artifacts.list(db, workspaceId, { runId })
  const failedNodes = (await dbtResults.list(db, workspaceId, runId)).filter((one) => isFailedStatus(one.status))
  const failed = rows.find((one) => hasFailed(one))
  const tails = new Map<number, Tail>()
  for (const one of rows) if (hasFailed(one)) tails.set(one.id, await readTail(db, workspaceId, one.id))
  const { publicUrl } = app.settings
  const page = `${publicUrl}/workspaces/${found.workspace.uid}/runs/${runId}`
  return {
    ...found,
    commands: rows.map((one) => ({
      ...commandOf(one),
      lastLines: tails.get(one.id)?.lines ?? [],
      jsonResources: files
        .filter((file) => file.commandId === one.id && /\.json$/i.test(file.path))
        .map(({ id, path }) => ({ id, path })),
    })),
    failedNodes: failedNodes.slice(0, MOST_NODES).map(nodeOf),
    failedNodeCount: failedNodes.length,
    links: {
      run: page,
      failedCommand: failed === undefined ? null : `${page}?command=${failed.id}&at=${tails.get(failed.id)!.at}`,
    },
    apiUrl: `${publicUrl}/graphql`,
  }
}

const hasFailed = ({ state }: CommandRow): boolean => state === 'failed' || state === 'stopped'

const commandOf = (one: CommandRow): Omit<ReportedCommand, 'lastLines' | 'jsonResources'> => ({
  id: one.id,
  command: one.text,
  kind: one.kind,
  state: one.state,
  startDttm: one.startedAt ?? '',
  endDttm: one.endedAt ?? '',
  returnCode: one.returnCode,
})

const nodeOf = ({ uniqueId, status, message }: dbtResults.DbtResult): FailedNode => ({
  uniqueId,
  status,
  message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE).toWellFormed()}…` : message,
})

interface Tail {
  readonly lines: readonly string[]
  /** The cursor from which the log shows them. */
  readonly at: string
}

/** Which stream holds the reason is not known: both have their share, and all of it where the other is silent. */
async function readTail(db: Db, workspaceId: number, commandId: number): Promise<Tail> {
  const state = await logs.find(db, workspaceId, commandId)
  if (state === null || state.day === null) return { lines: [], at: '0:0' }
  const { day } = state
  const windows = (['stdout', 'stderr'] as const).map((stream) => ({
    commandId,
    day,
    stream,
    from: Math.max(0, state[stream] - WINDOW_BYTES),
    to: state[stream],
  }))
  const [stdout, stderr] = await logs.readWindows(db, windows)
  const taken = lastLines(
    { bytes: stdout!, from: windows[0]!.from },
    { bytes: stderr!, from: windows[1]!.from },
    { lines: MOST_LINES, bytes: MOST_BYTES },
  )
  return { lines: taken.lines, at: `${taken.stdoutFrom}:${taken.stderrFrom}` }
}
