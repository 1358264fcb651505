// The service without its edges, over an embedded PostgreSQL in a folder of its own with its usual settings (fsync and
// all), for benchmarks that call use cases directly.
import { join } from 'node:path'
import { createLog } from '../../service/src/adapters/log.ts'
import type { App } from '../../service/src/app/context.ts'
import { openApp } from '../../service/src/compose/open.ts'
import { loadConfig } from '../../service/src/config/load.ts'
import { inTemporaryFolder } from './processes.ts'

export async function withApp<T>(work: (app: App) => Promise<T>): Promise<T> {
  return await inTemporaryFolder(async (folder) => {
    const { config } = loadConfig({ env: { YARDMASTER_DATA: join(folder, 'data') }, cwd: folder })
    const opened = await openApp(config, createLog({ level: 'warn' }), { purpose: 'command' })
    try {
      return await work(opened.app)
    } finally {
      await opened.close()
    }
  })
}

/** Seconds that the work took. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}
