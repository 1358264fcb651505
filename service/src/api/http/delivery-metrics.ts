// What Prometheus reads about what leaves the service. Made apart from the other metrics, because the sender exists
// before the server does.
import { Counter, Gauge, Histogram, type Metric } from 'prom-client'

export interface DeliveryMetrics {
  readonly all: readonly Metric[]
  observe(one: { readonly channel: string; readonly outcome: string; readonly seconds: number }): void
}

export function createDeliveryMetrics(
  countOpen: () => Promise<readonly { readonly channel: string; readonly state: string; readonly count: number }[]>,
): DeliveryMetrics {
  const registers: [] = []
  const tries = new Counter({
    name: 'yardmaster_delivery_tries_total',
    help: 'Tries of deliveries by this process, by channel and outcome (delivered, again, refused).',
    labelNames: ['channel', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'yardmaster_delivery_try_duration_seconds',
    help: 'How long a try took, by channel.',
    labelNames: ['channel'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const open = new Gauge({
    name: 'yardmaster_deliveries',
    help: 'Deliveries that wait to be tried (again), and those that were given up and not sent again.',
    labelNames: ['channel', 'state'],
    registers,
    async collect() {
      this.reset()
      // Without a database the other figures are still worth having.
      for (const { channel, state, count } of await countOpen().catch(() => [])) this.set({ channel, state }, count)
    },
  })
  return {
    all: [tries, durations, open],
    observe({ channel, outcome, seconds }) {
      tries.inc({ channel, outcome })
      durations.observe({ channel }, seconds)
    },
  }
}
