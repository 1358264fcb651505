// Reports of runs as they come from the rows, for everything that is rendered from them.
import type { IncidentNews } from '../../src/domain/messages/incident.ts'
import type { Notice } from '../../src/domain/messages/notice.ts'
import type { NoticeEvent } from '../../src/domain/messages/words.ts'
import type { ReportedCommand, RunReport } from '../../src/domain/run-report.ts'
import type {
  DatadogIntegration,
  IncidentIoIntegration,
  NewRelicIntegration,
  PagerDutyIntegration,
} from '../../src/domain/schedule.ts'

const RUN = 'https://yard.example.com/workspaces/wsp_1/runs/412'

const command = (id: number, text: string, more: Partial<ReportedCommand> = {}): ReportedCommand => ({
  id,
  command: text,
  kind: 'user',
  state: 'succeeded',
  startDttm: '2026-03-02 09:00:05.000000',
  endDttm: '2026-03-02 09:04:00.000000',
  returnCode: 0,
  lastLines: [],
  jsonResources: [],
  ...more,
})

export const passedReport: RunReport = {
  workspace: { uid: 'wsp_1', name: 'Analytics' },
  schedule: { slug: 'nightly-3fa9c1', name: 'Nightly build', uuid: '6f0b7b7e-1d0a-4f63-9d5c-8a4f2f9f6f11' },
  run: {
    id: 412,
    state: 'succeeded',
    detail: '',
    actor: 'schedule',
    actorEmail: '',
    reason: '',
    startDttm: '2026-03-02 09:00:00.123456',
    endDttm: '2026-03-02 09:12:34.654321',
    seconds: 754.530865,
    branch: 'main',
    commitHash: '4c2f9a1b7d3e5f60718293a4b5c6d7e8f9012345',
    prNumber: null,
    parentScheduleRunId: null,
    slaSeconds: 600,
  },
  commands: [
    command(1, 'git clone https://git.example.com/jobs.git', { kind: 'infrastructure' }),
    command(2, 'dbt build'),
  ],
  failedNodes: [],
  failedNodeCount: 0,
  links: { run: RUN, failedCommand: null },
  apiUrl: 'https://yard.example.com/graphql',
}

export const failedReport: RunReport = {
  ...passedReport,
  run: {
    ...passedReport.run,
    state: 'errored',
    actor: 'Ana Petrova',
    actorEmail: 'ana@example.com',
    reason: 'after the backfill',
    prNumber: 77,
  },
  commands: [
    passedReport.commands[0]!,
    command(2, 'dbt build --select state:modified+ --target prod', {
      state: 'failed',
      returnCode: 1,
      lastLines: [
        '09:12:31  Finished running 41 table models, 112 data tests in 0 hours 11 minutes and 58.20 seconds (718.20s).',
        '09:12:31',
        '09:12:31  Completed with 2 errors, 0 partial successes, and 0 warnings:',
        '09:12:31    Database Error in model orders (models/marts/orders.sql)',
        '  column "amount & tax" <does not> exist',
        '09:12:31    Failure in test not_null_customers_id (models/marts/schema.yml)',
        '  Got 3 results, configured to fail if != 0',
        '09:12:31  Done. PASS=151 WARN=0 ERROR=2 SKIP=0 NO-OP=0 TOTAL=153',
      ],
    }),
    command(3, './publish.sh', { state: 'not_run', startDttm: '', endDttm: '', returnCode: null }),
  ],
  failedNodes: [
    {
      uniqueId: 'model.shop.orders',
      status: 'error',
      message: 'Database Error in model orders (models/marts/orders.sql)\n  column "amount & tax" <does not> exist',
    },
    {
      uniqueId: 'test.shop.not_null_customers_id.5c9bf9911d',
      status: 'fail',
      message: 'Got 3 results, configured to fail if != 0',
    },
  ],
  failedNodeCount: 2,
  links: { run: RUN, failedCommand: `${RUN}?command=2&at=18311:0` },
}

/** The run itself broke: there is no command to blame. */
export const brokenReport: RunReport = {
  ...passedReport,
  run: { ...passedReport.run, state: 'failed', detail: 'The worker was lost.' },
}

export const lateReport: RunReport = {
  ...passedReport,
  run: { ...passedReport.run, state: 'running', endDttm: null, seconds: null },
}

/** Everything that could break out of where it is put, and as much of it as the service takes. */
export const hostileReport: RunReport = {
  ...failedReport,
  workspace: { uid: 'wsp_1', name: '<b>A&B</b>' },
  schedule: {
    ...failedReport.schedule,
    name: '<!channel> *x* [a](https://evil.example) `y` {{run.id}} '.repeat(3).slice(0, 128),
  },
  run: {
    ...failedReport.run,
    detail: '</td><script>alert(1)</script>',
    actor: '<@U123> "Eve"',
    reason: '<img src=https://evil.example/x.png>'.repeat(200),
    branch: 'x`<!here>`',
  },
  commands: [
    command(2, `echo '<script>' && \`id\` ${'&'.repeat(50_000)}`, {
      state: 'failed',
      returnCode: 137,
      lastLines: Array.from({ length: 20 }, (_, at) => `\u001b[31m${'```<&>'.repeat(40)} ${at}\u001b[0m`),
    }),
    command(3, 'false', { state: 'failed', returnCode: 1 }),
  ],
  failedNodes: Array.from({ length: 50 }, (_, at) => ({
    uniqueId: `model.shop.<b>_${at}_${'é'.repeat(300)}`,
    status: 'error',
    message: '<i>&'.repeat(125),
  })),
  failedNodeCount: 1234,
}

export const REPORTS = { failed: failedReport, broken: brokenReport, passed: passedReport, late: lateReport }

export const notice = (event: NoticeEvent, report: RunReport, template: Notice['template'] = null): Notice => ({
  event,
  report,
  template,
})

export const news = <Entry>(report: RunReport, entry: Entry): IncidentNews<Entry> => ({
  report,
  entry,
  key: 'yardmaster-6f0b7b7e-1d0a-4f63-9d5c-8a4f2f9f6f11',
})

export const PAGERDUTY_ENTRY: PagerDutyIntegration = {
  fromEmail: 'oncall@example.com',
  serviceId: 'PSERVICE',
  serviceName: 'Warehouse',
  incidentTypeDisplayName: 'Data incident',
  incidentTypeName: 'data_incident',
  priorityId: 'PPRIO',
  priorityName: 'P2',
  urgency: 'HIGH',
  escalationPolicyId: 'PESC',
  escalationPolicyName: 'Data on call',
  assigneeIds: [],
  assigneeNames: [],
}

export const INCIDENT_IO_ENTRY: IncidentIoIntegration = {
  visibility: 'PUBLIC',
  statusId: null,
  status: null,
  typeId: null,
  type: null,
  mode: 'standard',
  severityId: null,
  severity: null,
}

export const DATADOG_ENTRY: DatadogIntegration = {
  severity: 'SEV-2',
  severityName: 'High',
  customerImpacted: true,
  state: null,
  stateName: null,
  commanderUserId: 'a3bb189e-8bf9-4888-9912-ace4e6543002',
  commanderUserName: 'Ana',
  notificationHandles: ['@slack-data'],
}

export const NEW_RELIC_ENTRY: NewRelicIntegration = { environment: 'production' }
