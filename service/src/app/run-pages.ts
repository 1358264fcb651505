// Runs as a list by filter, and one with everything in it.
import { invalidInput } from '../domain/errors.ts'
import type { RunState } from '../domain/run.ts'
import * as pages from '../store/run-pages.ts'
import * as runs from '../store/runs.ts'
import type { Artifact } from './artifacts.ts'
import { listArtifacts } from './artifacts.ts'
import type { Output } from './command-logs.ts'
import { runOutputs } from './command-logs.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { DbtResult } from './dbt-results.ts'
import { listDbtResults } from './dbt-results.ts'
import type { RunRow, RunStatus } from './run-queries.ts'
import { getRunStatus } from './run-queries.ts'
import { noSuchSchedule } from './trigger-run.ts'

export interface RunPage {
  readonly runs: readonly RunRow[]
  /** Where the next page begins; null at the end. */
  readonly next: number | null
}

export interface RunPageInput {
  readonly slug: string | null
  readonly states: readonly RunState[] | null
  readonly branch: string | null
  readonly prNumber: number | null
  readonly actorEmail: string | null
  readonly after: number | null
  readonly limit: number | null
}

const MOST_RUNS = 1_000
const SOME_RUNS = 100

export async function listRunPage(ctx: Context, input: RunPageInput): Promise<RunPage> {
  const workspace = workspaceOf(ctx)
  const limit = input.limit ?? SOME_RUNS
  if (limit < 1 || limit > MOST_RUNS) throw invalidInput(`limit: 1 to ${MOST_RUNS}, not ${limit}.`)
  const scheduleId = input.slug === null ? null : await runs.findScheduleId(ctx.db, workspace.id, input.slug)
  if (input.slug !== null && scheduleId === null) throw noSuchSchedule(input.slug)
  const { after } = input
  // One more than asked for tells whether there is a next page.
  const found = await pages.listPage(ctx.db, workspace.id, { ...input, scheduleId }, { after, limit: limit + 1 })
  const shown = found.slice(0, limit)
  return { runs: shown, next: found.length > limit ? shown.at(-1)!.id : null }
}

export interface RunDetail extends RunStatus {
  readonly results: readonly DbtResult[]
  readonly files: readonly Artifact[]
  readonly retries: readonly number[]
}

export async function getRunDetail(ctx: Context, input: { readonly runId: number }): Promise<RunDetail> {
  const status = await getRunStatus(ctx, input)
  const [results, files, retries] = await Promise.all([
    listDbtResults(ctx, input.runId),
    listArtifacts(ctx, { runId: input.runId }),
    pages.listRetries(ctx.db, workspaceOf(ctx).id, status.run),
  ])
  return { ...status, results, files, retries }
}

export interface RunOutput extends RunStatus {
  /** By the commands' ids. */
  readonly outputs: ReadonlyMap<number, Output>
}

/** The run with what its commands wrote, up to the limits of an answer. */
export async function getRunOutput(ctx: Context, input: { readonly runId: number }): Promise<RunOutput> {
  const status = await getRunStatus(ctx, input)
  return { ...status, outputs: await runOutputs(ctx.db, { workspaceId: workspaceOf(ctx).id, id: input.runId }) }
}
