// What a message, a webhook or an incident can say about a run. Made once from the rows (app/run-report.ts) and kept with
// the delivery, so that rendering is pure and a late try says what was true when it happened. Everything in it is
// redacted already and none of it is secret.
import type { RunState } from './run.ts'

export interface RunReport {
  readonly workspace: { readonly uid: string; readonly name: string }
  readonly schedule: { readonly slug: string; readonly name: string; readonly uuid: string }
  readonly run: ReportedRun
  readonly commands: readonly ReportedCommand[]
  /** dbt's nodes that failed, by name; at most 50. */
  readonly failedNodes: readonly FailedNode[]
  /** How many there are in all. */
  readonly failedNodeCount: number
  /** Where to look: all from the public address of the service. */
  readonly links: { readonly run: string; readonly failedCommand: string | null }
  readonly apiUrl: string
}

export interface ReportedRun {
  readonly id: number
  readonly state: RunState
  /** Why it failed or was skipped, in a sentence; may be empty. */
  readonly detail: string
  readonly actor: string
  readonly actorEmail: string
  readonly reason: string
  /** As the API writes them; null where there is none yet. */
  readonly startDttm: string
  readonly endDttm: string | null
  readonly seconds: number | null
  readonly branch: string
  readonly commitHash: string
  readonly prNumber: number | null
  readonly parentScheduleRunId: number | null
  /** Of the schedule, for a notice that the run is late. */
  readonly slaSeconds: number | null
}

export interface ReportedCommand {
  readonly id: number
  readonly command: string
  readonly kind: 'infrastructure' | 'user'
  readonly state: string
  readonly startDttm: string
  readonly endDttm: string
  readonly returnCode: number | null
  /** Of a command that failed: its last lines, redacted, at most 20 lines and 4 KiB. */
  readonly lastLines: readonly string[]
  readonly jsonResources: readonly { readonly id: number; readonly path: string }[]
}

export interface FailedNode {
  /** Such as model.shop.orders. */
  readonly uniqueId: string
  readonly status: string
  readonly message: string
}

/** As it was when its first command started: whoever makes the report may come later than that. */
export const asStarted = (report: RunReport): RunReport => ({
  ...report,
  run: { ...report.run, state: 'running', detail: '', endDttm: null, seconds: null },
  commands: report.commands.map((one, index) => ({
    ...one,
    state: index === 0 ? 'running' : 'waiting',
    startDttm: index === 0 ? one.startDttm : '',
    endDttm: '',
    returnCode: null,
    lastLines: [],
    jsonResources: [],
  })),
  failedNodes: [],
  failedNodeCount: 0,
  links: { ...report.links, failedCommand: null },
})
