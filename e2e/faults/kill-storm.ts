// kill -9 of the service under a load of mutations, and start again, fifty times: nothing that was acknowledged is
// lost, nothing happens twice, the audit chain verifies, no second PostgreSQL is left running.
//
//   node e2e/faults/kill-storm.ts [--external] [--kills 50] [--seed N]
//
// --external: on a PostgreSQL that is not the service's: DATABASE_URL where it is set, otherwise one that is started
// here. Only the service is killed then.
import { parseArgs } from 'node:util'
import { externalPostgres } from '../support/external-postgres.ts'
import { median, startClock, summary } from '../support/report.ts'
import { storm } from '../support/storm.ts'

const { values } = parseArgs({
  options: {
    external: { type: 'boolean', default: false },
    kills: { type: 'string', default: '50' },
    seed: { type: 'string' },
  },
})
const kills = Number(values.kills)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const least = { acknowledged: kills * 100, inTransaction: Math.floor(kills * 0.4) }
const clock = startClock()
console.log(`kill storm${values.external ? ' on an external database' : ''}, seed ${seed}`)

const external = values.external ? await externalPostgres(process.env.DATABASE_URL) : undefined
const report = await storm({
  kills,
  acknowledged: least.acknowledged,
  clients: 16,
  seed,
  ...(external && { external }),
  say: (line) => console.log(`  ${line}`),
})
await external?.stop()

const { history, last } = report
summary(`kill storm${values.external ? ', external database' : ''}`, clock, [
  ['kills under load', report.kills],
  ['  inside an open transaction that had written', report.killsInTransaction, (n) => n >= least.inTransaction],
  ['  open transactions then, in all', report.openTransactions],
  ['  together with every PostgreSQL process', report.killsWithDatabase],
  ['further kills during start-up', report.killsAtStart],
  ['acknowledged mutations', history.count('ok'), (n) => n >= least.acknowledged],
  ['  of unknown outcome at the end', history.count('unknown')],
  ['    of which have happened', last.unknownDone],
  ['  sent again with their Idempotency-Key', history.resent()],
  ['  repeated after their answer', history.repeated],
  ['    answered differently', history.repeatedDifferently.length, (n) => n === 0],
  ['lost', last.lost.length, (n) => n === 0],
  ['doubled', last.doubled.length, (n) => n === 0],
  ['done although refused', last.ghosts.length, (n) => n === 0],
  ['effect, audit record or mail without the others', last.torn.length, (n) => n === 0],
  ['audit records verified', last.auditRows],
  ['  heads kept outside', last.witnesses, (n) => n > 0],
  ['  faults in the chain', last.chain.length, (n) => n === 0],
  ['kill to first answer, ms, p50', median(report.restartMs)],
  ['kill to first answer, ms, max', Math.max(...report.restartMs)],
  ['all faults', report.faults.length, (n) => n === 0],
])
for (const fault of report.faults.slice(0, 20)) console.log(`  ${fault}`)
