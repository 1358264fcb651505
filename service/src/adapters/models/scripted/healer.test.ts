import assert from 'node:assert/strict'
import { test } from 'node:test'
import { broken, FAULTS, SHOP } from '../../../../../e2e/support/broken-dbt.ts'
import type { ModelMessage } from '../../../ports/model.ts'
import { healerPlan } from './healer.ts'
import { followPlan } from './plan.ts'

const COLUMN = `10:00:00  Registered adapter: duckdb=1.9.3
10:00:00    Runtime Error in model stg_payments (models/stg_payments.sql)
  Binder Error: Referenced column "methd" not found in FROM clause!
  Candidate bindings: "method", "payment_id"
10:00:00  
`
const REF = `10:00:00  Encountered an error:
Compilation Error
  Model 'model.shop.customer_orders' (models/customer_orders.sql) depends on a node named 'stg_ordres' which was not found
`
const CAST = `10:00:00    Runtime Error in model stg_customers (models/stg_customers.sql)
  Conversion Error: Could not convert string 'Ana' to INT32 when casting from source column customer_name
10:00:00  
`
const faultOf = (name: string) => FAULTS.find((one) => one.name === name)!

interface Host {
  readonly files: Map<string, string>
  readonly log: string
  readonly tools?: readonly string[]
  /** The answers of the shell, in order. */
  readonly checks?: string[]
  readonly state?: string
  readonly command?: string
}

const ALL = [
  'read_file',
  'list_directory',
  'edit_file',
  'git_commit',
  'git_push',
  'open_pull_request',
  'get_run_status',
  'get_bolt_run_logs',
]

/** Plays the loop: asks the plan, runs its calls on files in memory, asks again. Gives what was called and said. */
function play(host: Host, message = 'Run 7 of the schedule "nightly" failed.') {
  const calls: { tool: string; input: Record<string, unknown> }[] = []
  const messages: ModelMessage[] = [{ role: 'user', text: message }]
  const tools = (host.tools ?? ALL).map((name) => ({ name, description: '', input: {} }))
  for (;;) {
    const answer = followPlan(healerPlan, { agent: 'healer', instructions: '', messages, tools })
    if (answer.calls.length === 0) return { calls, said: answer.text, names: calls.map((one) => one.tool) }
    messages.push({ role: 'assistant', text: answer.text, calls: answer.calls })
    const results = answer.calls.map(({ id, tool, input }) => {
      const given = input as Record<string, unknown>
      calls.push({ tool, input: given })
      return { call: id, tool, ...answerOf(host, tool, given) }
    })
    messages.push({ role: 'tool', results })
  }
}

function answerOf(host: Host, tool: string, input: Record<string, unknown>): { text: string; isError: boolean } {
  const path = String(input.path ?? '')
  const text = host.files.get(path)
  const good = (said: string) => ({ text: said, isError: false })
  const bad = (said: string) => ({ text: said, isError: true })
  switch (tool) {
    case 'read_file':
      return text === undefined ? bad('There is no such file.') : good(text)
    case 'list_directory': {
      const below = [...host.files.keys()]
        .filter((one) => one.startsWith(`${path}/`))
        .map((one) => one.slice(path.length + 1))
      const names = new Set(below.map((one) => one.replace(/\/.*/, '/')))
      return names.size === 0 ? bad('There is no such folder.') : good([...names].join('\n'))
    }
    case 'edit_file': {
      const [from, to] = [String(input.old_text), String(input.new_text)]
      if (text === undefined || text.split(from).length !== 2) return bad('old_text is not there exactly once.')
      host.files.set(
        path,
        text.replace(from, () => to),
      )
      return good('changed')
    }
    case 'get_run_status':
      if (input.run_id === undefined) return good('{"run_id":9,"state":"succeeded"}\n{"run_id":7,"state":"errored"}')
      return good(
        `{"run_id":7,"schedule":"nightly","state":"${host.state ?? 'errored'}"}\n{"command_id":3,"text":"${host.command ?? 'dbt build'}","state":"failed","return_code":1}`,
      )
    case 'get_bolt_run_logs':
      return good(`# dbt build (command 3, failed)\n## stdout\n${host.log}`)
    case 'run_terminal_command':
      return good(host.checks?.shift() ?? 'yardmaster-check: 0')
    case 'git_push':
      return good('Pushed agent/x/mend.')
    default:
      return good('done')
  }
}

