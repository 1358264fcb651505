// Which layer may import which. The table is that of docs/architecture.md; what it does not allow is refused.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const SOURCE = join(import.meta.dirname, '..', 'src')

const ALL = ['domain', 'ports', 'store', 'adapters', 'app', 'engine', 'api', 'config', 'compose', 'cli']

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  ports: ['domain'],
  store: ['domain'],
  adapters: ['ports', 'domain'],
  app: ['domain', 'ports', 'store'],
  engine: ['app', 'store', 'ports', 'domain'],
  api: ['app', 'domain', 'ports'],
  config: ['domain'],
  compose: ALL.filter((layer) => layer !== 'cli'),
  cli: ALL,
  // main.ts alone stands outside the folders.
  '.': ALL,
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g

interface Import {
  readonly file: string
  readonly target: string
}

function importsOf(file: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)]
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((target) => target.startsWith('.'))
    .map((target) => ({ file, target: normalize(join(dirname(file), target)) }))
}

const layerOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.')

function violations(imports: readonly Import[]): string[] {
  return imports.flatMap(({ file, target }) => {
    const [from, to] = [layerOf(file), layerOf(target)]
    if (target.startsWith('..')) return [`${file} reaches outside service/src: ${target}`]
    return from === to || MAY_IMPORT[from]?.includes(to) ? [] : [`${file} (${from}) imports ${target} (${to})`]
  })
}

function cycles(imports: readonly Import[]): string[] {
  const graph = Map.groupBy(imports, (one) => one.file)
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file].join(' → '))
      return
    }
    if (done.has(file)) return
    for (const { target } of graph.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return found
}

const files = globSync('**/*.ts', { cwd: SOURCE }).filter((file) => !file.endsWith('.test.ts'))
const sources = files.map((file) => ({ file, text: readFileSync(join(SOURCE, file), 'utf8') }))
const imports = sources.flatMap(({ file, text }) => importsOf(file, text))

test('every file of the service imports only what its layer may', () => {
  assert.ok(imports.length > 100, 'the imports were found')
  assert.deepEqual(violations(imports), [])
})

test('no file of the service imports itself by a detour', () => {
  // Types may point both ways; values may not, and the check does not tell them apart: keep it simple and strict.
  assert.deepEqual(cycles(imports), [])
})

test('a forbidden import, a reach outside and a cycle would be seen', () => {
  const bad = importsOf('api/x.ts', "import { a } from '../store/keys.ts'\nexport * from '../../test/y.ts'\n")
  assert.equal(violations(bad).length, 2)
  assert.equal(violations(importsOf('domain/x.ts', "const a = await import('../app/keys.ts')")).length, 1)
  const ring = [
    ...importsOf('app/a.ts', "import './b.ts'\nimport b from './b.ts'"),
    ...importsOf('app/b.ts', "import a from './a.ts'"),
  ]
  assert.equal(cycles(ring).length, 1)
})

test('the environment, the clock and the console are used only in their homes', () => {
  const homes = /^(config|cli|compose)\/|^main\.ts$|^adapters\//
  const found = sources
    .filter(({ file }) => !homes.test(file))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/process\.env\b|Date\.now\(\)|new Date\(\)|console\.\w+\(/g)].map(
        (match) => `${file}: ${match[0]}`,
      ),
    )
  assert.deepEqual(found, [])
})
