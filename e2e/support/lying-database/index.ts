/** Runs a seed in a process of its own, in which every statement may be lied about. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { faultsIn } from '../engine/check.ts'
import { pinnedNode } from '../service.ts'
import type { SeedReport } from './seed.ts'

export interface Seed {
  readonly seed: number
  readonly operations: number
  readonly delayMs: number
}

const file = (name: string): string => join(import.meta.dirname, name)

/** `environment` names the cluster of the tests, where there is one already. */
export async function runSeed(of: Seed, environment: Readonly<Record<string, string>>): Promise<SeedReport> {
  const argv = ['--import', file('lies.ts'), file('seed.ts'), of.seed, of.operations, of.delayMs].map(String)
  const child = spawn(pinnedNode, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1', ...environment },
  })
  const output = await text(child.stdout)
  const last = output.trim().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) throw new Error(`seed ${of.seed} did not come to its end: ${output}`)
  return JSON.parse(last) as SeedReport
}

/** Everything that does not hold, in words. */
export const faultsOf = (report: SeedReport): string[] => [
  ...report.triggers.map((text) => `asked for: ${text}`),
  ...report.ticks.map((text) => `due times: ${text}`),
  ...report.surprises.map((text) => `no 503: ${text}`),
  ...report.unhandled.map((text) => `unhandled: ${text}`),
  ...faultsIn(report.findings),
]
