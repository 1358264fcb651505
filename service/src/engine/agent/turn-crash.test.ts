// A worker dies before or after any of its transactions, and another one goes on: nothing that a tool did happens twice,
// every call has one result, and the session comes to its end.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { checkoutScene } from '../../../test/support/agent-checkout.ts'
import { call, dying, plan, type TestLoop, testLoop, testTool } from '../../../test/support/agent-loop.ts'
import { testDefinition } from '../../../test/support/agent-sessions.ts'
import { testRepository } from '../../../test/support/repository.ts'
import { openCheckout } from './checkout.ts'
import { said } from './tools/tool.ts'

let loop: TestLoop
before(async () => {
  loop = await testLoop()
})
after(() => loop[Symbol.asyncDispose]())

const PLAN = plan(
  { text: 'First I look.', calls: [call('read_file', { path: 'a' }), call('trigger_bolt_run', { slug: 'daily' })] },
  { calls: [call('run_terminal_command', { command: 'make' })] },
  { text: 'Done.' },
)

/** What tools did outside: by key where a tool has one, by call where it does not. */
function witness() {
  const runs = new Map<string, number>()
  const commands = new Map<string, number>()
  const count = (of: Map<string, number>, key: string): void => void of.set(key, (of.get(key) ?? 0) + 1)
  return {
    runs,
    commands,
    tools: [
      testTool('read_file', () => said('content')),
      testTool('trigger_bolt_run', ({ key }) => {
        // As the real one does: the same key gives the same run.
        if (!runs.has(key)) count(runs, key)
        return said('run 7')
      }),
      testTool('run_terminal_command', ({ key }) => {
        count(commands, key)
        return said('made')
      }),
    ],
  }
}

for (const when of ['before', 'after'] as const) {
  test(`a worker that dies ${when} any of its transactions doubles and loses nothing`, async () => {
    let crashes = 0
    for (let n = 1; ; n++) {
      const id = await loop.start()
      const { tools, runs, commands } = witness()
      const app = dying(loop.a.t.app, { n, when })
      const first = await loop.work(id, { model: PLAN, tools, app })
      if (!app.died) {
        assert.equal(first, 'ended')
        break
      }
      crashes++
      // The crash may have come after the end was written.
      const isOver = (await loop.a.status(id)) === 'completed'
      if (!isOver) {
        assert.equal(await loop.lose(id), 'again', `transaction ${n}`)
        assert.equal(await loop.work(id, { model: PLAN, tools, workerId: 'other' }), 'ended', `transaction ${n}`)
      }
      assert.equal(await loop.a.status(id), 'completed')
      await loop.checkJournal(id)
      assert.deepEqual([...runs.values()], [1], `runs after a crash ${when} transaction ${n}`)
      assert.ok(
        [...commands.values()].every((times) => times === 1),
        `commands after transaction ${n}`,
      )
      const journal = await loop.journal(id)
      const result = journal.find((one) => one.kind === 'tool_end' && one.tool === 'run_terminal_command')
      // It ran, or its result says that it is not known: never silently nothing.
      if (commands.size === 0) assert.ok(result?.kind === 'tool_end' && /interrupted/.test(result.text))
      assert.equal(journal.filter((one) => one.kind === 'assistant').length, 3, 'no answer twice')
    }
    assert.ok(crashes > 10, `${crashes} points were tried`)
  })
}

test('a call in doubt is run again, repeated with its key, or told to be in doubt, as its tool says', async () => {
  const expected = {
    read_file: { ran: 2, text: /^ran 2$/ },
    trigger_bolt_run: { ran: 2, text: /^ran 2$/ },
    run_terminal_command: { ran: 1, text: /interrupted: whether it took effect is not known/ },
    mcp_other_tool: { ran: 1, text: /interrupted/ },
  } as const
  for (const [name, { ran, text }] of Object.entries(expected)) {
    const id = await loop.start()
    const keys: string[] = []
    let app: ReturnType<typeof dying> | undefined
    const model = plan({ calls: [call(name)] }, { text: 'Done.' })
    // The process dies while the tool runs: it began, and its result is never written.
    const tool = testTool(name, ({ key }) => {
      keys.push(key)
      if (keys.length === 1) app?.kill()
      return said(`ran ${keys.length}`)
    })
    app = dying(loop.a.t.app, { n: Number.POSITIVE_INFINITY, when: 'before' })
    await loop.work(id, { model, tools: [tool], app })
    assert.equal(await loop.lose(id), 'again')
    assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
    assert.equal(keys.length, ran, name)
    assert.equal(new Set(keys).size, 1, 'the same key each time')
    const journal = await loop.journal(id)
    const result = journal.find((one) => one.kind === 'tool_end')
    assert.match(result?.kind === 'tool_end' ? result.text : '', text, name)
    await loop.checkJournal(id)
  }
})

