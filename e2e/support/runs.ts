/** Runs of a real service over HTTP: a repository, a client that says what went wrong, and waiting for facts. */
import { setTimeout as pause } from 'node:timers/promises'
import { type TestRepository, testRepository } from '../../service/test/support/repository.ts'
import { removeAtExit } from './leftovers.ts'
import { graphql } from './service.ts'

export type Repository = Omit<TestRepository, keyof AsyncDisposable>

export async function makeRepository(files: Readonly<Record<string, string>>): Promise<Repository> {
  const made = await testRepository(files)
  removeAtExit(made.folder)
  return made
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, read freely by tests
type Json = any

export interface Client {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The one root field's value. Throws when there is an error. */
  ask(query: string, variables?: Record<string, unknown>): Promise<Json>
  /** The code and message of the refusal. Throws when there is none. */
  refused(query: string, variables?: Record<string, unknown>): Promise<{ code: string; message: string }>
  /** An environment of the repository; gives its slug. */
  environment(repository: Repository, more?: Record<string, unknown>): Promise<string>
  /** A schedule without times of its own; gives its slug. */
  schedule(environment: string, commands: readonly string[], more?: Record<string, unknown>): Promise<string>
  trigger(slug: string, more?: Record<string, unknown>): Promise<number>
  /** Waits until the run has ended; gives its status. */
  ended(runId: number, timeoutMs?: number): Promise<Json>
  /** Waits for what `look` finds. */
  until<T>(look: () => Promise<T | null | undefined | false>, timeoutMs?: number): Promise<T>
}

export function clientOf(service: { url: string; key: string; workspaceUid: string }): Client {
  const headers = { 'x-service-workspace': service.workspaceUid }
  const send = (query: string, variables: Record<string, unknown> = {}) =>
    graphql(service.url, service.key, query, variables, headers)
  let made = 0

  const ask: Client['ask'] = async (query, variables) => {
    const { status, body } = await send(query, variables)
    if (status !== 200 || body.errors) throw new Error(`${status} ${JSON.stringify(body.errors)} for ${query}`)
    return Object.values(body.data ?? {})[0]
  }
  const until: Client['until'] = async (look, timeoutMs = 30_000) => {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const found = await look()
      if (found) return found
      if (performance.now() > deadline) throw new Error(`it did not come to pass within ${timeoutMs} ms: ${look}`)
      await pause(50)
    }
  }
  return {
    url: service.url,
    headers: { ...headers, authorization: `Bearer ${service.key}` },
    ask,
    until,
    refused: async (query, variables) => {
      const { body } = await send(query, variables)
      const error = body.errors?.[0]
      if (error === undefined) throw new Error(`nothing was refused: ${JSON.stringify(body.data)}`)
      return { code: error.extensions?.code ?? '', message: error.message }
    },
    environment: async (repository, more = {}) => {
      const environment = { displayName: `environment ${++made}`, repositoryUrl: repository.folder, ...more }
      const saved = await ask(
        'mutation ($environment: EnvironmentInput!) { createEnvironment(environment: $environment) { slug } }',
        { environment },
      )
      return saved.slug
    },
    schedule: async (environment, commands, more = {}) => {
      const schedule = { name: `schedule ${++made}`, schedule: 'OFF', environment, commands, ...more }
      const saved = await ask(
        'mutation ($schedule: BoltScheduleInput!) { createBoltSchedule(schedule: $schedule) { ok slug name } }',
        { schedule },
      )
      return saved.slug
    },
    trigger: async (slug, more = {}) => {
      const triggered = await ask(
        `mutation ($slug: String, $commands: [String!], $branch: String, $reason: String, $prNumber: Int,
          $continueOnError: Boolean, $configs: [BoltCommandInput!]) {
          triggerBoltRun(slug: $slug, commands: $commands, branch: $branch, reason: $reason, prNumber: $prNumber,
            continueOnError: $continueOnError, commandConfigs: $configs) { ok runId } }`,
        { slug, ...more },
      )
      return triggered.runId
    },
    ended: async (runId, timeoutMs) =>
      await until(async () => {
        const status = await ask(
          `query ($runId: Int!) { boltRunStatus(runId: $runId) { ok state commands { id command startDttm endDttm
            stdout stderr returnCode } } }`,
          { runId },
        )
        return status.state !== 'RUNNING' && status
      }, timeoutMs),
  }
}
