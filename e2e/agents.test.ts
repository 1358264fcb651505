// Agents from a client's side: a real service with no model set up, the repository of its first start, real tools.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { BIN } from '../service/test/support/command-line.ts'
import { type Client, clientOf } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

const exec = promisify(execFile)
const TERMINAL = ['COMPLETED', 'FAILED', 'EXPIRED', 'STOPPED']

interface Message {
  readonly ts: number
  readonly role: string
  readonly content: string
}

let service: ServiceProcess
let client: Client
let silent: SilentModel

before(async () => {
  silent = await silentModel()
  service = await startProcess({ env: { YARDMASTER_OUTGOING_ALLOW: '127.0.0.1' } })
  client = clientOf(service)
})
after(async () => {
  await service.stop()
  silent.close()
})

const trigger = (variables: Record<string, unknown>, by = client): Promise<{ agentSessionId: string }> =>
  by.ask(
    `mutation ($agent: String, $message: String, $slack: DinoAiAgentSlackInput, $baseBranch: String, $modelFamily: String) {
      triggerDinoaiAgentRun(agent: $agent, message: $message, slack: $slack, baseBranch: $baseBranch,
        modelFamily: $modelFamily) { ok agentSessionId status warning } }`,
    // As existing clients do: what is not given is null.
    { agent: null, message: null, slack: null, baseBranch: null, modelFamily: null, ...variables },
  )

const RUN = `query ($id: String!) { dinoaiAgentRun(agentSessionId: $id) { ok agentSessionId status workspaceUid reason
  messages { ts role content } childSessionIds agent model turn startedBy parentSessionId rootSessionId baseCommit
  createdDttm startDttm endDttm usage { steps tokensIn tokensOut costDollars }
  startupSteps { kind title text }
  steps(includeToolIo: true) { id seq ts kind title tool call input output outputChars isRunning isError } } }`

const read = (id: string, by = client) => by.ask(RUN, { id })

/** Until the turn is over. */
const ended = (id: string, by = client) =>
  by.until(async () => {
    const run = await read(id, by)
    return TERMINAL.includes(run.status) && run
  }, 90_000)

const send = (agentSessionId: string, message: string) =>
  client.ask(
    `mutation ($agentSessionId: String!, $message: String!) {
      sendDinoaiAgentMessage(agentSessionId: $agentSessionId, message: $message) { ok agentSessionId status warning } }`,
    { agentSessionId, message },
  )

/** The run of the first start that fails on purpose. */
const failedRun = () =>
  client.until(async () => {
    const { runs } = await client.ask('{ boltRunPage(filter: { states: ["ERROR", "FAILED"] }) { runs { id } } }')
    return runs[0]?.id as number | undefined
  })

test('the demo agent explains the last failed run with real tools, and asks the agent of its squad', async () => {
  const runId = await failedRun()
  const started = await trigger({ agent: 'explainer' })
  assert.deepEqual(started, { ok: true, agentSessionId: started.agentSessionId, status: 'queued', warning: null })
  assert.match(started.agentSessionId, /^[a-z0-9]{16}$/)
  const run = await ended(started.agentSessionId)
  assert.equal(run.status, 'COMPLETED', JSON.stringify(run))
  assert.deepEqual(
    [run.ok, run.workspaceUid, run.agent, run.model],
    [true, service.workspaceUid, 'explainer', 'scripted'],
  )
  const last = run.messages.at(-1) as Message
  assert.equal(last.role, 'assistant')
  assert.match(last.content, new RegExp(`Run ${runId} of the schedule`))
  assert.match(last.content, /scripts\/customers\.sh: cannot read data\/customers\.csv/)
  assert.match(last.content, /exit code 1/)
  assert.match(last.content, /No model was used/)
  const tools = run.steps.filter((step: { kind: string }) => step.kind === 'TOOL')
  const used = new Set(tools.map((step: { tool: string }) => step.tool))
  for (const tool of ['get_run_status', 'get_bolt_run_logs', 'read_file', 'invoke_agent'])
    assert.ok(used.has(tool), tool)
  assert.ok(tools.every((step: { isRunning: boolean; isError: boolean }) => !step.isRunning && !step.isError))
  const file = tools.find((step: { tool: string }) => step.tool === 'read_file')
  assert.deepEqual(JSON.parse(file.input), { path: 'scripts/customers.sh' })
  assert.match(file.output, /file=data\/customers\.csv/)
  assert.ok(run.startupSteps.length > 0)
  assert.match(run.baseCommit, /^[0-9a-f]{40}$/)

  const [childId, ...others] = run.childSessionIds
  assert.deepEqual(others, [])
  const child = await read(childId)
  assert.deepEqual(
    [child.agent, child.status, child.parentSessionId, child.rootSessionId, child.childSessionIds],
    ['librarian', 'COMPLETED', run.agentSessionId, run.agentSessionId, []],
  )
  assert.match(child.messages[0].content, /scripts\/customers\.sh failed/)
})

