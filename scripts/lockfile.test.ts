import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

interface Entry {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}

const root = join(import.meta.dirname, '..')
const read = (file: string): Record<string, unknown> => JSON.parse(readFileSync(join(root, file), 'utf8'))
const packages = Object.entries((read('package-lock.json').packages ?? {}) as Record<string, Entry>)

test('every package in the lock file has a hash and names no address', () => {
  const installed = packages.filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
  assert.ok(installed.length > 50)
  assert.deepEqual(
    installed.filter(([, entry]) => !entry.integrity?.startsWith('sha512-')).map(([path]) => path),
    [],
  )
  assert.deepEqual(
    installed.filter(([, entry]) => entry.resolved !== undefined).map(([path]) => path),
    [],
  )
})

test('every direct dependency is pinned exactly', () => {
  for (const file of ['package.json', 'service/package.json']) {
    const manifest = read(file) as Record<string, Record<string, string>>
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      for (const [name, version] of Object.entries(manifest[kind] ?? {})) {
        assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${file}: ${name} ${version}`)
      }
    }
  }
})

test('every dependency of the service has its reason in the docs', () => {
  const reasons = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
  const { dependencies } = read('service/package.json') as { dependencies: Record<string, string> }
  assert.deepEqual(
    Object.keys(dependencies).filter((name) => !reasons.includes(`\`${name}\``)),
    [],
  )
})
