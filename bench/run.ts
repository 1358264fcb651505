// All benchmarks, or those named: `npm run bench`, `npm run bench -- api audit`. Prints one table; exits with 1 when a
// figure misses its bound. Figures are ratios to a floor that is measured beside them, because requests a second say
// more about the machine than about the service.
import { cpus, totalmem } from 'node:os'
import { benchAgents } from './agents.ts'
import { benchApi } from './api.ts'
import { benchAudit } from './audit.ts'
import { benchRotation } from './rotation.ts'
import { benchScheduleFiles } from './schedule-files.ts'
import { type Figure, holds, table } from './support/figure.ts'

const BENCHMARKS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  agents: benchAgents,
  api: benchApi,
  audit: benchAudit,
  rotation: benchRotation,
  'schedule-files': benchScheduleFiles,
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(BENCHMARKS, name))
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(', ')}. There are: ${Object.keys(BENCHMARKS).join(', ')}.`)
  process.exit(2)
}

const [cpu] = cpus()
console.log(
  `${cpu?.model ?? 'unknown processor'}, ${cpus().length} cores, ` +
    `${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.version}\n`,
)
const figures: Figure[] = []
for (const name of asked.length > 0 ? asked : Object.keys(BENCHMARKS)) figures.push(...(await BENCHMARKS[name]!()))
console.log(table(figures))
process.exit(figures.every(holds) ? 0 : 1)
