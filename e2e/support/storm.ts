/** Kills the service again and again while clients change things, and checks after every start what is there. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { newUid } from '../../service/src/domain/ids.ts'
import type { Connection } from '../../service/src/store/connection.ts'
import { check, type Findings, faultsIn } from './checker.ts'
import type { ExternalPostgres } from './external-postgres.ts'
import { History } from './history.ts'
import { socketFolderOf } from './leftovers.ts'
import { startLoad, Target, type Worker } from './load.ts'
import { clusterOf, Holdings, lookInto, ownerOf, postgresProcesses } from './postgres.ts'
import { type Random, seeded } from './random.ts'
import { graphql, launch, type ServiceProcess, startProcess } from './service.ts'

export interface StormOptions {
  readonly kills: number
  readonly acknowledged: number
  readonly clients: number
  readonly seed: number
  /** Instead of the embedded database. */
  readonly external?: ExternalPostgres
  readonly say?: (line: string) => void
}

export interface StormReport {
  readonly history: History
  readonly kills: number
  /** Kills while the service was still coming up, beside the others. */
  readonly killsAtStart: number
  /** Kills that took every PostgreSQL process with them, so that the database had to recover. */
  readonly killsWithDatabase: number
  readonly killsInTransaction: number
  /** Open transactions that had written, over all kills. */
  readonly openTransactions: number
  /** From a kill to the first answered request. */
  readonly restartMs: readonly number[]
  readonly last: Findings
  readonly faults: readonly string[]
}

/** The clients are many more than one key is meant for. */
export const ENVIRONMENT = { YARDMASTER_REQUESTS_PER_SECOND: '100000', YARDMASTER_REQUEST_BURST: '1000000' }

export async function storm(options: StormOptions): Promise<StormReport> {
  const { kills, external } = options
  const say = options.say ?? (() => {})
  const random = seeded(options.seed)
  const env = { ...ENVIRONMENT, ...(external && { DATABASE_URL: external.url }) }
  const history = new History()
  const target = new Target()
  const faults: string[] = []
  const restartMs: number[] = []
  const holdings = new Holdings()
  let [killsAtStart, killsWithDatabase, killsInTransaction, openTransactions] = [0, 0, 0, 0]
  let acknowledged = 0

  let service = await startProcess({ env })
  const { dataFolder } = service
  const connection = (): Connection => external?.superuser ?? ownerOf(dataFolder)
  const { workers, auditStart } = await prepare(service, connection(), options.clients)
  const place = () => ({ connection: connection(), dataFolder, auditStart })
  const onAcknowledged = () => void acknowledged++
  const load = startLoad({ workers, target, history, random, onAcknowledged })

  for (let round = 1; round <= kills && faults.length === 0; round++) {
    const looking = await lookInto(connection())
    holdings.note(clusterOf(dataFolder))
    const share = (options.acknowledged * 1.1 - acknowledged) / (kills - round + 1)
    const chosen = acknowledged + Math.max(5, Math.round(share * (0.4 + random.next() * 1.2)))
    // Chance may leave every round short; the last one makes up for it.
    const goal = round === kills ? Math.max(chosen, options.acknowledged) : chosen
    target.open(service)
    await until(
      () => acknowledged >= goal,
      `${goal} acknowledged mutations, of which there are`,
      () => acknowledged,
    )
    await pause(random.between(0, 30))

    const how = random.chance(0.2) ? 'plain' : !external && random.chance(0.15) ? 'with database' : 'stopped'
    if (how !== 'plain') {
      // Stopped, it cannot commit any more: what is open now is open when it dies.
      service.signal('SIGSTOP')
      await until(() => stateOf(service.pid) === 'T', 'a stopped process')
      const open = await openWrites(looking)
      openTransactions += open
      if (open > 0) killsInTransaction++
    }
    const began = performance.now()
    service.signal('SIGKILL')
    target.close()
    if (how === 'with database') {
      killsWithDatabase++
      for (const { pid } of postgresProcesses(clusterOf(dataFolder))) killNow(pid)
    }
    await service.exited
    await looking.end().catch(() => {})
    const atStart = random.chance(0.1)
    if (atStart) {
      killsAtStart++
      await killWhileStarting(dataFolder, env, random)
    }
    service = await startProcess({ dataFolder, env })
    const restarted = performance.now() - began
    if (!atStart) restartMs.push(restarted)
    if (restarted > SLOW_MS) say(`slow to come back:\n${service.stderr().slice(-5_000)}${databaseLog(dataFolder)}`)
    await load.idle()
    faults.push(...countServers(dataFolder, external !== undefined))
    const found = await check(place(), history)
    faults.push(...faultsIn(found), ...history.surprises, ...history.repeatedDifferently)
    const unknown = history.count('unknown')
    const back = `back after ${restarted.toFixed(0)} ms${atStart ? ', killed once more on the way' : ''}`
    say(`${round}/${kills} ${how.padEnd(13)} acknowledged ${acknowledged}, unknown ${unknown}, ${back}`)
  }

  target.open(service)
  await load.stop()
  target.close()
  const last = await check(place(), history)
  holdings.note(clusterOf(dataFolder))
  const { code } = await service.stop()
  if (faults.length === 0) faults.push(...faultsIn(last), ...history.surprises, ...history.repeatedDifferently)
  if (code !== 0) faults.push(`the last stop ended with exit code ${code}`)
  faults.push(...leftBehind(dataFolder, holdings))
  return {
    history,
    kills,
    killsAtStart,
    killsWithDatabase,
    killsInTransaction,
    openTransactions,
    restartMs,
    last,
    faults,
  }
}

