// The process: where the arguments, the environment and the streams come from, and where its exit code goes.
import { keepYoungGenerationSmall } from './adapters/memory-relief.ts'

if (process.argv.slice(2).includes('worker')) keepYoungGenerationSmall()

const { createScrubber } = await import('./adapters/scrub.ts')
const { processIo } = await import('./cli/io.ts')
const { runProgram } = await import('./cli/program.ts')

const io = processIo()

// Rejections that nobody handles arrive here too. What state we are in is not known then, so the process ends; the
// embedded database is stopped by its own exit handler, and whoever supervises a service starts it again.
process.on('uncaughtException', (error) => {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  io.err(`yardmaster: an error that nobody expected, please report it:\n${createScrubber().text(stack)}\n`)
  process.exit(1)
})

const code = await runProgram(process.argv.slice(2), { env: process.env, cwd: process.cwd(), io })
// Ended by hand, once what was printed is out: nothing that a library left open may keep a finished command waiting.
await new Promise((resolve) => process.stdout.write('', resolve))
process.exit(code)
