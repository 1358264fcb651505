// Loaded into a process of the service by --import: when it ends it says how long its event loop was held up.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  // The start is not what is measured: modules are read then, and nobody waits.
  process.on('SIGUSR2', () => delay.reset())
  process.on('exit', () => {
    const ms = (nanoseconds: number): number => Math.round(nanoseconds / 1e4) / 100
    process.stderr.write(`event loop delay p99 ${ms(delay.percentile(99))} max ${ms(delay.max)}\n`)
  })
}
