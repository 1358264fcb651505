// Parses one file of dbt's off the event loop.
import { parentPort, workerData } from 'node:worker_threads'
import { parseDbtManifest } from '../domain/dbt-manifest.ts'
import { parseDbtResults } from '../domain/dbt-results.ts'

export interface DbtFile {
  readonly kind: 'results' | 'manifest'
  readonly bytes: Uint8Array
}

const { kind, bytes } = workerData as DbtFile
const text = Buffer.from(bytes).toString()
parentPort?.postMessage(kind === 'results' ? parseDbtResults(text) : parseDbtManifest(text))
