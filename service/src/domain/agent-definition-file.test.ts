import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILT_IN_AGENTS } from './agent-built-in.ts'
import { checkTogether, isAgentFile, readAgentFile } from './agent-definition-file.ts'
import { findingLine } from './schedule-file.ts'

const facts = { environments: [{ slug: 'production', displayName: 'Production EU' }] }
const good = `name: reviewer
version: 1
role: Reviewer
goal: Look at changes
backstory: |
  Reads
  slowly
`

const read = (text: string, file = '.dinoai/agents/reviewer.yml') => readAgentFile(file, text, facts)
/** All that is said of it; a file that is refused gives no agent, and one that is not gives one. */
function lines(text: string, file?: string): string[] {
  const reading = read(text, file)
  const isRefused = reading.findings.some((one) => one.severity === 'fault')
  assert.equal(reading.definition === null, isRefused)
  return reading.findings.map(findingLine)
}

test('every key of a file is read, and model and template are taken and ignored', () => {
  const text = `${good}model_family: large
environment: production
tools:
  mode: allowlist
  list: [read_file, trigger_bolt_run, mcp_tickets_search]
slack:
  channel: "#data"
agents_squad: [tester, writer]
model: whatever-5
template:
  name: reviewer
  anything: [goes, {here: true}]
`
  assert.deepEqual(lines(text), [])
  assert.deepEqual(read(text).definition, {
    name: 'reviewer',
    version: '1',
    role: 'Reviewer',
    goal: 'Look at changes',
    backstory: 'Reads\nslowly',
    modelFamily: 'large',
    environment: 'production',
    tools: { mode: 'allowlist', list: ['read_file', 'trigger_bolt_run', 'mcp_tickets_search'] },
    slackChannel: '#data',
    squad: ['tester', 'writer'],
  })
})

test('a file with what is needed alone has the defaults of everything else, under .yml and .yaml', () => {
  for (const file of ['.dinoai/agents/reviewer.yml', '.dinoai/agents/reviewer.yaml']) {
    const { definition } = read(good, file)
    assert.deepEqual(
      { ...definition, role: '', goal: '', backstory: '', version: '' },
      {
        name: 'reviewer',
        version: '',
        role: '',
        goal: '',
        backstory: '',
        modelFamily: '',
        environment: '',
        tools: null,
        slackChannel: '',
        squad: [],
      },
    )
  }
})

test('files of agents are the YAML files of their folder', () => {
  const given = ['.dinoai/agents/a.yml', '.dinoai/agents/team/b.yaml', '.dinoai/agents/c.md', '.dinoai/d.yml', 'e.yml']
  assert.deepEqual(given.filter(isAgentFile), ['.dinoai/agents/a.yml', '.dinoai/agents/team/b.yaml'])
})

test('the name must be that of the file', () => {
  assert.deepEqual(lines(good.replace('reviewer', 'Reviewer')), [
    '.dinoai/agents/reviewer.yml:1:7: name: "Reviewer" must be the name of the file, "reviewer".',
  ])
  assert.match(lines(good.replace('name: reviewer\n', ''))[0]!, /:1:1: name: needed; .* "reviewer"/)
  assert.match(lines(good.replace('reviewer', 'a b'), '.dinoai/agents/a b.yml')[0]!, /must be called as its agent is/)
})

