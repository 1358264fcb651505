/**
 * The service's engine over a database of its own, with real processes below it and a witness beside it: every command
 * leaves a line in a file when it begins and when it ends, and a trigger of the database writes down every change of a
 * run's state. Both are out of reach of what is being proved.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openFilesystemBlobs } from '../../../service/src/adapters/blob/filesystem.ts'
import { createProcessExecutor } from '../../../service/src/adapters/executor/process.ts'
import { type CommandLog, openLog } from '../../../service/src/engine/worker/log-shipper.ts'
import { runFiles } from '../../../service/src/engine/worker/run-files.ts'
import { type TestRuns, type TestWorker, testRuns, type WorkerOptions } from '../../../service/test/support/runs.ts'

export interface WitnessLine {
  readonly runId: number
  readonly attempt: number
  readonly commandId: number
  readonly what: 'begin' | 'end'
}

export interface EngineRig extends AsyncDisposable {
  readonly runs: TestRuns
  /** Writes its line, prints one, leaves a file, takes so long, and writes its other line. */
  command(seconds: number): string
  /** With the process executor, logs and files as the service has them. */
  worker(options?: WorkerOptions): Promise<TestWorker>
  witness(): Promise<readonly WitnessLine[]>
}

const NAMES = '"$YARDMASTER_RUN_ID" "$YARDMASTER_ATTEMPT" "$YARDMASTER_COMMAND_ID"'

export async function engineRig(): Promise<EngineRig> {
  const runs = await testRuns({ queue: 'real' })
  const { app, database } = runs.t
  await sql`create schema proof`.execute(database.owner.kysely)
  await sql`create table proof.change (run_id integer, was text, becomes text, at timestamptz default clock_timestamp())`.execute(
    database.owner.kysely,
  )
  // Every update of a run that has ended is noted, whatever it changes.
  await sql`create function proof.note() returns trigger language plpgsql security definer as $$ begin
      insert into proof.change (run_id, was, becomes) values (old.id, old.state, new.state); return null; end $$`.execute(
    database.owner.kysely,
  )
  await sql`create trigger proof after update on run for each row
    when (old.state <> new.state or old.ended_at is not null) execute function proof.note()`.execute(
    database.owner.kysely,
  )
  const file = join(runs.folder, 'witness')
  await writeFile(file, '')
  const executor = await createProcessExecutor()
  const blobs = await openFilesystemBlobs(join(runs.folder, 'blobs'))
  const line = (what: WitnessLine['what']): string => `printf '%s %s %s ${what}\\n' ${NAMES} >> ${file}`
  return {
    runs,
    command: (seconds) =>
      [
        line('begin'),
        'echo "output of $YARDMASTER_COMMAND_ID"',
        'echo made > "file-$YARDMASTER_COMMAND_ID"',
        `sleep ${seconds}`,
        line('end'),
      ].join('; '),
    worker: (options = {}) =>
      runs.worker({
        ...options,
        ports: {
          executor,
          openLog: (id, { secrets, lost }): Promise<CommandLog> => openLog(app.db, id, { secrets, signal: lost }),
          files: runFiles(app, blobs),
          ...options.ports,
        },
      }),
    witness: async () =>
      (await readFile(file, 'utf8'))
        .split('\n')
        .filter((text) => text !== '')
        .map((text) => {
          const [runId, attempt, commandId, what] = text.split(' ')
          const numbers = { runId: Number(runId), attempt: Number(attempt), commandId: Number(commandId) }
          return { ...numbers, what: what as WitnessLine['what'] }
        }),
    [Symbol.asyncDispose]: async () => {
      await runs[Symbol.asyncDispose]()
      executor.close()
    },
  }
}
