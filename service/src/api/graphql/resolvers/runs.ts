import { listArtifacts, resourceUrl } from '../../../app/artifacts.ts'
import { commandOutput } from '../../../app/command-logs.ts'
import type { Context } from '../../../app/context.ts'
import { watchRun } from '../../../app/live.ts'
import { retryAllRun, retryRun, retryRunFromFailure } from '../../../app/retry.ts'
import { cancelRuns, retryRuns } from '../../../app/run-batches.ts'
import { getRunDetail, getRunOutput, listRunPage } from '../../../app/run-pages.ts'
import { getCommand, listRuns } from '../../../app/run-queries.ts'
import { cancelRun } from '../../../app/runs.ts'
import { triggerRun } from '../../../app/trigger-run.ts'
import { invalidInput } from '../../../domain/errors.ts'
import {
  parseState,
  presentAnswers,
  presentCommand,
  presentDetail,
  presentPage,
  presentRun,
  presentState,
  presentSteps,
  STATE_WORDS,
} from '../present/run.ts'
import type {
  BoltCommand,
  BoltResourceUrl,
  BoltRunAnswers,
  BoltRunChange,
  BoltRunDetail,
  BoltRunFilter,
  BoltRunPage,
  BoltRunStatus,
  BoltRuns,
  MutationCancelBoltRunArgs,
  MutationCancelBoltRunsArgs,
  MutationRetryAllBoltRunArgs,
  MutationRetryBoltRunArgs,
  MutationRetryBoltRunFromFailureArgs,
  MutationRetryBoltRunsArgs,
  MutationTriggerBoltRunArgs,
  Ok,
  QueryBoltCommandArgs,
  QueryBoltResourceUrlArgs,
  QueryBoltRunArgs,
  QueryBoltRunPageArgs,
  QueryBoltRunStatusArgs,
  QueryListBoltRunsArgs,
  RetryBoltRun,
  SubscriptionBoltRunStateArgs,
  TriggerBoltRun,
} from '../wire-types.ts'

const NO_OUTPUT = { stdout: '', stderr: '' }

export const runResolvers = {
  async listBoltRuns(ctx: Context, args: QueryListBoltRunsArgs): Promise<BoltRuns> {
    const runs = await listRuns(ctx, args)
    return { ok: true, runs: runs.map((run) => presentRun(run, ctx.clock.now())) }
  },
  async boltRunStatus(ctx: Context, args: QueryBoltRunStatusArgs): Promise<BoltRunStatus> {
    const { run, commands, outputs } = await getRunOutput(ctx, args)
    return {
      ok: true,
      state: presentState(run.state),
      commands: commands.map((one) => presentCommand(one, outputs.get(one.id) ?? NO_OUTPUT)),
    }
  },
  async boltCommand(ctx: Context, args: QueryBoltCommandArgs): Promise<BoltCommand> {
    const command = await getCommand(ctx, args)
    const [output, files] = await Promise.all([
      commandOutput(ctx, command.id),
      listArtifacts(ctx, { commandId: command.id }),
    ])
    return {
      ok: true,
      ...presentCommand(command, output),
      scheduleRunId: command.runId,
      resources: files.map(({ id, path }) => ({ id, path })),
    }
  },
  async boltResourceUrl(ctx: Context, args: QueryBoltResourceUrlArgs): Promise<BoltResourceUrl> {
    return { ok: true, url: await resourceUrl(ctx, args.resourceId) }
  },
  async boltRun(ctx: Context, args: QueryBoltRunArgs): Promise<BoltRunDetail> {
    return presentDetail(await getRunDetail(ctx, args), ctx.clock.now())
  },
  async boltRunPage(ctx: Context, args: QueryBoltRunPageArgs): Promise<BoltRunPage> {
    const { filter } = args
    const page = await listRunPage(ctx, {
      slug: filter?.slug ?? null,
      states: statesOf(filter?.states),
      branch: filter?.branch ?? null,
      prNumber: filter?.prNumber ?? null,
      actorEmail: filter?.actorEmail ?? null,
      after: args.after ?? null,
      limit: args.limit ?? null,
    })
    return presentPage(page, ctx.clock.now())
  },
  async triggerBoltRun(ctx: Context, args: MutationTriggerBoltRunArgs): Promise<TriggerBoltRun> {
    return { ok: true, ...(await triggerRun(ctx, args)) }
  },
  async cancelBoltRun(ctx: Context, args: MutationCancelBoltRunArgs): Promise<Ok> {
    await cancelRun(ctx, { runId: args.scheduleRunId })
    return { ok: true }
  },
  async retryBoltRunFromFailure(ctx: Context, args: MutationRetryBoltRunFromFailureArgs): Promise<RetryBoltRun> {
    return { ok: true, ...(await retryRunFromFailure(ctx, args)) }
  },
  async retryBoltRun(ctx: Context, args: MutationRetryBoltRunArgs): Promise<RetryBoltRun> {
    return { ok: true, ...(await retryRun(ctx, { runId: args.scheduleRunId })) }
  },
  async retryAllBoltRun(ctx: Context, args: MutationRetryAllBoltRunArgs): Promise<RetryBoltRun> {
    return { ok: true, ...(await retryAllRun(ctx, { runId: args.scheduleRunId })) }
  },
  async cancelBoltRuns(ctx: Context, args: MutationCancelBoltRunsArgs): Promise<BoltRunAnswers> {
    return presentAnswers(await cancelRuns(ctx, args.scheduleRunIds))
  },
  async retryBoltRuns(ctx: Context, args: MutationRetryBoltRunsArgs): Promise<BoltRunAnswers> {
    return presentAnswers(await retryRuns(ctx, args.scheduleRunIds))
  },
  async boltRunState(
    ctx: Context,
    args: SubscriptionBoltRunStateArgs,
    signal: AbortSignal,
  ): Promise<AsyncIterable<BoltRunChange>> {
    const changes = await watchRun(ctx, args, signal)
    return (async function* () {
      for await (const { run, commands } of changes) {
        yield { run: presentRun(run, ctx.clock.now()), commands: presentSteps(commands, []) }
      }
    })()
  },
}

function statesOf(words: BoltRunFilter['states']) {
  if (words == null) return null
  return words.flatMap((word) => {
    const states = parseState(word)
    if (states.length === 0)
      throw invalidInput(`states: "${word.slice(0, 40)}" is not one of ${STATE_WORDS.join(', ')}.`)
    return states
  })
}