test('what is missing, empty, of another type or unknown is a fault at its line and column', () => {
  const cases: [string, RegExp][] = [
    [good.replace('role: Reviewer\n', ''), /:1:1: role: needed, and not empty\.$/],
    [good.replace('Reviewer', '"  "'), /:3:7: role: must not be empty\.$/],
    [good.replace('Look at changes', '""'), /:4:7: goal: must not be empty\.$/],
    [good.replace('|\n  Reads\n  slowly', '""'), /:5:12: backstory: must not be empty\.$/],
    [good.replace('version: 1\n', ''), /version: needed/],
    [good.replace('Reviewer', '[one, two]'), /:3:7: role: must be a text\.$/],
    [good.replace('Reviewer', 'x'.repeat(16_001)), /:3:7: role: at most 16000 characters, not 16001\.$/],
    [`${good}hooks: []\n`, /:8:1: the file: "hooks" is not a key here\./],
    [`${good}agent_squad: [a]\n`, /"agent_squad" is not a key here\. Did you mean agents_squad\?$/],
    [`${good}role: again\n`, /:8:1: role: is there twice\.$/],
    [`${good}environment: staging\n`, /:8:14: environment: no "staging" in this workspace\. There are: production\.$/],
    [`${good}model_family: [a]\n`, /model_family: must be a text/],
    [`${good}model_family: "a\\nb"\n`, /model_family: no line breaks/],
    [`${good}slack: "#data"\n`, /:8:8: slack: must be a map/],
    [`${good}slack: {channel: "#a", thread: x}\n`, /slack: "thread" is not a key here/],
    [`${good}agents_squad: tester\n`, /agents_squad: must be a list/],
    [`${good}agents_squad: [tester, tester]\n`, /:8:24: agents_squad\[1\]: "tester" is there twice\.$/],
    [`${good}agents_squad: [reviewer]\n`, /:8:16: agents_squad\[0\]: an agent cannot call itself\.$/],
    [`${good}agents_squad: [../x]\n`, /agents_squad\[0\]: "\.\.\/x" is not a name of an agent/],
    [`${good}tools: [read_file]\n`, /:8:8: tools: must be a map/],
    [`${good}tools: {list: []}\n`, /tools\.mode: needed: allowlist or denylist\.$/],
    [`${good}tools: {mode: allowlist}\n`, /tools\.list: needed; \[\] for no tool at all\.$/],
    [`${good}tools: {mode: some, list: []}\n`, /:8:15: tools\.mode: "some" is none: allowlist or denylist\.$/],
    [`${good}tools: {mode: allowlist, list: read_file}\n`, /tools\.list: must be a list/],
    ['', /: is empty\./],
    ['role: [', /is not YAML/],
    ['- a\n', /the file: must be a map/],
    [`# ${'x'.repeat(70_000)}\n${good}`, /is larger than the 64 KiB/],
  ]
  for (const [text, expected] of cases) {
    const said = lines(text)
    assert.ok(
      said.some((line) => expected.test(line)),
      `${expected} in ${JSON.stringify(said)}`,
    )
    assert.equal(read(text).definition, null, text.slice(-60))
  }
})

test('an unknown tool is absent from an allow-list with a warning, and refuses the file in a deny-list', () => {
  const allowing = `${good}tools:\n  mode: allowlist\n  list:\n    - read_file\n    - reed_file\n    - read_file\n`
  assert.deepEqual(read(allowing).definition?.tools, { mode: 'allowlist', list: ['read_file'] })
  assert.deepEqual(lines(allowing), [
    '.dinoai/agents/reviewer.yml:12:7: warning: tools.list[1]: there is no tool "reed_file"; did you mean read_file? The agent does not have it.',
  ])
  const denying = allowing.replace('allowlist', 'denylist')
  assert.equal(read(denying).definition, null)
  assert.match(lines(denying)[0]!, /:12:7: tools\.list\[1\]: there is no tool "reed_file"/)
})

test('an environment is found by its slug or the name that people see, and kept as its slug', () => {
  assert.equal(read(`${good}environment: production eu\n`).definition?.environment, 'production')
})

test('of two files with one name both are refused, and a squad that names nobody is said', () => {
  const one = read(`${good}agents_squad: [healer, tester]\n`)
  const two = read(good, '.dinoai/agents/reviewer.yaml')
  const names = BUILT_IN_AGENTS.map((agent) => agent.name)
  const both = checkTogether([one, two], names)
  assert.deepEqual(
    both.map((reading) => [reading.definition, ...reading.findings.map(findingLine)]),
    [
      [
        null,
        '.dinoai/agents/reviewer.yml: has the same name as .dinoai/agents/reviewer.yaml.',
        '.dinoai/agents/reviewer.yml:8:24: warning: agents_squad: there is no agent "tester"; it cannot be called.',
      ],
      [null, '.dinoai/agents/reviewer.yaml: has the same name as .dinoai/agents/reviewer.yml.'],
    ],
  )
  const [alone] = checkTogether([one], names)
  assert.notEqual(alone!.definition, null)
})

test('the built-in agents would pass as files', () => {
  for (const agent of BUILT_IN_AGENTS) {
    const text = JSON.stringify({
      name: agent.name,
      version: agent.version,
      role: agent.role,
      goal: agent.goal,
      backstory: agent.backstory,
    })
    assert.deepEqual(read(text, `.dinoai/agents/${agent.name}.yml`).definition, agent)
  }
})
