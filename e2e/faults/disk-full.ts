// One run fills the disk that it works on. First a disk of the work folder alone: the database does not notice. Then one
// that the work folder shares with the embedded database, as it is by default: the database may lose its feet, and
// stands again by itself. In both only that run fails, and says why; a run beside it ends well; and once there is space
// again everything works within ten seconds. Last, the disk is filled by somebody else and stays full for a while.
//
//   node e2e/faults/disk-full.ts [--mib 200]
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { couldNotRun } from '../../service/test/support/could-not-run.ts'
import { type Line, startClock, summary } from '../support/report.ts'
import { type Client, clientOf, makeRepository } from '../support/runs.ts'
import { graphql, type ServiceProcess, startProcess } from '../support/service.ts'
import { type SmallDisk, smallDisk } from '../support/small-disk.ts'

const { values } = parseArgs({ options: { mib: { type: 'string', default: '200' } } })
const MIB = Number(values.mib)
/** Runs that wait for space may wait this long for it: it is what the log of a command is given. */
const FULL_SECONDS = 8

const clock = startClock()
const lines: Line[] = []

interface Seen {
  readonly at: number
  readonly status: number
}

/** Changes something again and again, and notes what it is told. */
function probe(service: ServiceProcess): { readonly seen: Seen[]; stop(): Promise<void> } {
  const seen: Seen[] = []
  let going = true
  const headers = { 'x-service-workspace': service.workspaceUid }
  const query = 'mutation ($v: String!) { setVariable(name: "PROBE", value: $v) { ok } }'
  const done = (async () => {
    for (let number = 0; going; number++) {
      const status = await graphql(service.url, service.key, query, { v: String(number) }, headers, 15_000).then(
        (answer) => answer.status,
        () => 0,
      )
      seen.push({ at: performance.now(), status })
      await pause(50)
    }
  })()
  return {
    seen,
    stop: async () => {
      going = false
      await done
    },
  }
}

const runOf = (client: Client, id: number) =>
  client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state detail } commands { startDttm kind } } }', { id })

/** Fills the disk, and holds it full for a moment: long enough for everybody to notice. */
const FILL = 'head -c 100G /dev/zero > big; code=$?; sleep 2; exit $code'
const BESIDE = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; sleep 0.5; done; echo done'

async function scenario(what: string, service: ServiceProcess, disk: SmallDisk): Promise<void> {
  const client = clientOf(service)
  const environment = await client.environment(await makeRepository({ 'one.txt': '1\n' }))
  const beside = await client.schedule(environment, [BESIDE])
  const filling = await client.schedule(environment, [FILL])
  const quick = await client.schedule(environment, ['cp one.txt two.txt; echo well'])
  const before = (await client.ended(await client.trigger(quick))).state
  const besideId = await client.trigger(beside)
  const begun = (id: number) => async () => (await runOf(client, id)).commands[2].startDttm !== ''
  await client.until(begun(besideId))
  const probing = probe(service)
  const fillId = await client.trigger(filling)
  await client.until(async () => disk.free() < 1, 60_000)
  const full = performance.now()
  let least = disk.free()
  // What is full is so until the folder of the run is gone.
  const deadline = full + 60_000
  while (disk.free() < MIB / 10 && performance.now() < deadline) {
    least = Math.min(least, disk.free())
    await pause(10)
  }
  const space = performance.now()
  const again = await firstWell(client, quick)
  const recovered = performance.now()
  const filled = await client.ended(fillId)
  const ended = await client.ended(besideId)
  await probing.stop()
  const told = probing.seen
  const away = told.filter(({ at, status }) => at >= full && at <= space && status !== 200)
  const reason = filled.commands.map((one: { stderr: string }) => one.stderr).join('')
  const { detail } = (await runOf(client, fillId)).run
  console.log(`  ${what}: the run that filled it ended as ${filled.state}, ${detail ?? ''} ${reason.trim()}`)
  lines.push(
    [`${what}: a run before`, Number(before === 'SUCCESS'), (n) => n === 1],
    [`${what}: MiB free at the worst`, least],
    [`${what}: the run that filled it failed`, Number(['ERROR', 'FAILED'].includes(filled.state)), (n) => n === 1],
    [`${what}:   and says that no space was left`, Number(/no space/i.test(reason + detail)), (n) => n === 1],
    [`${what}: the run beside it ended well`, Number(ended.state === 'SUCCESS'), (n) => n === 1],
    [`${what}:   with all of its output`, ended.commands[2].stdout.split('\n').length - 1, (n) => n === 11],
    [`${what}: changes made through the API`, told.filter(({ status }) => status === 200).length, (n) => n > 0],
    [`${what}:   refused for now (503) while it was full`, away.filter(({ status }) => status === 503).length],
    [
      `${what}:   answered otherwise, ever`,
      told.filter(({ status }) => ![200, 503].includes(status)).length,
      (n) => n === 0,
    ],
    [`${what}: s that it was full`, (space - full) / 1000],
    [`${what}: s from space to a new run that ended well`, (recovered - space) / 1000, (n) => n <= 10],
    [`${what}:   runs that were tried for that`, again],
  )
}

