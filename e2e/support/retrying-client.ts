/** A client as a careful one would be written: several addresses, an Idempotency-Key, and patience. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { graphql } from './service.ts'

export interface Target {
  readonly url: string
  readonly key: string
  readonly workspaceUid: string
}

export interface RetryingClient {
  /** The one root field's value; null when nobody gave it in time, which is a failed call. */
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, read freely by proofs
  ask(query: string, variables?: Record<string, unknown>): Promise<any>
  readonly calls: number
  readonly retried: number
  /** Answers by their status; 0 is none. */
  readonly statuses: ReadonlyMap<number, number>
  readonly failed: readonly string[]
}

const AGAIN_MS = 100

/** `targets` are asked for anew at each try, the last one that answered first. */
export function retryingClient(targets: () => readonly Target[], patienceMs: number): RetryingClient {
  const statuses = new Map<number, number>()
  const failed: string[] = []
  let [calls, retried, turn] = [0, 0, 0]
  return {
    get calls() {
      return calls
    },
    get retried() {
      return retried
    },
    statuses,
    failed,
    ask: async (query, variables = {}) => {
      calls++
      const idempotencyKey = randomUUID()
      const deadline = performance.now() + patienceMs
      for (let tries = 0; ; tries++) {
        const all = targets()
        const { url, key, workspaceUid } = all[turn % all.length]!
        const headers = { 'x-service-workspace': workspaceUid, 'idempotency-key': idempotencyKey }
        const answer = await graphql(url, key, query, variables, headers, patienceMs).catch(() => null)
        const status = answer?.status ?? 0
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (answer !== null && status === 200) {
          if (answer.body.errors !== undefined) failed.push(`${query}: ${JSON.stringify(answer.body.errors)}`)
          return Object.values(answer.body.data ?? {})[0] ?? null
        }
        if (performance.now() > deadline) {
          failed.push(`${query}: ${status} after ${tries + 1} tries`)
          return null
        }
        retried++
        turn++
        await pause(AGAIN_MS)
      }
    },
  }
}
