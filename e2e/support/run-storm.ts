/** Kills the service again and again while runs are asked for, due, going and stopped, and compares all accounts of it. */
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Connection } from '../../service/src/store/connection.ts'
import type { ExternalPostgres } from './external-postgres.ts'
import { Lives, nowSeconds, type Orphan } from './lives.ts'
import { Target } from './load.ts'
import { clusterOf, Holdings, lookInto, ownerOf } from './postgres.ts'
import { type Random, seeded } from './random.ts'
import { type Left, Remains } from './remains.ts'
import { checkRuns, faultsInRuns, type RunFigures, type RunFindings } from './run-checker.ts'
import { Ends, RunHistory } from './run-history.ts'
import { startRunLoad } from './run-load.ts'
import { countOpen, noteEnds, takePicture } from './run-rows.ts'
import { SCENE_ENVIRONMENT, SLOTS, setScene } from './run-scene.ts'
import { launch, type ServiceProcess, startProcess, temporaryFolder } from './service.ts'
import { countServers, leftBehind } from './storm.ts'

export interface RunStormOptions {
  readonly kills: number
  readonly seed: number
  /** How long a service lives, in milliseconds from its first answer. */
  readonly life: readonly [shortest: number, longest: number]
  readonly perSecond: number
  /** How many schedules are due every minute. */
  readonly ticking: number
  /** Instead of the embedded database. */
  readonly external?: ExternalPostgres
  readonly say?: (line: string) => void
}

export interface RunStormReport {
  readonly history: RunHistory
  readonly found: RunFindings
  readonly figures: RunFigures
  readonly kills: number
  readonly killsAtStart: number
  readonly killsAtTick: number
  /** Runs that a worker held at the moment of a kill, over all kills. */
  readonly runsHeldAtKills: number
  /** The most of them at one kill: never more than the worker has slots. */
  readonly mostHeld: number
  readonly orphans: readonly Orphan[]
  readonly ends: Ends
  readonly endsByInterface: Ends
  readonly processesSeen: number
  /** Processes of users' commands, over all kills. */
  readonly commandsAtKills: number
  readonly left: Left
  readonly restartMs: readonly number[]
  readonly drainSeconds: number
  readonly faults: readonly string[]
}

const MINUTE = 60_000

