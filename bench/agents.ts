// Steps of agents with a model and a tool that answer at once, against bare inserts of as many records; and what sessions
// that wait for somebody's next message keep in memory, against nothing.
import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { call, plan, type TestLoop, testLoop, testTool } from '../service/test/support/agent-loop.ts'
import { seconds } from './support/app.ts'
import type { Figure } from './support/figure.ts'
import { median } from './support/processes.ts'

const STEPS = 50
const TURNS = 5
const WAITING = 100
const MOST_KIB = 64

export async function benchAgents(): Promise<Figure[]> {
  await using loop = await testLoop()
  const turns: { steps: number; inserts: number }[] = []
  for (let turn = 0; turn < TURNS; turn++) turns.push(await oneTurn(loop))
  const steps = median(turns.map((one) => one.steps))
  return [
    {
      name: 'steps of an agent',
      measured: `${Math.round(STEPS / steps)} steps/s`,
      floor: `${Math.round(STEPS / median(turns.map((one) => one.inserts)))} steps/s`,
      ratio: median(turns.map((one) => one.steps / one.inserts)),
      bound: { most: 25 },
      notes: 'floor: the same number of bare inserts; a step is an answer, a call and its result',
    },
    await waitingSessions(loop),
  ]
}

async function oneTurn(loop: TestLoop): Promise<{ steps: number; inserts: number }> {
  const answers = Array.from({ length: STEPS - 1 }, () => ({ calls: [call('read_file')] }))
  const options = { model: plan(...answers, { text: 'Done.' }), tools: [testTool('read_file')] }
  const id = await loop.start()
  const steps = await seconds(async () => assert.equal(await loop.work(id, options), 'ended'))
  const journal = await loop.journal(id)
  assert.equal(await loop.a.status(id), 'completed')
  const other = await loop.start()
  const { workspaceId } = await loop.a.session(other)
  const inserts = await seconds(async () => {
    for (const { seq, kind, ts, turn, ...body } of journal) {
      // The first two are there from the start of the session.
      await sql`/* bench_insert */ insert into agent_event (session_id, workspace_id, seq, ts, turn, kind, body)
        values (${other}, ${workspaceId}, ${seq + 2}, ${ts + 3_600_000_000}, ${turn}, ${kind}, ${JSON.stringify(body)})`.execute(
        loop.a.t.app.db,
      )
    }
  })
  return { steps, inserts }
}

/** Nothing of a session is in a process between its turns: what 100 of them leave is what was read and written once. */
async function waitingSessions(loop: TestLoop): Promise<Figure> {
  const work = async (): Promise<void> => {
    const id = await loop.start()
    assert.equal(await loop.work(id, { model: plan({ text: 'What next?' }) }), 'ended')
  }
  for (let warm = 0; warm < 20; warm++) await work()
  const before = heapKib()
  for (let count = 0; count < WAITING; count++) await work()
  const each = Math.max(0, (heapKib() - before) / WAITING)
  return {
    name: `memory of a session that waits, of ${WAITING}`,
    measured: `${each.toFixed(1)} KiB`,
    floor: `${MOST_KIB} KiB`,
    ratio: each / MOST_KIB,
    bound: { most: 1 },
    notes: 'floor: what each may keep in the process',
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapKib(): number {
  collect()
  collect()
  return process.memoryUsage().heapUsed / 1024
}
