// pg-boss behind our own few words. A job is sent inside the transaction that makes it necessary; it only says that
// somebody should look, and the rows stay the truth. Payloads lie readable in the database: what is secret in one is
// sealed by its sender.
import { fromKysely, PgBoss } from 'pg-boss'
import type { Connection } from './connection.ts'
import { clientConfig } from './connection.ts'
import type { Db } from './database.ts'

/** Every queue of the service, with how often and how long a job is tried. */
const QUEUES = {
  // Twelve tries with doubling pauses are about eleven hours: a mail server may be down overnight.
  mail: {
    retryLimit: 12,
    retryDelay: 10,
    retryBackoff: true,
    expireInSeconds: 60,
    retentionSeconds: 86_400,
    notify: true,
  },
  // Says that run {runId} may be taken; the run's row decides. Never delivered again: a worker that could not take it
  // leaves the row claimable, and every worker also looks for such rows by itself.
  run: {
    retryLimit: 0,
    expireInSeconds: 30,
    retentionSeconds: 86_400,
    deleteAfterSeconds: 3600,
    notify: true,
  },
  // Says that session {sessionId} of an agent has something to do. As for runs: the row decides, and workers look too.
  'agent-turn': {
    retryLimit: 0,
    expireInSeconds: 30,
    retentionSeconds: 86_400,
    deleteAfterSeconds: 3600,
    notify: true,
  },
  // Says that something happened to a run, or that something is to go out; the rows decide. Whoever works on them also
  // looks by itself, so a job is never delivered again.
  'run-event': {
    retryLimit: 0,
    expireInSeconds: 30,
    retentionSeconds: 3600,
    deleteAfterSeconds: 60,
    notify: true,
  },
  delivery: {
    retryLimit: 0,
    expireInSeconds: 30,
    retentionSeconds: 3600,
    deleteAfterSeconds: 60,
    notify: true,
  },
  // Says that the files of workspace {workspaceId} should be looked at now; they are looked at every ten minutes anyway.
  'schedule-files': {
    retryLimit: 0,
    expireInSeconds: 300,
    retentionSeconds: 3600,
    deleteAfterSeconds: 60,
    notify: true,
  },
} as const

export type QueueName = keyof typeof QUEUES

export interface Queue {
  send(tx: Db, queue: QueueName, data: object): Promise<void>
  /** Many jobs in one statement. */
  sendAll(tx: Db, queue: QueueName, all: readonly object[]): Promise<void>
}

export interface QueueService extends Queue {
  /** Makes pg-boss' schema and our queues, and in `full` mode maintains them and listens. Safe to call twice. */
  start(): Promise<void>
  /** Waits for the handlers that are running. Safe to call twice. */
  stop(): Promise<void>
  work(queue: QueueName, handle: (data: unknown, signal: AbortSignal) => Promise<void>): Promise<void>
  /**
   * Handles jobs inside pg-boss' own transaction, which also completes the job: what `handle` writes through `tx` is
   * there exactly when the job is done. `handle` returns before the commit, so nothing outside the database may begin
   * in it. The answer stops taking jobs and waits for the one in hand.
   */
  workTransactional(
    queue: QueueName,
    handle: (data: unknown, tx: JobTransaction) => Promise<void>,
  ): Promise<{ stop(): Promise<void> }>
}

/** The transaction that a job is completed in. */
export interface JobTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: rows are as the statement names them
  executeSql(text: string, values?: unknown[]): Promise<{ rows: any[] }>
}

export interface QueueOptions {
  /** full: workers, maintenance and LISTEN. send: a command that only sends. */
  readonly mode: 'full' | 'send'
  onError(error: unknown): void
}

const POLL_SECONDS = 2

export function openQueue(connection: Connection, options: QueueOptions): QueueService {
  const full = options.mode === 'full'
  const { types: _, ...client } = clientConfig(connection, {
    applicationName: 'yardmaster queue',
    queryTimeoutMs: 30_000,
  })
  const boss = new PgBoss({
    ...(client as object),
    // The migration made the schema: making one takes a right on the database that the service's role lacks.
    schema: 'pgboss',
    createSchema: false,
    max: full ? 4 : 1,
    supervise: full,
    schedule: false,
    useListenNotify: full,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', options.onError)
  let started: Promise<void> | undefined
  let stopped: Promise<void> | undefined
  const start = (): Promise<void> => {
    started ??= (async () => {
      await boss.start()
      for (const [name, queue] of Object.entries(QUEUES)) {
        if ((await boss.getQueue(name)) === null) await boss.createQueue(name, queue)
        else await boss.updateQueue(name, queue)
      }
    })()
    return started
  }
  return {
    start,
    stop: () => {
      stopped ??=
        started === undefined
          ? Promise.resolve()
          : started.then(
              () => boss.stop({ graceful: true, timeout: 10_000 }),
              () => {},
            )
      return stopped
    },
    send: async (tx, queue, data) => {
      await start()
      await boss.send(queue, data, { db: fromKysely(tx) })
    },
    sendAll: async (tx, queue, all) => {
      await start()
      const jobs = all.map((data) => ({ data }))
      if (jobs.length > 0) await boss.insert(queue, jobs, { db: fromKysely(tx) })
    },
    work: async (queue, handle) => {
      await start()
      // A batch of one and a slow poll: after each job the worker is woken again, because pg-boss would otherwise let
      // it sleep until the next poll although more jobs wait.
      const id = await boss.work(
        queue,
        { batchSize: 1, pollingIntervalSeconds: POLL_SECONDS, notifyPollingIntervalSeconds: POLL_SECONDS },
        async ([job]) => {
          boss.notifyWorker(id)
          if (job !== undefined) await handle(job.data, job.signal)
        },
      )
    },
    workTransactional: async (queue, handle) => {
      await start()
      const id = await boss.work(
        queue,
        {
          batchSize: 1,
          transactional: true,
          pollingIntervalSeconds: POLL_SECONDS,
          notifyPollingIntervalSeconds: POLL_SECONDS,
        },
        async ([job], tx) => {
          boss.notifyWorker(id)
          if (job !== undefined) await handle(job.data, tx)
        },
      )
      return { stop: () => boss.offWork(queue, { id, wait: true }) }
    },
  }
}
