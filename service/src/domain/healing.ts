// What went wrong, as a fingerprint: two failures with the same one have the same cause, as far as can be told from
// outside. What changes from run to run without meaning anything is taken out first.
import { createHash } from 'node:crypto'
import type { RunReport } from './run-report.ts'

export const HEALING_STATES = ['waiting', 'started', 'proposed', 'ended', 'refused'] as const
export type HealingState = (typeof HEALING_STATES)[number]

/** Times, durations, numbers, ids and temporary places differ each time. */
export function normalised(text: string): string {
  return text
    .toLowerCase()
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<id>')
    .replace(/\b[0-9a-f]{12,}\b/g, '<id>')
    .replace(/\/tmp\/[^\s'"]*/g, '<path>')
    .replace(/\d+/g, '#')
    .replace(/#(?:[:.,-]#)+/g, '#')
    .replace(/\s+/g, ' ')
    .trim()
}

/** SHA-256 in hex over the failing command and what failed in it: dbt's nodes where it names some, else its last lines. */
export function causeOf(report: Pick<RunReport, 'run' | 'commands' | 'failedNodes'>): string {
  const failed = report.commands.find((one) => one.state === 'failed' || one.state === 'stopped')
  const nodes = report.failedNodes.map((one) => `${one.uniqueId} ${normalised(one.message)}`).sort()
  const lines = nodes.length > 0 ? nodes : (failed?.lastLines ?? []).map(normalised)
  const parts = [failed?.command.trim() ?? '', normalised(report.run.detail), ...lines]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
