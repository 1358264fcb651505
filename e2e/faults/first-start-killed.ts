// kill -9 in the middle of a first start, at each of its stages, one after the other on the same folder: the start that
// is let through finds or makes everything once, and its key works.
//
//   node e2e/faults/first-start-killed.ts [--folders 4] [--seed N]
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { clusterOf, Holdings, lookInto, ownerOf } from '../support/postgres.ts'
import { seeded } from '../support/random.ts'
import { median, startClock, summary } from '../support/report.ts'
import { graphql, launch, startProcess, temporaryFolder } from '../support/service.ts'
import { countServers, leftBehind, until } from '../support/storm.ts'

const { values } = parseArgs({ options: { folders: { type: 'string', default: '4' }, seed: { type: 'string' } } })
const folders = Number(values.folders)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const random = seeded(seed)
const clock = startClock()
console.log(`first starts are killed, seed ${seed}`)

/** What appears in the data folder on the way, in this order. */
const STAGES = [
  /^\.gitignore$/,
  /^database-passwords\.json$/,
  /^postgres\.\d+$/,
  /^postgres$/,
  /^master\.key$/,
  /^demo-repository$/,
  /^first-key$/,
  /^service\.json$/,
]

function listed(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}

const faults: string[] = []
const after: number[] = []
let kills = 0
for (let folder = 1; folder <= folders; folder++) {
  const dataFolder = join(await temporaryFolder('first'), 'data')
  for (const stage of STAGES) {
    const known = new Set(listed(dataFolder))
    const reached = () => listed(dataFolder).some((name) => stage.test(name) && !known.has(name))
    const starting = await launch({ dataFolder })
    // What an earlier round has left there already does not come again: then the end of the start is the moment.
    await until(() => reached() || starting.stdout().includes('Yardmaster is running'), `${stage}`)
    await pause(random.between(0, 60))
    starting.signal('SIGKILL')
    await starting.exited
    kills++
  }
  const service = await startProcess({ dataFolder })
  after.push(service.answeredAfterMs)
  const holdings = new Holdings()
  holdings.note(clusterOf(dataFolder))
  const { body } = await graphql(service.url, service.key, '{ apiKeyIdentity { isValid capabilities } }')
  const identity = body.data?.apiKeyIdentity as { isValid: boolean } | undefined
  if (identity?.isValid !== true) faults.push('the key in first-key is not valid')
  const client = await lookInto(ownerOf(dataFolder))
  for (const table of ['account', 'workspace', 'environment', 'person', 'membership', 'api_key', 'master_key']) {
    const { rowCount } = await client.query(`select from ${table}`)
    if (rowCount !== 1) faults.push(`${rowCount} rows in ${table}`)
  }
  await client.end()
  const drafts = readdirSync(dataFolder).filter((name) => /\.\d+(\.password)?$/.test(name) && name !== 'postgres.log.1')
  faults.push(...drafts.map((name) => `left in the data folder: ${name}`), ...countServers(dataFolder, false))
  const { code } = await service.stop()
  if (code !== 0) faults.push(`a stop ended with exit code ${code}`)
  faults.push(...leftBehind(dataFolder, holdings))
  console.log(`  ${folder}/${folders} after ${STAGES.length} kills served in ${service.answeredAfterMs.toFixed(0)} ms`)
}

summary('kill -9 during the first start', clock, [
  ['folders', folders],
  ['kills', kills],
  ['the start that was let through, ms, p50', median(after)],
  ['the start that was let through, ms, max', Math.max(...after), (n) => n < 60_000],
  ['faults', faults.length, (n) => n === 0],
])
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`)
