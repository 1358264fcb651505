import { createLog } from '../adapters/log.ts'
import { startWorkerProcess } from '../compose/run-worker.ts'
import { secretTexts } from '../config/describe.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Cli } from './io.ts'

const SAME_SIGNAL_MS = 500
/** What is told to stop has gone by then; whatever has not is left to the servers, which see that this process is gone. */
const LAST_MS = 15_000

/** Runs until a signal. The first one waits for the runs that are going; the second one ends them; a third waits for nothing. */
export async function runWorker({ config }: LoadedConfig, environment: Cli['env']): Promise<number> {
  const log = createLog({ level: config.log.level })
  for (const secret of secretTexts(config)) log.mask(secret)
  const running = await startWorkerProcess(config, log, environment)
  process.stdout.write(`\nYardmaster worker ${running.id} is taking runs\n`)

  const ended = Promise.withResolvers<number>()
  let signals = 0
  let last = Number.NEGATIVE_INFINITY
  const onSignal = (signal: NodeJS.Signals): void => {
    // One Ctrl-C may arrive twice.
    if (performance.now() - last < SAME_SIGNAL_MS) return
    last = performance.now()
    signals++
    if (signals === 1) {
      log.info({ signal }, 'stopping when the runs here have ended; a second signal ends them now')
      running.stop().then(() => ended.resolve(signals === 1 ? 0 : 130), ended.reject)
    } else if (signals === 2) {
      log.warn({ signal }, 'second signal: ending the runs now')
      setTimeout(() => process.exit(130), LAST_MS).unref()
      running.stopNow().then(() => ended.resolve(130), ended.reject)
    } else process.exit(130)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const code = await ended.promise
  log.info({}, 'stopped')
  return code
}