test('a message alone runs the assistant, and the answer follows the repository', async () => {
  const question = { message: 'Is there `marmalade`?' }
  const first = await ended((await trigger(question)).agentSessionId)
  assert.equal(first.status, 'COMPLETED', JSON.stringify(first))
  assert.equal(first.agent, 'assistant')
  assert.deepEqual([first.messages[0].role, first.messages[0].content], ['user', question.message])
  assert.match(first.messages.at(-1).content, /Nothing in the repository matches/)

  await commit('pantry.md', 'There is marmalade in the cellar.\n')
  const second = await ended((await trigger(question)).agentSessionId)
  assert.match(second.messages.at(-1).content, /pantry\.md.*There is marmalade in the cellar/s)
  assert.notEqual(second.baseCommit, first.baseCommit)

  // From a branch, tag or commit that is named: here the one before.
  const before = await ended((await trigger({ ...question, baseBranch: first.baseCommit })).agentSessionId)
  assert.match(before.messages.at(-1).content, /Nothing in the repository matches/)
})

test('a follow-up is answered in the same session, with all that was said before', async () => {
  const { agentSessionId: id } = await trigger({ message: 'Where does `hello.sh` stand?' })
  const first = await ended(id)
  assert.deepEqual(await send(id, 'And where does `count.sh`?'), {
    ...{ ok: true, agentSessionId: id, status: 'queued', warning: null },
  })
  assert.notEqual((await read(id)).status, 'COMPLETED', 'nobody reads the old end')
  const second = await ended(id)
  assert.deepEqual([second.status, second.turn], ['COMPLETED', 2])
  assert.deepEqual(second.messages.slice(0, first.messages.length), first.messages)
  const more = second.messages.slice(first.messages.length) as Message[]
  assert.equal(more[0]?.content, 'And where does `count.sh`?')
  assert.match(more.at(-1)!.content, /count\.sh/)
  const times = second.messages.map((one: Message) => one.ts) as number[]
  assert.ok(
    times.every((ts, at) => at === 0 || ts > times[at - 1]!),
    'unique and increasing',
  )
  assert.ok(times.some((ts) => !Number.isInteger(ts)) && times.every((ts) => Math.abs(ts - Date.now() / 1000) < 600))
  assert.ok(
    times.every((ts) => Math.round(ts * 1e6) / 1e6 === ts),
    'six digits, and no more',
  )
  assert.deepEqual((await read(id)).messages, second.messages)
})

test('steps are read on from the last one, with as much of each tool as is asked for', async () => {
  const { agentSessionId: id } = await trigger({ message: 'Where does `hello.sh` stand?' })
  const { steps } = await ended(id)
  const ask = async (args: string) =>
    (
      await client.ask(
        `query ($id: String!) { dinoaiAgentRun(agentSessionId: $id) { steps${args} { seq tool call input
      output outputChars } } }`,
        { id },
      )
    ).steps as { seq: number; tool: string; call: string; output: string }[]
  const plain = await ask('')
  assert.equal(plain.length, steps.length)
  assert.ok(plain.every((step) => step.output === ''))
  const short = await ask('(includeToolIo: true, maxChars: 5)')
  assert.ok(short.some((step) => step.tool !== '' && step.output.length === 6 && step.output.endsWith('…')))
  const middle = steps[Math.floor(steps.length / 2)].seq
  assert.deepEqual(
    (await ask(`(after: ${middle})`)).map((step) => step.seq),
    steps.map((step: { seq: number }) => step.seq).filter((seq: number) => seq > middle),
  )
  // A document that comes again and again is compiled: the field that takes arguments must not differ.
  for (let times = 0; times < 5; times++)
    assert.deepEqual(await ask(`(after: ${middle})`), await ask(`(after: ${middle})`))
  const tool = steps.find((step: { tool: string }) => step.tool === 'list_directory')
  const whole = await client.ask(
    'query ($id: String!, $call: String!) { dinoaiAgentToolOutput(agentSessionId: $id, call: $call) { ok text } }',
    { id, call: tool.call },
  )
  assert.equal(whole.text.length, tool.outputChars)
  assert.match(whole.text, /scripts/)
})

