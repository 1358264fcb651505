// What this machine cannot run is named at the end of the test run, never passed over in silence. The test command sets
// YARDMASTER_TEST_COULD_NOT to a file, and prints what is in it as its closing line.
import { appendFileSync } from 'node:fs'

export function couldNotRun(what: string, why: string): void {
  const file = process.env.YARDMASTER_TEST_COULD_NOT
  const line = `could not run ${what}: ${why.replace(/\s+/g, ' ').trim()}`
  try {
    if (!file) throw new Error('nobody collects them')
    appendFileSync(file, `${line}\n`)
  } catch {
    // Or it is not ours to write, for a test that runs as another user.
    console.log(line)
  }
}
