// The tests of sandbox.test.ts once more, by a service that is not root: the way into the namespaces is another.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { couldNotRun } from '../../../test/support/could-not-run.ts'

const NOBODY = '65534'
const AS_NOBODY = ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', process.execPath]
const FILE = join(import.meta.dirname, 'sandbox.test.ts')

/** Gives the exit code and what it said. */
async function asNobody(...args: string[]): Promise<[number | null, string]> {
  // Without the variable by which a test runner knows its own children, whose answers it expects in another form.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn('setpriv', [...AS_NOBODY, ...args], {
    env: { ...env, HOME: '/nonexistent' },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)))
  const [code] = await once(child, 'close')
  return [code as number | null, said]
}

test('commands of agents are held the same by a service that is not root', async (t) => {
  if (process.getuid?.() !== 0) return t.diagnostic('not root: sandbox.test.ts has shown it')
  const [unreadable] = await asNobody('-e', `require('fs').readFileSync(${JSON.stringify(FILE)})`)
  if (unreadable !== 0) return couldNotRun('commands of agents as nobody', 'nobody cannot read this clone')
  const [code, said] = await asNobody('--test', '--test-reporter=tap', FILE)
  t.diagnostic(/^# pass \d+$/m.exec(said)?.[0] ?? 'nothing passed')
  assert.equal(code, 0, said)
})
