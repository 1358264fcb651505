/** The schedules that a storm over runs works on, with a witness that their commands write to. */
import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { clientOf } from './runs.ts'
import type { ServiceProcess } from './service.ts'
import { COMMANDS, makeWitness, type Witness } from './witness.ts'

/** Short enough that a lost worker is missed within the storm. */
export const LEASE_SECONDS = 5
export const SLOTS = 4

export const SCENE_ENVIRONMENT = {
  YARDMASTER_REQUESTS_PER_SECOND: '100000',
  YARDMASTER_REQUEST_BURST: '1000000',
  YARDMASTER_WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
  YARDMASTER_WORKER_SLOTS: String(SLOTS),
}

export interface Scene {
  readonly witness: Witness
  readonly schedules: readonly string[]
  /** Of the schedules with a cron expression: the first time that they are due, in seconds since 1970. */
  readonly firstDue: ReadonlyMap<string, number>
  /** `NAME=value` in the environment of every command. */
  readonly mark: string
}

const DUTIES: readonly { readonly commands: readonly string[]; readonly overlap: string }[] = [
  { commands: [COMMANDS.short, COMMANDS.short], overlap: 'QUEUE_ONE' },
  { commands: [COMMANDS.leaving], overlap: 'QUEUE_ONE' },
  { commands: [COMMANDS.short, COMMANDS.failing, COMMANDS.short], overlap: 'SKIP' },
  { commands: [COMMANDS.leavingWithOutput, COMMANDS.short], overlap: 'CANCEL_PREVIOUS' },
  { commands: [COMMANDS.short], overlap: 'ALLOW' },
]

/** `ticking`: how many of the schedules are due every minute; as many again are only triggered. */
export async function setScene(service: ServiceProcess, database: pg.Client, ticking: number): Promise<Scene> {
  const witness = await makeWitness()
  const mark = { key: 'STORM_MARK', value: randomBytes(12).toString('hex') }
  const client = clientOf(service)
  const environment = await client.environment(witness.repository)
  const schedules: string[] = []
  for (let at = 0; at < ticking * 2; at++) {
    const { commands, overlap } = DUTIES[at % DUTIES.length]!
    const schedule = at < ticking ? '* * * * *' : 'OFF'
    schedules.push(await client.schedule(environment, commands, { schedule, overlap, envVars: [mark] }))
  }
  const { rows }: pg.QueryResult<{ slug: string; first: number }> = await database.query(
    `select slug, extract(epoch from coalesce((select min(due_at) from run where schedule_id = schedule.id), next_due_at))
       ::float8 as first from schedule where slug = any($1) and cron <> 'OFF'`,
    [schedules],
  )
  const firstDue = new Map(rows.map(({ slug, first }) => [slug, first]))
  return { witness, schedules, firstDue, mark: `${mark.key}=${mark.value}` }
}