export async function runStorm(options: RunStormOptions): Promise<RunStormReport> {
  const { kills, external } = options
  const say = options.say ?? (() => {})
  const random = seeded(options.seed)
  const history = new RunHistory()
  const [ends, endsByInterface] = [new Ends(), new Ends()]
  const lives = new Lives()
  const target = new Target()
  const holdings = new Holdings()
  const restartMs: number[] = []
  let [killsAtStart, killsAtTick, runsHeldAtKills, mostHeld, commandsAtKills] = [0, 0, 0, 0, 0]

  const temporary = await temporaryFolder('storm')
  const env = { ...SCENE_ENVIRONMENT, TMPDIR: temporary, ...(external && { DATABASE_URL: external.url }) }
  const start = async (dataFolder?: string): Promise<ServiceProcess> => {
    const launchedAt = nowSeconds()
    const started = await startProcess({ env, ...(dataFolder !== undefined && { dataFolder }) })
    lives.launched(started.pid, launchedAt)
    lives.answered()
    return started
  }
  let service = await start()
  const { dataFolder, key, workspaceUid } = service
  const connection = (): Connection => external?.superuser ?? ownerOf(dataFolder)
  let database = await lookInto(connection())
  const scene = await setScene(service, database, options.ticking)
  const { schedules } = scene
  const remains = new Remains({ dataFolder, temporary, mark: scene.mark })
  const load = startRunLoad({
    ...{ key, workspaceUid, schedules, target, history, random, clients: 8 },
    ...{ ends: endsByInterface, perSecond: options.perSecond },
  })

  for (let round = 1; round <= kills; round++) {
    target.open(service)
    holdings.note(clusterOfService(dataFolder, external))
    await noteEnds(database, ends)
    killsAtTick += Number(await live(options.life, random))
    await noteEnds(database, ends)
    const held = await heldRuns(database, service.pid)
    runsHeldAtKills += held
    mostHeld = Math.max(mostHeld, held)
    commandsAtKills += remains.note(service.pid)
    const began = performance.now()
    service.signal('SIGKILL')
    lives.killed()
    target.close()
    await service.exited
    await database.end().catch(() => {})
    const atStart = random.chance(0.1)
    if (atStart) {
      killsAtStart++
      await killWhileStarting(dataFolder, { env, random, lives, remains, startMs: restartMs.at(-1) ?? 1500 })
    }
    service = await start(dataFolder)
    database = await lookInto(connection())
    const restarted = performance.now() - began
    if (!atStart) restartMs.push(restarted)
    const asked = history.count('trigger', 'ok')
    const more = atStart ? ', killed once more on the way' : ''
    say(
      `${round}/${kills} triggered ${asked}, runs held at the kill ${held}, back after ${restarted.toFixed(0)} ms${more}`,
    )
  }

  target.open(service)
  const drainBegan = performance.now()
  await load.stop()
  await drained(database, ends, say)
  const drainSeconds = (performance.now() - drainBegan) / 1000
  const written = await noteEnds(database, ends)
  const picture = await takePicture(connection(), schedules)
  const { found, figures } = checkRuns(history, picture, scene.witness.read(), scene.firstDue)
  remains.note(service.pid)
  const zombies = await remains.settled('zombies')
  await database.end()
  const servers = countServers(dataFolder, external !== undefined)
  const { code } = await service.stop()
  const processes = await remains.settled('alive')
  const left: Left = {
    ...{ processes, zombies, ...remains.places() },
    database: external === undefined ? leftBehind(dataFolder, holdings) : [],
  }
  const faults = [
    ...faultsInRuns(found),
    ...[...ends.changed, ...endsByInterface.changed].map((text) => `final state changed: ${text}`),
    ...[...ends.missingIn(written), ...endsByInterface.missingIn(written)].map((text) => `gone: ${text}`),
    ...history.surprises,
    ...history.repeatedDifferently,
    ...servers,
    ...(mostHeld > SLOTS ? [`a worker with ${SLOTS} slots held ${mostHeld} runs`] : []),
    ...Object.entries(left).flatMap(([what, list]) =>
      (list as readonly string[]).map((one) => `left, ${what}: ${one}`),
    ),
    ...(code === 0 ? [] : [`the last stop ended with exit code ${code}`]),
  ]
  return {
    ...{ history, found, figures, kills, killsAtStart, killsAtTick, runsHeldAtKills, mostHeld, ends, endsByInterface },
    ...{
      orphans: lives.orphans(picture.runs),
      processesSeen: remains.processesSeen,
      commandsAtKills,
      left,
      restartMs,
      drainSeconds,
    },
    faults,
  }
}

const clusterOfService = (dataFolder: string, external: ExternalPostgres | undefined): string =>
  external === undefined ? clusterOf(dataFolder) : dataFolder

/** Lets the service live for a while. Where a minute begins in that while, it dies in the minute's first half second. */
async function live([shortest, longest]: RunStormOptions['life'], random: Random): Promise<boolean> {
  const planned = random.between(shortest, longest)
  const toMinute = MINUTE - (Date.now() % MINUTE)
  const atTick = toMinute < longest
  await pause(atTick ? toMinute + random.between(0, 500) : planned)
  return atTick
}

/** Of the worker in this process. */
async function heldRuns(database: pg.Client, pid: number): Promise<number> {
  const { rows }: pg.QueryResult<{ held: number }> = await database.query(
    `select count(*)::int as held from run where state in ('starting', 'running', 'ending')
       and split_part(worker_id, '/', 4) = $1`,
    [String(pid)],
  )
  return rows[0]!.held
}

async function killWhileStarting(
  dataFolder: string,
  by: { env: Record<string, string>; random: Random; lives: Lives; remains: Remains; startMs: number },
): Promise<void> {
  const { env, random, lives, remains } = by
  const launchedAt = nowSeconds()
  const starting = await launch({ dataFolder, env })
  lives.launched(starting.pid, launchedAt)
  await pause(random.between(0, Math.round(by.startMs)))
  remains.note(starting.pid)
  starting.signal('SIGKILL')
  lives.killed()
  await starting.exited
}

const DRAIN_MS = 20 * MINUTE

/** Waits until no run is open. */
export async function drained(database: pg.Client, ends: Ends, say: (line: string) => void): Promise<void> {
  const began = performance.now()
  let told = began
  for (;;) {
    const open = await countOpen(database)
    await noteEnds(database, ends)
    if (open === 0) return
    if (performance.now() - began > DRAIN_MS) return say(`gave up waiting for ${open} runs`)
    if (performance.now() - told > 10_000) {
      told = performance.now()
      say(`${open} runs are open`)
    }
    await pause(250)
  }
}
