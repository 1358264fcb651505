// kill -9 of the service while runs end and what follows from them is written and sent: every parent that passed has its
// child's run once, and every end of a run reaches the receiver, told apart by its id.
//
//   node e2e/faults/followers-killed.ts [--kills 15] [--seed N]
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { webhookReceiver } from '../../service/test/support/webhook-receiver.ts'
import { seeded } from '../support/random.ts'
import { startClock, summary } from '../support/report.ts'
import { type Client, clientOf, makeRepository } from '../support/runs.ts'
import { type ServiceProcess, startProcess } from '../support/service.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '15' }, seed: { type: 'string' } } })
const kills = Number(values.kills)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const random = seeded(seed)
const clock = startClock()
console.log(`what follows from runs, killed, seed ${seed}`)

let secret = ''
await using receiver = await webhookReceiver({ secret: () => secret, now: () => new Date() })
const env = { YARDMASTER_OUTGOING_ALLOW: '127.0.0.1' }
let service: ServiceProcess = await startProcess({ env })
const { key, dataFolder } = service
const home = service.workspaceUid
const clientAt = (workspaceUid: string): Client => clientOf({ url: service.url, key, workspaceUid })

const repository = await makeRepository({ 'one.txt': '1\n' })
const { workspace } = await clientAt(home).ask('mutation { createWorkspace(name: "Elsewhere") { workspace { uid } } }')
const environment = await clientAt(home).environment(repository)
const elsewhere = await clientAt(workspace.uid).environment(repository)
// Runs of one schedule would wait for each other.
const parent = await clientAt(home).schedule(environment, ['true'], { name: 'Parent', overlap: 'ALLOW' })
const child = await clientAt(workspace.uid).schedule(elsewhere, ['true'], {
  name: 'Child',
  scheduleTrigger: { enabled: true, scheduleName: parent, workspaceName: 'Demo', triggerOn: ['passed'] },
})
const made = await clientAt(home).ask(
  'mutation ($url: String!) { createWebhook(webhook: { url: $url, events: ["bolt.run.completed"] }) { secret } }',
  { url: receiver.url },
)
secret = made.secret

interface Run {
  readonly id: number
  readonly state: string
  readonly parentScheduleRunId: number | null
}

const runsOf = async (workspaceUid: string, slug: string): Promise<Run[]> =>
  (
    await clientAt(workspaceUid).ask(
      `query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 1000) {
        runs { id state parentScheduleRunId } } }`,
      { slug },
    )
  ).runs

let triggered = 0
for (let kill = 1; kill <= kills; kill++) {
  const count = random.between(1, 3)
  let last = 0
  for (let run = 0; run < count; run++) {
    last = await clientAt(home).trigger(parent)
    triggered++
  }
  // Mostly right after an end, while what follows from it is being written; now and then wherever it happens to be.
  if (random.chance(0.75)) await clientAt(home).ended(last, 120_000)
  await pause(random.between(0, 400))
  await service.kill9()
  service = await startProcess({ env, dataFolder })
}

/** Everything has ended, and what followed from it has been sent. */
async function settled(): Promise<boolean> {
  const all = [...(await runsOf(home, parent)), ...(await runsOf(workspace.uid, child))]
  if (all.some((run) => run.state === 'RUNNING')) return false
  const { deliveries } = await clientAt(home).ask(
    '{ listDeliveries(filter: { channel: WEBHOOK }, limit: 1000) { deliveries { id state } } }',
  )
  const passed = (await runsOf(home, parent)).filter((run) => run.state === 'SUCCESS').length
  const followed = (await runsOf(workspace.uid, child)).length
  return followed >= passed && deliveries.every((one: { state: string }) => one.state !== 'WAITING')
}
await clientAt(home)
  .until(settled, 180_000)
  .catch((error: unknown) => console.log(String(error)))
// Whatever would be doubled has had its time.
await pause(3000)

const parents = await runsOf(home, parent)
const children = await runsOf(workspace.uid, child)
const passed = parents.filter((run) => run.state === 'SUCCESS')
const childrenOf = (run: Run): number => children.filter((one) => one.parentScheduleRunId === run.id).length
const arrivals = receiver.received.filter((one) => parents.some((run) => run.id === one.body.run?.id))
const idsOf = (run: Run): number =>
  new Set(arrivals.filter((one) => one.body.run.id === run.id).map((one) => one.id)).size
await service.stop()

summary('what follows from runs, killed', clock, [
  ['kills', kills],
  ['runs of the parent', parents.length, (n) => n === triggered],
  ['  that passed', passed.length, (n) => n > 0],
  ['  that were lost with their worker', parents.filter((run) => run.state === 'FAILED').length],
  ['passed without a run of the child', passed.filter((run) => childrenOf(run) === 0).length, (n) => n === 0],
  ['passed with more than one', passed.filter((run) => childrenOf(run) > 1).length, (n) => n === 0],
  ['runs of the child after one that did not pass', children.length - passed.length, (n) => n === 0],
  ['ends that never reached the receiver', parents.filter((run) => idsOf(run) === 0).length, (n) => n === 0],
  ['ends with more than one id', parents.filter((run) => idsOf(run) > 1).length, (n) => n === 0],
  ['arrivals', arrivals.length],
  ['  repeated, told by their id', arrivals.length - new Set(arrivals.map((one) => one.id)).size],
])
