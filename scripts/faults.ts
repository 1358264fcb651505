// The slow proofs: each one breaks something many times under load and counts what became of it. They run one after
// the other, print their figures, and any figure that does not hold fails the whole.
//
//   npm run test:faults                          all of them
//   npm run test:faults -- kill-storm            only those whose name holds one of the words
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const words = process.argv.slice(2)

/** Proofs that are run in more than one way; every other file in e2e/faults is run once, without arguments. */
const WAYS: Readonly<Record<string, readonly (readonly string[])[]>> = { 'kill-storm': [[], ['--external']] }

const proofs = globSync('e2e/faults/*.ts', { cwd: root })
  .sort()
  .flatMap((file) => {
    const name = basename(file, '.ts')
    return (WAYS[name] ?? [[]]).map((args) => ({ name: [name, ...args].join(' '), argv: [file, ...args] }))
  })
  .filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))

if (proofs.length === 0) {
  console.error(`No proof is called ${words.join(' or ')}.`)
  process.exit(1)
}

let child: ReturnType<typeof spawn> | undefined
// Each proof clears up after itself when it is told to end, and so do we by waiting for it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void child?.kill(signal))

const results: string[] = []
let failed = false
for (const { name, argv } of proofs) {
  const began = performance.now()
  console.log(`\n=== ${name}`)
  const ended = Promise.withResolvers<string>()
  child = spawn(process.execPath, argv, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  child.on('error', (error) => ended.resolve(error.message))
  child.on('exit', (code, signal) => ended.resolve(code === 0 ? 'passed' : `FAILED (${signal ?? `exit code ${code}`})`))
  const result = await ended.promise
  failed ||= result !== 'passed'
  results.push(`${name.padEnd(28)} ${result}, ${((performance.now() - began) / 1000).toFixed(0)} s`)
  if (result.includes('130') || result.includes('SIG')) break
}
console.log(`\n${results.join('\n')}`)
process.exit(failed ? 1 : 0)
