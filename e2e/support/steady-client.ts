// A client that behaves, in a thread of its own: what it measures is the service, not whoever troubles it.

import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { graphql } from './service.ts'

interface Work {
  readonly url: string
  readonly key: string
  readonly pauseMs: number
}

const { url, key, pauseMs } = workerData as Work
const ms: number[] = []
let failed = 0
let going = true
parentPort!.on('message', () => {
  going = false
})
while (going) {
  const began = performance.now()
  try {
    const { status, body } = await graphql(url, key, '{ listWorkspaces { ok } }', {}, {}, 15_000)
    if (status !== 200 || body.errors !== undefined) failed++
  } catch {
    failed++
  }
  ms.push(performance.now() - began)
  await pause(pauseMs)
}
parentPort!.postMessage({ ms, failed })
parentPort!.close()
