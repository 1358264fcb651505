// Everything that guards the project, in one command: format, lint, types, boundaries, fresh generated files, unit,
// database and end-to-end tests. Exits with 1 when anything fails, after everything has run.
//
//   npm test                       all of it
//   npm test -- service/src/app    only the test files whose path holds one of the words
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestCluster } from '../service/test/support/database.ts'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules', '.bin')
const words = process.argv.slice(2)

interface Step {
  readonly name: string
  readonly argv: readonly string[]
}

const CHECKS: readonly Step[] = [
  { name: 'format and lint', argv: [join(bin, 'biome'), 'check', '.'] },
  { name: 'types', argv: [join(bin, 'tsc'), '--noEmit'] },
  { name: 'generated files are fresh', argv: [process.execPath, 'scripts/generate.ts', '--check'] },
]

function run(step: Step, environment: Record<string, string> = {}): Promise<boolean> {
  const began = performance.now()
  return new Promise((resolve) => {
    const child = spawn(step.argv[0]!, step.argv.slice(1), {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, NODE_NO_WARNINGS: '1', ...environment },
    })
    child.on('error', (error) => {
      console.error(error)
      resolve(false)
    })
    child.on('exit', (code) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(`${code === 0 ? 'passed' : 'FAILED'}  ${step.name} (${seconds} s)`)
      resolve(code === 0)
    })
  })
}

const files = globSync(['service/**/*.test.ts', 'scripts/**/*.test.ts', 'e2e/**/*.test.ts'], { cwd: root })
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()

const failed: string[] = []
if (words.length === 0) {
  for (const check of CHECKS) if (!(await run(check))) failed.push(check.name)
}
// What this machine cannot run (an executor, a package index) is told at the end, never passed over in silence.
const noted = mkdtempSync(join(tmpdir(), 'yardmaster-test-'))
const couldNot = join(noted, 'could-not-run')
writeFileSync(couldNot, '')
const cluster = await startTestCluster()
try {
  const tests: Step = {
    name: `tests in ${files.length} files`,
    argv: [
      process.execPath,
      '--test',
      `--test-concurrency=${Math.max(2, availableParallelism())}`,
      '--test-reporter=spec',
      '--test-timeout=180000',
      ...files,
    ],
  }
  if (!(await run(tests, { ...cluster.environment, YARDMASTER_TEST_COULD_NOT: couldNot }))) failed.push(tests.name)
} finally {
  await cluster.stop()
}
const missing = [...new Set(readFileSync(couldNot, 'utf8').split('\n'))].filter((line) => line !== '').sort()
rmSync(noted, { recursive: true })
if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`)
console.log(missing.length === 0 ? 'Everything could be run here.' : missing.join('\n'))
process.exit(failed.length === 0 ? 0 : 1)