/** Triggers until a run ends well; gives how many it took. */
async function firstWell(client: Client, slug: string): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      const { state } = await client.ended(await client.trigger(slug))
      if (state === 'SUCCESS') return tries
    } catch {
      // The database is not back.
    }
    if (tries > 100) throw new Error('no run ended well')
    await pause(100)
  }
}

/** As if something else on the machine filled the disk of the database, and somebody cleared it up later. */
async function filledByOthers(what: string, service: ServiceProcess, disk: SmallDisk): Promise<void> {
  const client = clientOf(service)
  const environment = await client.environment(await makeRepository({ 'one.txt': '1\n' }))
  const quick = await client.schedule(environment, ['cp one.txt two.txt; echo well'])
  // Half a megabyte of output a second, so that the database needs space for it.
  const loud = await client.schedule(environment, [
    'for i in $(seq 1 30); do head -c 1000000 /dev/urandom | base64 -w 100; sleep 0.5; done; echo done',
  ])
  const loudId = await client.trigger(loud)
  await client.until(async () => (await runOf(client, loudId)).commands[2].startDttm !== '')
  const probing = probe(service)
  const path = join(disk.folder, 'of-somebody-else')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(1024 * 1024)
  const full = performance.now()
  while (performance.now() - full < FULL_SECONDS * 1000) {
    try {
      // Whatever is let go is taken again.
      for (;;) writeSync(file, block)
    } catch {
      await pause(20)
    }
  }
  ftruncateSync(file, 0)
  closeSync(file)
  rmSync(path)
  const space = performance.now()
  await client.until(async () => probing.seen.some(({ at, status }) => at > space && status === 200), 60_000)
  const answered = performance.now()
  const again = await firstWell(client, quick)
  const recovered = performance.now()
  const ended = await client.ended(loudId, 180_000)
  await probing.stop()
  const { detail } = (await runOf(client, loudId)).run
  console.log(`  ${what}: the run that wrote meanwhile ended as ${ended.state} ${detail ?? ''}`)
  lines.push(
    [`${what}: s that it was full`, FULL_SECONDS],
    [`${what}: changes refused for now (503)`, probing.seen.filter(({ status }) => status === 503).length],
    [
      `${what}:   answered otherwise`,
      probing.seen.filter(({ status }) => ![200, 503].includes(status)).length,
      (n) => n === 0,
    ],
    [`${what}: s from space to the first change`, (answered - space) / 1000, (n) => n <= 10],
    [`${what}: s from space to a new run that ended well`, (recovered - space) / 1000, (n) => n <= 10],
    [`${what}:   runs that were tried for that`, again],
    [
      `${what}: the run that wrote meanwhile ended well, or says why not`,
      Number(ended.state === 'SUCCESS' || detail !== ''),
      (n) => n === 1,
    ],
    [`${what}:   ended well`, Number(ended.state === 'SUCCESS')],
  )
}

const shared = await smallDisk(MIB + 200)
if (typeof shared === 'string') {
  couldNotRun('a full disk', shared)
  process.exit(process.env.YARDMASTER_TEST_NO_SKIP ? 1 : 0)
}

const apart = join(shared.folder, 'apart')
mkdirSync(apart, { recursive: true })
{
  // The folder is there before the service, with a disk of its own in it.
  const service = await startProcess()
  await service.stop()
  const work = join(service.dataFolder, 'work')
  mkdirSync(work, { recursive: true })
  const disk = await smallDisk(MIB, work)
  if (typeof disk === 'string') throw new Error(disk)
  const mounted = await startProcess({ dataFolder: service.dataFolder })
  await scenario('work folder', mounted, disk)
  await mounted.stop()
  disk.close()
}
{
  const service = await startProcess({ dataFolder: join(shared.folder, 'data') })
  await scenario('data folder', service, shared)
  await filledByOthers('filled by others', service, shared)
  const errors = service
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
  for (const line of errors.slice(0, 5)) console.log(`  ${line.slice(0, 400)}`)
  lines.push(['errors in the log of the service', errors.length])
  await service.stop()
}
shared.close()
summary('a full disk', clock, lines)
