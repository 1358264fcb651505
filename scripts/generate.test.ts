import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generate, wireTypes } from './generate.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

test('the generated files of the repository are fresh', async () => {
  assert.deepEqual(await generate(root, { check: true }), [], 'run: npm run generate')
})

test('a check names stale files and writes nothing; generating writes what is stale only', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'yardmaster-generate-'))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(join(root, 'contract'), join(copy, 'contract'), { recursive: true })
  const all = ['docs/cli.md', 'docs/configuration.md', 'service/src/api/graphql/wire-types.ts']
  assert.deepEqual(await generate(copy, { check: true }), all)
  assert.deepEqual(await generate(copy, { check: true }), all)
  assert.deepEqual(await generate(copy, { check: false }), all)
  assert.deepEqual(await generate(copy, { check: true }), [])
  writeFileSync(join(copy, all[0]!), 'edited by hand')
  assert.deepEqual(await generate(copy, { check: false }), [all[0]])
  assert.match(readFileSync(join(copy, all[0]!), 'utf8'), /^<!-- Generated/)
})

test('fields of objects are required and may be null, fields of inputs and arguments can be left out', async () => {
  const types = await wireTypes(`
    scalar Timestamp
    scalar JSON
    enum Kind { ONE TWO }
    input Filter { kind: Kind, name: String! }
    type Thing { at: Timestamp!, note: String, kind: Kind!, data: JSON! }
    type Query
    extend type Query { things(filter: Filter, limit: Int = 10): [Thing!] }
  `)
  assert.match(types, /^\/\/ Generated .*do not edit: npm run generate\n/)
  assert.match(types, /export type Kind =\s+\| 'ONE'\s+\| 'TWO';/)
  assert.match(types, / note: Maybe</)
  assert.match(types, / kind\?: InputMaybe<Kind>/)
  assert.match(types, / name: Scalars\['String'\]\['input'\]/)
  assert.match(types, / filter\?: InputMaybe<Filter>/)
  assert.match(types, / things: Maybe<Array<Thing>>/)
  assert.match(types, /Timestamp: \{ input: string; output: string; \}/)
  assert.doesNotMatch(types, /__typename|\benum\b|\bany\b/)
})