test('one that is working is stopped: at once, for good, and existing clients are told in their own words', async () => {
  await client.ask(
    `mutation ($settings: [IntegrationSettingInput!]) { setModelFamily(name: "silent", provider: OPENAI_COMPATIBLE,
      model: "none", settings: $settings, secrets: [{ name: "apiKey", value: "key-of-the-silent-one" }]) { ok } }`,
    { settings: [{ name: 'address', value: `http://127.0.0.1:${silent.port}/v1` }] },
  )
  const { agentSessionId: id } = await trigger({ message: 'Say something.', modelFamily: 'silent' })
  const call = await silent.called()
  assert.equal(call.authorization, 'Bearer key-of-the-silent-one')
  assert.equal((await read(id)).status, 'RUNNING')
  const stopped = await client.ask(
    'mutation ($id: String!) { stopDinoaiAgentRun(agentSessionId: $id) { ok status } }',
    { id },
  )
  assert.deepEqual(stopped, { ok: true, status: 'FAILED' })
  await call.closed
  const run = await read(id)
  assert.equal(run.status, 'FAILED')
  assert.match(run.messages.at(-1).content, /[Ss]topped.*first key/)
  assert.ok(!JSON.stringify(run).includes('key-of-the-silent-one'))

  const existing = clientOf({ ...service, key: await existingClientKey() })
  const theirs = await read(id, existing)
  assert.equal(theirs.status, 'STOPPED')
  assert.deepEqual([...new Set(theirs.messages.map((one: Message) => one.role))], ['user', 'agent'])
  const again = await client.ask('mutation ($id: String!) { stopDinoaiAgentRun(agentSessionId: $id) { status } }', {
    id,
  })
  assert.equal(again.status, 'FAILED', 'what is over stays what it is')

  const waiting = yardmaster('agents', 'run', '--message', 'Say something.', '--model', 'silent', '--wait')
  const { agentSessionId: second } = await client.until(async () => {
    const { sessions } = await client.ask('{ listDinoaiAgentSessions { sessions { agentSessionId status } } }')
    return sessions[0].status === 'RUNNING' && sessions[0]
  })
  assert.equal((await yardmaster('agents', 'stop', second)).code, 0)
  const ended = await waiting
  assert.equal(ended.code, 4, ended.err)

  // The model that answers nobody is not the default for those that come after.
  await client.ask('mutation { removeModelFamily(name: "silent") { ok } }')
})

