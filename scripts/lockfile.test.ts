import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

interface Entry {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
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

// A platform's package that the registry lacks is dropped from the lock file without a word, and `npm ci` then refuses it.
test('what a package in the lock file asks for is in the lock file too', () => {
  const paths = new Set(packages.map(([path]) => path))
  const isThere = (from: string, name: string): boolean => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      if (paths.has(at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`)) return true
      if (at === '') return false
    }
  }
  const missing = packages.flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !isThere(path.startsWith('node_modules/') ? path : '', name))
      .map((name) => `${path || 'the root'} asks for ${name}`),
  )
  assert.deepEqual(missing, [])
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
