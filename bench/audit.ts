// Verifying 100,000 audit records, against reading the same rows and doing nothing with them.
import assert from 'node:assert/strict'
import { verifyAudit } from '../service/src/app/audit.ts'
import type { App } from '../service/src/app/context.ts'
import type { AuditEntry } from '../service/src/domain/audit.ts'
import * as audit from '../service/src/store/audit.ts'
import { inTransaction } from '../service/src/store/database.ts'
import { seconds, withApp } from './support/app.ts'
import type { Figure } from './support/figure.ts'
import { median } from './support/processes.ts'

const ROWS = 100_000
const BATCH = 5_000
const TURNS = 3
const MOST_SECONDS = 2

export async function benchAudit(): Promise<Figure[]> {
  return await withApp(async (app) => {
    await fill(app)
    const turns: { verify: number; read: number }[] = []
    for (let turn = 0; turn < TURNS; turn++) {
      const read = await seconds(() => readAll(app))
      const verify = await seconds(async () => {
        const { rows, faults } = await verifyAudit(app.db, app.vault, [])
        assert.deepEqual([rows, faults], [ROWS, []])
      })
      turns.push({ verify, read })
    }
    const verify = median(turns.map((one) => one.verify))
    return [
      {
        name: `verify ${ROWS} audit records`,
        measured: `${verify.toFixed(2)} s`,
        floor: `${median(turns.map((one) => one.read)).toFixed(2)} s`,
        ratio: median(turns.map((one) => one.verify / one.read)),
        bound: { most: 4 },
        notes: `floor: reading them; goal: ${MOST_SECONDS} s, ${verify <= MOST_SECONDS ? 'met' : 'not met on this machine'}`,
      },
    ]
  })
}

async function fill(app: App): Promise<void> {
  for (let from = 0; from < ROWS; from += 1_000) {
    const entries = Array.from({ length: 1_000 }, (_, index): AuditEntry => entry(from + index))
    await inTransaction(app.db, (tx) => audit.append(tx, app.vault, entries))
  }
}

const entry = (number: number): AuditEntry => ({
  workspaceId: number % 5,
  workspaceName: `Workspace ${number % 5}`,
  actorType: 'user',
  actorUserId: number % 50,
  actorEmail: `person-${number % 50}@example.com`,
  eventType: 'user_account_type_updated',
  metadata: { uid: `uid${number}`, email: `person-${number}@example.com`, from: 'ANALYST', to: 'DEVELOPER' },
})

async function readAll(app: App): Promise<void> {
  let last = 0
  for (;;) {
    const rows = await audit.readChain(app.db, last, BATCH)
    last = rows.at(-1)?.id ?? last
    if (rows.length < BATCH) break
  }
  assert.equal(last, ROWS)
}