test('both kinds of credentials work at the path of existing clients, and each is told in its own words', async () => {
  const pair = await client.ask(
    `mutation { createApiKey(key: { name: "pair", kind: PAIR, workspaceUid: "${service.workspaceUid}" }) { key secret } }`,
  )
  const ways = [
    {
      role: 'agent',
      headers: { authorization: `Bearer ${await existingClientKey()}`, 'x-service-workspace': service.workspaceUid },
    },
    { role: 'assistant', headers: { 'x-api-key': pair.key as string, 'x-api-secret': pair.secret as string } },
  ]
  for (const { role, headers } of ways) {
    const post = async (query: string) => {
      const response = await fetch(`${service.url}/api/v1/anything/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      })
      return ((await response.json()) as { data: Record<string, unknown> }).data
    }
    const started = await post(
      'mutation { triggerDinoaiAgentRun(message: "Is there `hello.sh`?") { status agentSessionId } }',
    )
    const { status, agentSessionId } = started.triggerDinoaiAgentRun as { status: string; agentSessionId: string }
    assert.equal(status, 'queued')
    const messages = await client.until(async () => {
      const asked = `{ dinoaiAgentRun(agentSessionId: "${agentSessionId}") { status messages { role } } }`
      const run = (await post(asked)).dinoaiAgentRun as { status: string; messages: { role: string }[] }
      return run.status === 'COMPLETED' && run.messages
    }, 90_000)
    assert.deepEqual([...new Set(messages.map((one) => one.role))], ['user', role])
  }
})

test('sessions are listed by agent, status and parent, newest first', async () => {
  const list = (filter: string) =>
    client.ask(`{ listDinoaiAgentSessions(filter: ${filter}, limit: 50) { totalCount
      sessions { agentSessionId agent status parentSessionId startedBy createdDttm } } }`)
  const all = await list('{}')
  assert.equal(all.totalCount, all.sessions.length)
  const times = all.sessions.map((one: { createdDttm: string }) => one.createdDttm)
  assert.deepEqual(times, [...times].sort().reverse())
  const [explainer] = (await list('{ agent: "explainer" }')).sessions
  const children = await list(`{ parentSessionId: "${explainer.agentSessionId}" }`)
  assert.deepEqual(
    children.sessions.map((one: { agent: string }) => one.agent),
    ['librarian'],
  )
  const failed = (await list('{ status: FAILED }')).sessions
  assert.deepEqual(
    failed.map((one: { startedBy: string }) => one.startedBy.replace(/ \(.*/, '')),
    ['command line', 'first key'],
  )
})

test('a session is followed as it goes, through the same gate as queries', async () => {
  const { agentSessionId: id } = await trigger({ message: 'Where does `report.sh` stand?' })
  const subscription = `subscription { dinoaiAgentRunState(agentSessionId: "${id}") { status messages { ts role content } } }`
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query: subscription }),
  })
  const changes = [...(await response.text()).matchAll(/event: next\ndata: (.*)\n/g)].map(
    (match) => JSON.parse(match[1]!).data.dinoaiAgentRunState as { status: string; messages: Message[] },
  )
  assert.equal(changes.at(-1)?.status, 'COMPLETED')
  assert.deepEqual(
    changes.flatMap((one) => one.messages),
    (await read(id)).messages,
    'each message once, in order',
  )
  const nobody = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-workspace': service.workspaceUid },
    body: JSON.stringify({ query: subscription }),
  })
  assert.equal(nobody.status, 401)
})

test('the agents of the repository are listed with what is wrong with each', async () => {
  const broken = 'name: broken\nversion: "1"\nrole: x\ngoal: y\nbackstory: z\ncolour: red\n'
  await commit('.dinoai/agents/broken.yml', broken)
  const listed = await client.until(async () => {
    const { agents } =
      await client.ask(`{ listDinoaiAgents { commitHash warning agents { name file builtIn ok squad toolMode
      tools findings { isFault line column message } } } }`)
    return agents.some((one: { name: string }) => one.name === 'broken') && agents
  })
  const named = (name: string) => listed.find((one: { name: string }) => one.name === name)
  assert.deepEqual([named('assistant').builtIn, named('healer').builtIn], [true, true])
  assert.deepEqual([named('explainer').squad, named('explainer').toolMode], [['librarian'], 'ALLOWLIST'])
  assert.equal(named('broken').ok, false)
  assert.deepEqual([named('broken').findings[0].isFault, named('broken').findings[0].line], [true, 6])
  const refused = await client.refused('mutation { triggerDinoaiAgentRun(agent: "broken") { ok } }')
  assert.equal(refused.code, 'INVALID_INPUT')
  assert.match(refused.message, /broken\.yml:6:1/)
})

test('what is missing or not there is refused in words', async () => {
  const cases: [string, string, RegExp][] = [
    ['mutation { triggerDinoaiAgentRun { ok } }', 'INVALID_INPUT', /agent.*message/],
    ['mutation { triggerDinoaiAgentRun(agent: "  ", message: "") { ok } }', 'INVALID_INPUT', /agent.*message/],
    ['mutation { triggerDinoaiAgentRun(agent: "explaner") { ok } }', 'NOT_FOUND', /Did you mean explainer/],
    [
      'mutation { triggerDinoaiAgentRun(message: "x", slack: { channel: "C1", threadTs: " " }) { ok } }',
      'INVALID_INPUT',
      /both channel and threadTs/,
    ],
    ['{ dinoaiAgentRun(agentSessionId: "nobodynobodynobo") { ok } }', 'NOT_FOUND', /No agent session/],
    ['mutation { stopDinoaiAgentRun(agentSessionId: "nobodynobodynobo") { ok } }', 'NOT_FOUND', /No agent session/],
  ]
  for (const [query, code, message] of cases) {
    const refused = await client.refused(query)
    assert.equal(refused.code, code, query)
    assert.match(refused.message, message)
  }
  const replaced = await trigger({ message: 'Hello', modelFamily: 'no-such' })
  assert.match((replaced as { warning?: string }).warning ?? '', /no-such.*scripted is used/)
})

test('the command line drives the same sessions, and its exit code says how one ended', async () => {
  const run = await yardmaster('agents', 'run', 'explainer', '--wait')
  assert.equal(run.code, 0, run.err)
  assert.match(run.out, /cannot read data\/customers\.csv/)
  assert.match(run.err, /get_bolt_run_logs/)
  const id = /Session ([a-z0-9]{16}) is completed/.exec(run.out)![1]!
  const sent = await yardmaster('agents', 'send', id, 'Explain run 999999', '--wait', '--json')
  assert.equal(sent.code, 0, sent.err)
  const view = JSON.parse(sent.out)
  assert.match(view.messages.at(-1).content, /999999/)
  const transcript = await yardmaster('agents', 'transcript', id, '--steps')
  assert.match(transcript.out, /get_run_status[\s\S]*999999/)
  const listed = await yardmaster('agents', 'list')
  assert.equal(listed.code, 1, 'one file has a fault')
  assert.match(listed.out, /explainer[\s\S]*broken\.yml:6:1/)
  const nobody = await yardmaster('agents', 'transcript', 'nobodynobodynobo')
  assert.equal(nobody.code, 1)
  assert.match(nobody.err, /No agent session/)
})

test('who started, wrote to and stopped what is on record', async () => {
  const { auditLogs } = await client.ask(
    '{ getAuditLogs(limit: 500) { auditLogs { eventType eventSource actorType metadataJson } } }',
  )
  const of = (type: string) => auditLogs.filter((one: { eventType: string }) => one.eventType === type)
  assert.ok(of('agent_triggered').length >= 6)
  assert.ok(
    of('agent_triggered').some((one: { metadataJson: { agent: string } }) => one.metadataJson.agent === 'explainer'),
  )
  assert.ok(of('agent_message_sent').length >= 1)
  assert.deepEqual(
    of('agent_stopped').map((one: { actorType: string }) => one.actorType),
    ['system', 'api_key'],
  )
  assert.ok(
    of('agent_tool_used').some((one: { metadataJson: { tool: string } }) => one.metadataJson.tool === 'invoke_agent'),
  )
  assert.ok(!JSON.stringify(auditLogs).includes('key-of-the-silent-one'))
})

async function existingClientKey(): Promise<string> {
  const made = await client.ask(
    'mutation { createApiKey(key: { name: "existing", kind: ACCOUNT, client: "paradime" }) { key } }',
  )
  return made.key
}

/** Into the repository of the first start, as somebody who works in it. */
async function commit(path: string, content: string): Promise<void> {
  const cwd = join(service.dataFolder, 'demo-repository')
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  await writeFile(join(cwd, path), content)
  await exec('git', ['add', '--all'], { cwd, env })
  const by = ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.com']
  await exec('git', [...by, 'commit', '--quiet', '--message', path], { cwd, env })
}

async function yardmaster(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, YARDMASTER_DATA: service.dataFolder }
  try {
    const { stdout, stderr } = await exec(process.execPath, [BIN, ...argv], { env, timeout: 120_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

interface SilentModel {
  readonly port: number
  /** The first call; `closed` when whoever called has gone. */
  called(): Promise<{ readonly authorization: string | undefined; readonly closed: Promise<void> }>
  close(): void
}

/** A model server that takes every question and answers none. */
async function silentModel(): Promise<SilentModel> {
  const call = Promise.withResolvers<Awaited<ReturnType<SilentModel['called']>>>()
  const server: Server = createServer((request, response) => {
    const closed = new Promise<void>((resolve) => response.on('close', () => resolve()))
    call.resolve({ authorization: request.headers.authorization, closed })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as AddressInfo).port,
    called: () => call.promise,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
