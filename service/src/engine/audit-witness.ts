import type { App } from '../app/context.ts'
import type { AuditWitness } from '../ports/audit-witness.ts'
import * as audit from '../store/audit.ts'
import type { Periodic } from './periodic.ts'

const EVERY_MS = 60_000

/** Writes the head of the audit chain outside the database every minute in which it moved. */
export function auditWitness(app: App, witness: AuditWitness): Periodic {
  let seen = 0
  return {
    name: 'audit witness',
    everyMs: EVERY_MS,
    runOnce: async () => {
      const head = await audit.readHead(app.db)
      if (head.id === seen) return
      await witness.append(head)
      seen = head.id
    },
  }
}
