/**
 * What must hold for every run, whatever happened meanwhile: compares the rows, the witness file, the changes that the
 * trigger wrote down and the audit log with each other. Call it when nothing is going any more. Every list must be empty.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { verifyAudit } from '../../../service/src/app/audit.ts'
import { FINAL_STATES } from '../../../service/src/domain/run.ts'
import { processesWith } from '../../../service/test/support/executor.ts'
import type { EngineRig, WitnessLine } from './rig.ts'

export interface EngineFindings {
  /** I3: begun more than once, or in a later attempt. */
  readonly startedTwice: readonly string[]
  /** Begun without a row that says so, or said to have succeeded without having begun and ended. */
  readonly untrue: readonly string[]
  /** I4: an update of a run that had ended, or an end that was written more than once. */
  readonly changedAfterEnd: readonly string[]
  /** I5: neither ended nor going to. */
  readonly stuck: readonly string[]
  /** A cancel is recorded, and the run ended otherwise. */
  readonly cancelIgnored: readonly string[]
  readonly startedAfterCancel: readonly string[]
  /** I6: not exactly one record of a trigger and of an end; or the chain is broken. */
  readonly audit: readonly string[]
  /** Of a command that succeeded: output or files that are not what it wrote. */
  readonly output: readonly string[]
  /** I7: processes and folders that are left. */
  readonly left: readonly string[]
}

export const WORDS: Readonly<Record<keyof EngineFindings, string>> = {
  startedTwice: 'commands started twice, or in a second attempt',
  untrue: 'commands whose rows and witness differ',
  changedAfterEnd: 'ends that changed',
  stuck: 'runs and commands without an end',
  cancelIgnored: 'recorded cancels that did not decide',
  startedAfterCancel: 'commands that started after the cancel',
  audit: 'audit records missing, doubled or wrong',
  output: 'commands whose output or files are not what they wrote',
  left: 'processes and folders left behind',
}

/** In words. */
export const faultsIn = (found: EngineFindings): string[] =>
  (Object.keys(WORDS) as (keyof EngineFindings)[]).flatMap((key) => found[key].map((text) => `${WORDS[key]}: ${text}`))

interface RunFacts {
  readonly id: number
  readonly state: string
  readonly cause: string
  readonly cancel: boolean
  readonly triggered: number
  readonly ended: number
  readonly canceled: number
}

interface CommandFacts {
  readonly id: number
  readonly kind: string
  readonly state: string
  readonly returnCode: number | null
  readonly finished: boolean
  readonly afterCancel: boolean
  readonly stdout: string
  readonly stdoutBytes: number
  readonly files: string[]
}

const isFinal = (state: string): boolean => (FINAL_STATES as readonly string[]).includes(state)

export async function checkEngine(rig: EngineRig): Promise<EngineFindings> {
  const { t, folder } = rig.runs
  const { runs, commands, changes } = await read(rig)
  const chain = await verifyAudit(t.app.db, t.app.vault, [])
  const ends = Map.groupBy(
    changes.filter((one) => isFinal(one.becomes)),
    (one) => one.id,
  )
  return {
    ...fromWitness(commands, await rig.witness()),
    changedAfterEnd: [
      ...changes.filter((one) => isFinal(one.was)).map((one) => `run ${one.id}: ${one.was}, then ${one.becomes}`),
      ...[...ends].filter(([, all]) => all.length > 1).map(([id]) => `run ${id} ended more than once`),
    ],
    stuck: [
      ...runs.filter((one) => !isFinal(one.state)).map((one) => `run ${one.id} is ${one.state}`),
      ...commands
        .filter((one) => ['waiting', 'running'].includes(one.state) || !one.finished)
        .map((one) => `command ${one.id} is ${one.state}, its log ${one.finished ? 'closed' : 'open'}`),
    ],
    cancelIgnored: runs
      .filter((one) => (one.cancel || one.canceled > 0) && one.state !== 'canceled')
      .map((one) => `run ${one.id} is ${one.state}`),
    startedAfterCancel: commands.filter((one) => one.afterCancel).map((one) => `command ${one.id}`),
    audit: [
      ...chain.faults,
      ...runs
        .filter((one) => one.state !== 'skipped')
        .filter((one) => one.ended !== 1 || one.triggered !== (one.cause === 'cron' ? 0 : 1))
        .map((one) => `run ${one.id} (${one.cause}): ${one.triggered} triggers, ${one.ended} ends on record`),
    ],
    output: commands.filter((one) => one.kind === 'user' && one.state === 'succeeded').flatMap(outputFaults),
    left: [
      ...processesWith(folder).map((pid) => `process ${pid}`),
      ...(await readdir(join(folder, 'runs')).catch(() => [])).map((name) => `folder ${name}`),
    ],
  }
}

