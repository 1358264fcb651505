// What a worker handles in bulk is bytes, the output of commands, and V8 lets go of bytes that nobody needs when it
// clears the young generation. It decides when to by the number of objects, of which bytes need few: with the usual
// room for it 60 MB that nobody needed were seen to lie around. So a worker keeps that generation at its first size,
// and has it cleared whenever a few megabytes have gone to the database. A server does after each large answer.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** For a process that does nothing but execute runs; before anything else is read, because reading it makes it grow. */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

let collect: ((options: { readonly type: 'minor' }) => void) | undefined

/** Takes less than a millisecond where little is alive. */
export function clearYoungGeneration(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as typeof collect
    setFlagsFromString('--no-expose-gc')
  }
  collect?.({ type: 'minor' })
}
