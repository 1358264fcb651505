/**
 * Workers that work on sessions of agents are killed at random moments, some with everything on their host, while tools
 * have effects outside: commits on a remote, runs, messages of Slack, a shell. No effect is doubled, none of a session that
 * was completed is missing, every call has one result, times are unique, and every session comes to an end.
 *
 *   node e2e/faults/agent-kills.ts [--kills 100] [--workers 3] [--seed N]
 */
import { parseArgs } from 'node:util'
import { agentStorm } from '../support/agent-storm.ts'
import { seeded } from '../support/random.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    workers: { type: 'string', default: '3' },
    seed: { type: 'string' },
  },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed)
const kills = Number(values.kills)
const clock = startClock()
const report = await agentStorm({
  kills,
  workers: Number(values.workers),
  atOnce: 6,
  random: seeded(seed),
  say: (line) => console.log(`${line}, ${(clock() / 1000).toFixed(0)} s`),
})
for (const fault of report.faults) console.log(`FAULT ${fault}`)
const isSome = (count: number): boolean => count > 0
summary(`sessions of agents whose workers are killed, seed ${seed}`, clock, [
  ['kills', report.kills, (count) => count === kills],
  ['sessions', report.sessions, isSome],
  // Where hardly any comes to its effects, nothing is proved.
  ['  that were completed', report.completed, (count) => count >= report.sessions / 2],
  ['  that failed, lost three times at one record', report.failed],
  ['  that another worker went on with', report.retaken, isSome],
  ['calls whose effect was in doubt, and told so', report.inDoubt],
  ['runs that were triggered', report.runs, isSome],
  ['shell commands whose effect is on the remote', report.commands, isSome],
  ['faults: effects doubled or missing, calls without one result, times, no end', report.faults.length, (n) => n === 0],
])