const counted = (event: string) => sql`(count(*) filter (where a.event_type = ${sql.lit(event)}))::int`

async function read(rig: EngineRig) {
  const db = rig.runs.t.database.owner.kysely
  const { rows: runs } = await sql<RunFacts>`select r.id, r.state, r.cause,
      r.cancel_requested_at is not null as cancel,
      ${counted('run_triggered')} + ${counted('run_retried')} as triggered, ${counted('run_ended')} as ended,
      ${counted('run_canceled')} as canceled
    from run r left join (select (metadata::jsonb ->> 'run')::int as run, event_type from audit_log) a on a.run = r.id
    group by r.id order by r.id`.execute(db)
  const { rows: commands } = await sql<CommandFacts>`select c.id, c.kind, c.state,
      c.return_code as "returnCode", c.log_finished as finished, c.stdout_bytes as "stdoutBytes",
      coalesce(c.started_at > r.cancel_requested_at, false) as "afterCancel", coalesce(o.stdout, '') as stdout,
      coalesce(f.files, '{}') as files
    from command c join run r on r.id = c.run_id
    left join (select command_id, convert_from(string_agg(bytes, ''::bytea order by start), 'UTF8') as stdout
      from log_chunk where stream = 1 group by 1) o on o.command_id = c.id
    left join (select command_id, array_agg(path) as files from artifact group by 1) f on f.command_id = c.id
    order by c.id`.execute(db)
  const { rows: changes } = await sql<{ id: number; was: string; becomes: string }>`select run_id as id, was, becomes
    from proof.change order by at`.execute(db)
  return { runs, commands, changes }
}

function fromWitness(commands: readonly CommandFacts[], witness: readonly WitnessLine[]) {
  const begun = Map.groupBy(
    witness.filter((line) => line.what === 'begin'),
    (line) => line.commandId,
  )
  const ended = new Set(witness.filter((line) => line.what === 'end').map((line) => line.commandId))
  const byId = new Map(commands.map((one) => [one.id, one]))
  const startedTwice: string[] = []
  const untrue: string[] = []
  for (const [id, lines] of begun) {
    if (lines.length > 1 || lines[0]!.attempt !== 1) startedTwice.push(`command ${id}: ${JSON.stringify(lines)}`)
    const state = byId.get(id)?.state ?? 'not there'
    if (!['succeeded', 'failed', 'stopped'].includes(state)) untrue.push(`command ${id} began and is ${state}`)
  }
  for (const one of commands) {
    if (one.kind !== 'user' || one.state !== 'succeeded') continue
    if (!begun.has(one.id) || !ended.has(one.id)) untrue.push(`command ${one.id} is said to have succeeded`)
    if (one.returnCode !== 0) untrue.push(`command ${one.id} succeeded with ${one.returnCode}`)
  }
  return { startedTwice, untrue }
}

function outputFaults({ id, stdout, stdoutBytes, files }: CommandFacts): string[] {
  const expected = `output of ${id}\n`
  const isWhole = stdout === expected && stdoutBytes === expected.length
  return [
    ...(isWhole ? [] : [`command ${id} wrote ${JSON.stringify(stdout)}`]),
    ...(files.join() === `file-${id}` ? [] : [`command ${id} left ${JSON.stringify(files)}`]),
  ]
}
