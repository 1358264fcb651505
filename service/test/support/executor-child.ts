// A service that will be killed: starts three commands that do not want to end and says `up` for each.
import { createContainerExecutor } from '../../src/adapters/executor/container.ts'
import { createProcessExecutor } from '../../src/adapters/executor/process.ts'
import { begin, NO_LIMITS } from './executor.ts'

const [options = '{}', folder = '', number = ''] = process.argv.slice(2)
const parsed = JSON.parse(options)
const executor = 'engine' in parsed ? createContainerExecutor(parsed) : await createProcessExecutor(parsed)
for (const text of [
  `trap '' INT TERM HUP; echo up; while :; do sleep ${number}; done`,
  `(setsid sh -c "sleep ${number} & sleep ${number}" &); echo up; exec sleep ${number}`,
  `sleep ${number} & echo up; wait`,
]) {
  const command = await begin(executor, { folder, text, limits: NO_LIMITS })
  await command.said('up')
  console.log('up')
}
setInterval(() => {}, 60_000)
