// Many who do anything at any time to the sessions of one tree: users, workers that come and go, whoever looks for lost
// ones and for those that waited too long. Whatever happens in whatever order, the journals stay whole.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { jobTransaction, type TestAgents, testAgents, testDefinition } from '../../test/support/agent-sessions.ts'
import { openCalls } from '../domain/agent-conversation.ts'
import type { AgentEvent, AgentEventBody, AgentStatus } from '../domain/agent-session.ts'
import { isMessage, isOver, mayFollow } from '../domain/agent-session.ts'
import { AppError } from '../domain/errors.ts'
import type { AgentHold } from '../store/agent-hold.ts'
import * as holds from '../store/agent-hold.ts'
import * as sessions from '../store/agent-sessions.ts'
import { endTurn, endUnstarted, loseWorker, sendAgentMessage, stopAgent, writeRecords } from './agent-sessions.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const ACTORS = 6
const DEEDS = 40

/** The same numbers for the same seed; mulberry32. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}

interface World {
  readonly ids: string[]
  readonly held: AgentHold[]
}

/** One deed of somebody. What is refused because another was quicker is part of the game. */
async function act(world: World, roll: (sides: number) => number, name: string): Promise<void> {
  const id = world.ids[roll(world.ids.length)]!
  const hold = world.held[roll(Math.max(1, world.held.length))]
  switch (roll(9)) {
    case 0:
    case 1:
      await sendAgentMessage(a.ctx, { sessionId: id, message: `${name} says ${roll(1000)}` })
      return
    case 2:
      if (roll(3) === 0) await stopAgent(a.ctx, { sessionId: id })
      return
    case 3:
    case 4: {
      const claim = await holds.claimByJob(jobTransaction(a.t), id, { workerId: name, leaseMs: 60_000 })
      if (claim === null) return
      const taken = { ...claim, workerId: name }
      if ((await a.unit((unit) => holds.begin(unit.db, taken, 60_000))) !== null) world.held.push(taken)
      return
    }
    case 5:
      if (hold !== undefined) await step(world, hold, roll)
      return
    case 6:
      if (hold !== undefined) await finish(hold, roll)
      return
    case 7:
      if (hold !== undefined) await a.unit((unit) => loseWorker(unit, hold))
      return
    case 8:
      await a.unit((unit) => endUnstarted(unit, { workspaceId: a.workspace.id, id }))
  }
}

const answer = (text: string, seen: number, calls: readonly string[] = []): AgentEventBody => ({
  kind: 'assistant',
  text,
  calls: calls.map((id) => ({ id, tool: 'invoke_agent', input: {} })),
  usage: { tokensIn: 3, tokensOut: 1, tokensCached: 0, costMicrodollars: 2 },
  model: 'scripted',
  seen,
})

/** Calls a child and waits for it. */
async function step(world: World, hold: AgentHold, roll: (sides: number) => number): Promise<void> {
  const session = await holds.readHeld(a.t.app.db, hold)
  const seen = (await a.journal(session.id)).at(-1)!.seq
  const call = `${session.id}-${hold.attempt}-${roll(1_000_000)}`
  const write = (...bodies: AgentEventBody[]) => a.unit((unit) => writeRecords(unit, session, hold, bodies))
  await write(answer('', seen, [call]), { kind: 'tool_start', call, tool: 'invoke_agent' })
  const agent = `agent ${session.depth + 1}`
  const definition = testDefinition(agent)
  const child = await a.start({ agent, definition, parent: { session, call } })
  world.ids.push(child)
  const [written] = await write({ kind: 'child_started', call, child, agent })
  await a.unit((unit) => holds.release(unit.db, hold, { waiting: true, seen: written!.seq }))
}

async function finish(hold: AgentHold, roll: (sides: number) => number): Promise<void> {
  const session = await holds.readHeld(a.t.app.db, hold)
  const journal = await a.journal(session.id)
  if (roll(4) === 0) {
    await a.unit((unit) => endTurn(unit, session, { status: 'failed', reason: 'Chance.' }))
    return
  }
  if (openCalls(journal).length > 0) return
  const last = answer(`Answer ${roll(1000)}.`, journal.at(-1)!.seq)
  await a.unit(async (unit) => {
    await writeRecords(unit, session, hold, [last])
    await endTurn(unit, session, { status: 'completed', reason: '' })
  })
}

const isExpected = (error: unknown): boolean => error instanceof AppError || error instanceof holds.LostSession

function check(id: string, journal: readonly AgentEvent[], status: AgentStatus): void {
  for (const [at, one] of journal.entries()) {
    assert.equal(one.seq, at + 1, `${id}: numbers have no gaps`)
    if (at > 0) assert.ok(one.ts > journal[at - 1]!.ts, `${id}: times only grow`)
    if (at > 0) assert.ok(one.turn >= journal[at - 1]!.turn, `${id}: turns only grow`)
  }
  const moves = journal.flatMap((one) => (one.kind === 'status' ? [one.status] : []))
  for (const [at, to] of moves.entries()) {
    if (at > 0) assert.ok(mayFollow(moves[at - 1]!, to), `${id}: ${moves.join(' → ')}`)
  }
  // A session that was taken and not begun yet says in its journal that it waits.
  assert.ok(
    moves.at(-1) === status || (moves.at(-1) === 'queued' && status === 'running'),
    `${id}: ${moves} is ${status}`,
  )
  for (const [at, one] of journal.entries()) {
    if (one.kind !== 'status' || !isOver(one.status)) continue
    const spoken = journal
      .slice(0, at)
      .some((other) => other.turn === one.turn && other.kind === 'assistant' && isMessage(other))
    assert.ok(spoken, `${id}: a turn that ends leaves a message of the agent`)
  }
  if (isOver(status)) assert.deepEqual(openCalls(journal), [], `${id}: each call has a result`)
}

for (const seed of [1, 2, 3]) {
  test(`whatever happens at once to a tree of sessions, its journals stay whole (${seed})`, async () => {
    const world: World = { ids: [await a.trigger(), await a.trigger()], held: [] }
    await step(world, await a.take(world.ids[0]!), dice(seed))
    await Promise.all(
      Array.from({ length: ACTORS }, async (_, actor) => {
        const roll = dice(seed * 1000 + actor)
        for (let count = 0; count < DEEDS; count++) {
          await act(world, roll, `actor ${actor}`).catch((error: unknown) => {
            if (!isExpected(error)) throw error
          })
        }
      }),
    )
    for (const id of world.ids) {
      const session = await a.session(id)
      const journal = await a.journal(id)
      check(id, journal, session.status)
      const answers = journal.filter((one) => one.kind === 'assistant' && one.model !== '')
      assert.deepEqual([session.tokensIn, session.tokensOut], [answers.length * 3, answers.length], `${id}: totals`)
      // Nobody is left waiting for a child that has ended.
      const waits = (await a.unit((unit) => sessions.lock(unit.db, a.workspace.id, id)))!.waitsForChild
      if (!waits) continue
      const children = await sessions.listChildren(a.t.app.db, a.workspace.id, id)
      const states = await Promise.all(children.map(a.status))
      assert.ok(
        states.some((state) => !isOver(state)),
        `${id} waits for ${states.join(', ')}`,
      )
    }
  })
}
