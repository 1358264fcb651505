// Parses one file of dbt's results off the event loop.
import { parentPort, workerData } from 'node:worker_threads'
import { parseDbtResults } from '../domain/dbt-results.ts'

parentPort?.postMessage(parseDbtResults(Buffer.from(workerData as Uint8Array).toString()))
