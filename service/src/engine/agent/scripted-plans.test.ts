// The plans of the scripted model against the real tools: files of a real folder, and the arguments that each tool takes.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { scriptedModel } from '../../adapters/models/scripted/index.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import type { ModelMessage } from '../../ports/model.ts'
import { checkInput } from './tools/check-input.ts'
import { fileTools } from './tools/files.ts'
import { runTools } from './tools/runs.ts'
import { scheduleTools } from './tools/schedules.ts'
import { searchTools } from './tools/search.ts'
import { squadTools } from './tools/squad.ts'
import type { Tool, ToolContext } from './tools/tool.ts'

type Run = (tool: Tool, input: Record<string, unknown>) => Promise<{ text: string; isError: boolean }>

/** One turn; every argument is held against the schema of its tool. */
async function turn(agent: string, text: string, tools: readonly Tool[], run: Run) {
  const model = scriptedModel()
  const messages: ModelMessage[] = [{ role: 'user', text }]
  const called = new Set<string>()
  for (;;) {
    const answer = await model.answer({ agent, instructions: '', messages, tools }, new AbortController().signal)
    messages.push({ role: 'assistant', text: answer.text, calls: answer.calls })
    if (answer.calls.length === 0) return { text: answer.text, called: [...called] }
    const results = []
    for (const call of answer.calls) {
      const tool = tools.find((one) => one.name === call.tool)!
      assert.equal(checkInput(tool.input, call.input), null, `${call.tool} ${JSON.stringify(call.input)}`)
      called.add(call.tool)
      results.push({ call: call.id, tool: call.tool, ...(await run(tool, call.input as Record<string, unknown>)) })
    }
    messages.push({ role: 'tool', results })
  }
}

const inFolder =
  (folder: string): Run =>
  async (tool, input) => {
    const of = { checkout: { folder }, signal: new AbortController().signal } as ToolContext
    const result = await tool.run(of, input)
    assert.equal(result.kind, 'text')
    return {
      text: result.kind === 'text' ? result.text : '',
      isError: result.kind === 'text' && result.isError === true,
    }
  }

test('the assistant answers from the files of the repository, and otherwise when one was changed', async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'yardmaster-scripted-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'models'))
  writeFileSync(join(folder, 'README.md'), '# The shop\n')
  writeFileSync(join(folder, 'models', 'stg_orders.sql'), 'select 1 as id\n')
  writeFileSync(join(folder, 'models', 'orders.sql'), "select * from {{ ref('stg_orders') }}\n")
  const ask = () => turn('assistant', 'What does stg_orders hold?', [...fileTools, ...searchTools], inFolder(folder))
  const first = await ask()
  assert.match(first.text, /`models\/stg_orders\.sql`:\n\n```\nselect 1 as id\n```/)
  assert.match(first.text, /models\/orders\.sql:1:select \* from/)
  assert.match(first.text, /README\.md begins:\n\n```\n# The shop/)
  writeFileSync(join(folder, 'models', 'stg_orders.sql'), 'select 2 as number\n')
  const second = await ask()
  assert.match(second.text, /select 2 as number/)
  assert.doesNotMatch(second.text, /select 1 as id/)
  writeFileSync(join(folder, 'models', 'orders.sql'), 'select 3\n')
  assert.doesNotMatch((await ask()).text, /models\/orders\.sql:1/)
})

test('the explainer calls the tools of runs, files and its squad as they want to be called', async () => {
  const session = { definition: { squad: ['librarian'] }, parentId: null } as unknown as AgentSession
  const squad = squadTools({ agents: undefined as never }, session)
  const tools = [...runTools(), ...scheduleTools(), ...fileTools, ...searchTools, ...squad]
  const run = JSON.stringify({ run_id: 3, schedule: 'customers', state: 'errored', detail: '' })
  const command = JSON.stringify({ command_id: 1, text: 'sh scripts/a.sh', state: 'failed', return_code: 1 })
  let isFirst = true
  const { text, called } = await turn('explainer', 'What failed?', tools, async (tool, input) => {
    if (tool.name === 'get_run_status' && input.run_id === undefined && isFirst) {
      isFirst = false
      return { text: 'There are no runs.', isError: false }
    }
    if (tool.name === 'list_bolt_schedules') {
      return { text: '{"slug":"customers","last_run":{"run_id":3,"state":"errored"}}', isError: false }
    }
    if (tool.name === 'get_run_status') return { text: `${run}\n${command}`, isError: false }
    return { text: 'words', isError: false }
  })
  assert.match(text, /^Run 3 of the schedule `customers` failed at the command `sh scripts\/a\.sh`/)
  assert.deepEqual(called.sort(), [
    'get_bolt_run_logs',
    'get_run_status',
    'invoke_agent',
    'list_bolt_schedules',
    'read_file',
  ])
})
