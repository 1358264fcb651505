// What a notice to Slack, by mail or to Teams is made of; it is kept with the delivery. Rendering is pure, and happens when
// the notice is sent.
import type { RunReport } from '../run-report.ts'
import type { NoticeEvent } from './words.ts'

export const NOTICE_CHANNELS = ['slack', 'email', 'teams'] as const
export type NoticeChannel = (typeof NOTICE_CHANNELS)[number]

/** The words of a workspace in place of ours. The subject is used by mail alone. */
export interface TemplateText {
  readonly slug: string
  readonly name: string
  readonly subject: string
  readonly text: string
}

export interface Notice {
  readonly event: NoticeEvent
  readonly report: RunReport
  readonly template: TemplateText | null
}

/** What is kept with the delivery of a test. */
export interface TestBody {
  readonly workspace: { readonly uid: string; readonly name: string }
  /** Where the workspace is looked at. */
  readonly url: string
}

/** There is no run: only the workspace and the link are shown of it. */
export const testReport = ({ workspace, url }: TestBody): RunReport => ({
  workspace,
  schedule: { slug: '', name: workspace.name, uuid: '' },
  run: {
    id: 0,
    state: 'succeeded',
    detail: '',
    actor: '',
    actorEmail: '',
    reason: '',
    startDttm: '',
    endDttm: null,
    seconds: null,
    branch: '',
    commitHash: '',
    prNumber: null,
    parentScheduleRunId: null,
    slaSeconds: null,
  },
  commands: [],
  failedNodes: [],
  failedNodeCount: 0,
  links: { run: url, failedCommand: null },
  apiUrl: '',
})

/** What a delivery to people holds, a test or a notice. */
export const noticeOf = (event: string, body: unknown): Notice =>
  event === 'test' ? { event, report: testReport(body as TestBody), template: null } : (body as Notice)
