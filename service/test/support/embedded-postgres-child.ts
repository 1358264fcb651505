/**
 * A process of its own that starts or joins the embedded PostgreSQL of a folder, says so in one line of JSON, and
 * stops it when told to (SIGTERM). Tests kill it in worse ways.
 */
import { startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts'
import { quietLog } from './log.ts'

const [dataFolder, purpose] = process.argv.slice(2)
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`)

try {
  const postgres = await startEmbeddedPostgres({
    dataFolder: dataFolder!,
    purpose: purpose as 'serve' | 'command',
    log: quietLog,
  })
  const stay = setInterval(() => {}, 1_000)
  process.once('SIGTERM', () => {
    void postgres.stop().then(() => clearInterval(stay))
  })
  say({ owner: postgres.owner, service: postgres.service, adopted: postgres.adopted })
} catch (error) {
  say({ refused: (error as Error).message })
}
