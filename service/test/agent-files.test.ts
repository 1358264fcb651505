// Files of agents that the project gives away, read as the service reads them.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DEMO_AGENTS } from '../src/adapters/demo-repository.ts'
import { BUILT_IN_AGENTS } from '../src/domain/agent-built-in.ts'
import { checkTogether, readAgentFile } from '../src/domain/agent-definition-file.ts'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')
const TEMPLATES = join(DOCS, 'agent-templates')

test('every template is an agent without a finding, and the documentation names it', () => {
  const files = readdirSync(TEMPLATES)
  assert.deepEqual(files, ['docs-writer.yml', 'freshness-watch.yml', 'healer.yml', 'model-reviewer.yml'])
  const words = readFileSync(join(DOCS, 'agents.md'), 'utf8')
  for (const file of files) {
    const text = readFileSync(join(TEMPLATES, file), 'utf8')
    const { definition, findings } = readAgentFile(`.dinoai/agents/${file}`, text, { environments: [] })
    assert.deepEqual(findings, [], file)
    assert.equal(definition?.tools?.mode, 'allowlist', file)
    assert.ok(words.includes(`agent-templates/${file}`), file)
  }
})

test('the example of the documentation is an agent without a finding', () => {
  const example = /```yaml\n# \.dinoai\/agents\/(\S+)\n([\s\S]*?)```/.exec(
    readFileSync(join(DOCS, 'agents.md'), 'utf8'),
  )
  const { definition, findings } = readAgentFile(`.dinoai/agents/${example![1]}`, example![2]!, { environments: [] })
  assert.deepEqual(
    findings.map((one) => one.message),
    [],
  )
  assert.notEqual(definition, null)
})

test('the agents of the first start are agents without a finding, one in the squad of the other', () => {
  const readings = Object.entries(DEMO_AGENTS).map(([file, text]) => readAgentFile(file, text, { environments: [] }))
  const checked = checkTogether(
    readings,
    BUILT_IN_AGENTS.map((one) => one.name),
  )
  assert.deepEqual(
    checked.flatMap((one) => one.findings),
    [],
  )
  assert.deepEqual(
    checked.map((one) => [one.definition?.name, one.definition?.squad]),
    [
      ['explainer', ['librarian']],
      ['librarian', []],
    ],
  )
})