test('a parent that dies around the start of a child has one child', async () => {
  let crashes = 0
  for (let n = 1; ; n++) {
    const id = await loop.start({ definition: testDefinition('boss', { squad: ['helper'] }) })
    const tool = testTool('invoke_agent', async (of) => {
      const parent = { session: of.session, call: of.call }
      const child = await loop.start({ definition: testDefinition('helper'), parent })
      return { kind: 'child', child, agent: 'helper' }
    })
    const model = plan({ calls: [call('invoke_agent')] }, { text: 'Helped.' })
    const app = dying(loop.a.t.app, { n, when: 'after' })
    await loop.work(id, { model, tools: [tool], app })
    if (app.died && (await loop.a.session(id)).status === 'running') {
      crashes++
      if ((await loop.lose(id)) === 'again') {
        assert.equal(await loop.work(id, { model, tools: [tool], workerId: 'other' }), 'waiting', `transaction ${n}`)
      }
    }
    const journal = await loop.journal(id)
    const started = journal.flatMap((one) => (one.kind === 'child_started' ? [one.child] : []))
    assert.equal(started.length, 1)
    assert.equal(await loop.work(started[0]!, { model: plan({ text: 'Help.' }) }), 'ended')
    assert.equal(await loop.work(id, { model, tools: [tool] }), 'ended')
    await loop.checkJournal(id)
    if (!app.died) break
  }
  assert.ok(crashes > 5, `${crashes} points were tried`)
})

test('a worker that lost its session while it was away writes nothing more, and the other one ends it', async () => {
  const id = await loop.start()
  const ran: string[] = []
  const tool = testTool('trigger_bolt_run', ({ session }) => {
    ran.push(`attempt ${session.attempt}`)
    return said('run 7')
  })
  const model = plan({ calls: [call('trigger_bolt_run')] }, { text: 'Done.' })
  let isFirst = true
  // The first worker is asleep in its question while its lease runs out and another one does all the work.
  const sleepy: typeof model = async (request, signal) => {
    if (isFirst) {
      isFirst = false
      assert.equal(await loop.lose(id), 'again')
      assert.equal(await loop.work(id, { model, tools: [tool], workerId: 'other' }), 'ended')
    }
    return await model(request, signal)
  }
  assert.equal(await loop.work(id, { model: sleepy, tools: [tool] }), 'lost')
  assert.deepEqual(ran, ['attempt 2'])
  const journal = await loop.journal(id)
  assert.equal(journal.filter((one) => one.kind === 'assistant').length, 2)
  assert.equal(await loop.a.status(id), 'completed')
  await loop.checkJournal(id)
})

test('a session that kills whoever takes it fails after three losses at the same record', async () => {
  const id = await loop.start()
  let app: ReturnType<typeof dying>
  const model = () => {
    app.kill()
    return { text: 'never seen' }
  }
  for (const became of ['again', 'again', 'failed']) {
    app = dying(loop.a.t.app, { n: Number.POSITIVE_INFINITY, when: 'before' })
    await loop.work(id, { model, app })
    assert.equal(await loop.lose(id), became)
  }
  assert.equal(await loop.a.status(id), 'failed')
})

test('a worker killed after an edit, with its folders deleted, leaves the edit to the next one', async () => {
  await using origin = await testRepository({ 'models/orders.sql': 'select 1\n' })
  await using scene = await checkoutScene(origin.folder)
  const open: ReturnType<TestLoop['ports']>['openCheckout'] = (session, signal) =>
    openCheckout(
      scene.ports,
      { session, workspaceUid: scene.repository.workspaceUid, repository: scene.repository },
      signal,
    )
  let app: ReturnType<typeof dying> | undefined
  const seen: string[] = []
  const tools = [
    testTool('edit_file', async ({ checkout }) => {
      await writeFile(join(checkout.folder, 'models/orders.sql'), 'select 2\n')
      return said('edited')
    }),
    testTool('read_file', ({ checkout }) => {
      // The second call is after the edit was written down: the first worker dies in it.
      app?.kill()
      seen.push(checkout.root)
      return said(readFileSync(join(checkout.folder, 'models/orders.sql'), 'utf8'))
    }),
  ]
  const model = plan({ calls: [call('edit_file')] }, { calls: [call('read_file')] }, { text: 'Done.' })
  const id = await loop.start()
  app = dying(loop.a.t.app, { n: Number.POSITIVE_INFINITY, when: 'before' })
  await loop.work(id, { model, tools, app, ports: { openCheckout: open } })
  app = undefined
  await rm(scene.ports.place, { recursive: true, force: true })
  assert.equal(await loop.lose(id), 'again')
  assert.equal(await loop.work(id, { model, tools, ports: { openCheckout: open }, workerId: 'other' }), 'ended')
  const journal = await loop.journal(id)
  const read = journal.findLast((one) => one.kind === 'tool_end')
  assert.equal(read?.kind === 'tool_end' && read.text, 'select 2\n')
  assert.equal(new Set(seen).size, 2, 'two attempts, two folders')
  assert.ok(
    seen.every((folder) => !existsSync(folder)),
    'nothing is left behind',
  )
  assert.match((await loop.a.session(id)).treeKey, /^[0-9a-f]{64}$/)
})