/** Workspaces, keys and people for the clients. The people are put there directly: nobody is there to accept for them. */
export async function prepare(service: ServiceProcess, connection: Connection, clients: number) {
  const run = async (query: string, variables: Record<string, unknown>) => {
    const { body } = await graphql(service.url, service.key, query, variables)
    if (body.errors !== undefined) throw new Error(JSON.stringify(body.errors))
    return Object.values(body.data ?? {})[0] as { workspace: { uid: string }; key: string }
  }
  const workspaces = [service.workspaceUid]
  for (const name of ['One', 'Two', 'Three']) {
    const made = await run('mutation ($name: String!) { createWorkspace(name: $name) { workspace { uid } } }', { name })
    workspaces.push(made.workspace.uid)
  }
  const keys: string[] = []
  for (const uid of workspaces) {
    const made = await run(
      'mutation ($uid: String!) { createApiKey(key: { name: "clients", kind: WORKSPACE, workspaceUid: $uid }) { key } }',
      { uid },
    )
    keys.push(made.key)
  }
  const client = await lookInto(connection)
  try {
    const workers: Worker[] = []
    for (let id = 0; id < clients; id++) {
      const place = id % workspaces.length
      const workspaceUid = workspaces[place]!
      const personUid = newUid()
      await client.query(
        `with person as (insert into person (uid, email, name) values ($1, $2, 'A person') returning id)
         insert into membership (workspace_id, person_id, account_type)
         select w.id, person.id, 'DEVELOPER' from workspace w, person where w.uid = $3`,
        [personUid, `person-${id}@storm.example`, workspaceUid],
      )
      const wholeAccount = id < clients / 2
      workers.push({ id, key: wholeAccount ? service.key : keys[place]!, wholeAccount, workspaceUid, personUid })
    }
    const { rows } = await client.query<{ last_id: number }>('select last_id from audit_head')
    return { workers, auditStart: rows[0]!.last_id }
  } finally {
    await client.end()
  }
}

/** Transactions of the service that have written and cannot end by themselves. */
async function openWrites(client: Awaited<ReturnType<typeof lookInto>>): Promise<number> {
  const { rows } = await client.query<{ open: number }>(
    `select count(*) as open from pg_stat_activity
     where application_name = 'yardmaster serve' and backend_xid is not null
       and (state = 'idle in transaction' or (state = 'active' and wait_event_type = 'Lock'))`,
  )
  return rows[0]!.open
}

async function killWhileStarting(dataFolder: string, env: Record<string, string>, random: Random): Promise<void> {
  const starting = await launch({ dataFolder, env })
  await pause(random.between(0, 1500))
  starting.signal('SIGKILL')
  await starting.exited
}

/** One server with its own backends, and nothing else, works in the data folder. */
export function countServers(dataFolder: string, external: boolean): string[] {
  const all = postgresProcesses(clusterOf(dataFolder))
  const servers = all.filter(({ postmaster }) => postmaster)
  const strays = all.filter((one) => !one.postmaster && !servers.some(({ pid }) => pid === one.parent))
  const faults: string[] = []
  if (servers.length !== (external ? 0 : 1)) faults.push(`${servers.length} PostgreSQL servers run in the data folder`)
  if (strays.length > 0) faults.push(`${strays.length} PostgreSQL processes without their server are left`)
  return faults
}

export function leftBehind(dataFolder: string, holdings: Holdings): string[] {
  const processes = postgresProcesses(clusterOf(dataFolder)).map(({ pid }) => `PostgreSQL process ${pid}`)
  const socketFolder = socketFolderOf(realpathSync(dataFolder))
  const left = [...processes, ...holdings.left(), ...(existsSync(socketFolder) ? [socketFolder] : [])]
  return left.map((one) => `left behind: ${one}`)
}

function stateOf(pid: number): string {
  return /^\d+ \(.*\) (\w)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

/** What took longer is printed with what the service said. */
const SLOW_MS = 10_000

function databaseLog(dataFolder: string): string {
  const file = join(dataFolder, 'postgres.log')
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-5_000) : ''
}

const PATIENCE_MS = 60_000

/** Waits for a fact. */
export async function until(fact: () => boolean, what: string, seen: () => unknown = () => ''): Promise<void> {
  const began = performance.now()
  while (!fact()) {
    if (performance.now() - began > PATIENCE_MS) throw new Error(`Waited a minute for ${what} ${seen()}`)
    await pause(2)
  }
}