const hostOf = (name: string, log: string, more: Partial<Host> = {}): Host => ({
  files: new Map(Object.entries(broken(faultOf(name)))),
  log,
  ...more,
})

const EFFECTS = ['git_commit', 'git_push', 'open_pull_request']

test('what a rule mends is changed, committed, pushed and proposed, and the last words name the cause', () => {
  const host = hostOf('a column is misspelt', COLUMN)
  const { names, said } = play(host)
  assert.deepEqual(Object.fromEntries(host.files), SHOP)
  assert.deepEqual(names.slice(-4), ['edit_file', ...EFFECTS])
  assert.match(said, /there is no column `methd`; `method` is meant/)
  assert.match(said, /It was not checked/)
})

test('with a shell the change is checked before it is proposed', () => {
  const host = hostOf('a column is misspelt', COLUMN, { tools: [...ALL, 'run_terminal_command'] })
  const { names, said, calls } = play(host)
  assert.deepEqual(names.slice(-5), ['edit_file', 'run_terminal_command', ...EFFECTS])
  assert.match(String(calls.find((one) => one.tool === 'run_terminal_command')!.input.command), /dbt .* build/)
  assert.match(said, /It was checked: `dbt build` passes/)
})

test('what the check brings to light is mended too, and what no rule mends keeps everything from being pushed', () => {
  const tools = [...ALL, 'run_terminal_command']
  const two = hostOf('a model is misspelt in ref', REF, { tools, checks: [`${COLUMN}yardmaster-check: 1`] })
  two.files.set('models/stg_payments.sql', broken(faultOf('a column is misspelt'))['models/stg_payments.sql']!)
  const mended = play(two)
  assert.deepEqual(Object.fromEntries(two.files), SHOP)
  assert.match(mended.said, /`stg_ordres`[\s\S]*`methd`[\s\S]*It was checked/)
  const hidden = hostOf('a model is misspelt in ref', REF, { tools, checks: [`${CAST}yardmaster-check: 1`] })
  const left = play(hidden)
  assert.ok(!left.names.some((name) => EFFECTS.includes(name)))
  assert.match(left.said, /I cannot mend it, and I pushed nothing[\s\S]*Conversion Error/)
})

test('where no rule fits nothing is changed and nothing is pushed', () => {
  for (const log of [CAST, 'sh: 1: dtb: not found\n', `${COLUMN}${CAST}`]) {
    const host = hostOf('a column is misspelt', log)
    const { names, said } = play(host)
    assert.ok(!names.some((name) => [...EFFECTS, 'edit_file'].includes(name)), names.join())
    assert.match(said, /I pushed nothing/)
  }
})

test('a run that has not failed, a project that is not there and a fault that is gone are told', () => {
  assert.match(play(hostOf('a column is misspelt', COLUMN, { state: 'succeeded' })).said, /has not failed/)
  const elsewhere = { files: new Map([['README.md', '']]), log: COLUMN }
  assert.match(play(elsewhere).said, /no dbt project/)
  const gone = play({ files: new Map(Object.entries(SHOP)), log: COLUMN })
  assert.match(gone.said, /I pushed nothing/)
})

test('without a number in the message the last run that failed is mended, also with several errors of one cause', () => {
  const twice = COLUMN + COLUMN.replaceAll('stg_payments (', 'stg_payments_again (')
  const host = hostOf('a column is misspelt', twice)
  const { names } = play(host, 'Please mend what broke last night.')
  assert.equal(names[0], 'get_run_status')
  assert.deepEqual(Object.fromEntries(host.files), SHOP)
  assert.equal(names.filter((name) => name === 'edit_file').length, 1)
})

test('a project in a folder is found by the command that ran in it', () => {
  const files = Object.entries(broken(faultOf('a model is misspelt in ref')))
  const host: Host = {
    files: new Map(files.map(([path, text]) => [`shop/${path}`, text])),
    log: REF,
    command: 'dbt build --project-dir ./shop',
  }
  play(host)
  assert.equal(host.files.get('shop/models/customer_orders.sql'), SHOP['models/customer_orders.sql'])
})
