import type { App } from '../app/context.ts'
import * as idSpace from '../store/id-space.ts'
import * as idempotency from '../store/idempotency.ts'
import type { NodeInfo } from '../store/nodes.ts'
import * as nodes from '../store/nodes.ts'
import * as pulls from '../store/pull-requests.ts'
import type { Periodic } from './periodic.ts'

/** Says that this process is here, for whoever must know which processes run. */
export function heartbeat(app: App, node: NodeInfo): Periodic {
  return { name: 'heartbeat', everyMs: 10_000, runOnce: () => nodes.beat(app.db, node) }
}

const WARN_ABOVE = 0.8
/** No git host sends a hook again after so long. */
const HOOK_DAYS = 30

/** What is kept for a day goes after it; a table that comes near the end of its ids is told of. */
export function housekeeping(app: App): Periodic {
  return {
    name: 'housekeeping',
    everyMs: 3_600_000,
    runOnce: async () => {
      const forgotten = await idempotency.forgetOld(app.db)
      await nodes.forgetLost(app.db)
      await pulls.forgetHooks(app.db, HOOK_DAYS)
      if (forgotten > 0) app.log.debug({ forgotten }, 'old idempotent answers were forgotten')
      for (const { table, used } of await idSpace.listNearlyUsedUp(app.db, WARN_ABOVE)) {
        app.log.warn(
          { table, used },
          'more than 80 % of the ids of a table are used; there are no more than 2,147,483,647',
        )
      }
    },
  }
}
