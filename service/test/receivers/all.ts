// Every receiver at once, with a workspace that is set up for all of them.
import type { Context } from '../../src/app/context.ts'
import { createIntegration } from '../../src/app/integrations.ts'
import type { ScheduleInput } from '../../src/domain/schedule-input.ts'
import { datadogReceiver } from './datadog.ts'
import { incidentIoReceiver } from './incident-io.ts'
import { newRelicReceiver } from './new-relic.ts'
import { pagerDutyReceiver } from './pagerduty.ts'
import type { Behaviour } from './receiver.ts'
import { slackReceiver } from './slack.ts'
import { smtpReceiver } from './smtp.ts'
import { teamsReceiver } from './teams.ts'

export type AllReceivers = Awaited<ReturnType<typeof startReceivers>>

export async function startReceivers() {
  const slack = await slackReceiver()
  const teams = await teamsReceiver()
  const pagerduty = await pagerDutyReceiver()
  const incidentIo = await incidentIoReceiver()
  const datadog = await datadogReceiver()
  const newRelic = await newRelicReceiver()
  const smtp = await smtpReceiver()
  const web = [slack, teams, pagerduty, incidentIo, datadog, newRelic]
  return {
    ...{ slack, teams, pagerduty, incidentIo, datadog, newRelic, smtp, web },
    behave: (how: Behaviour | null, times?: number) => {
      for (const one of web) one.behave(how, times)
    },
    /** Everything that any of them was sent, as text. */
    everything: (): string =>
      JSON.stringify([web.map((one) => one.asked), smtp.received.map(({ raw, text, html }) => [raw, text, html])]),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...web, smtp].map((one) => one[Symbol.asyncDispose]()))
    },
  }
}

export interface IntegrationSetup {
  readonly kind: string
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
}

/** Accounts at all of them. */
export function integrationSetups(all: AllReceivers): IntegrationSetup[] {
  const { slack, teams, pagerduty, incidentIo, datadog, newRelic } = all
  const { apiKey, applicationKey } = datadog
  const at = (url: string) => ({ apiUrl: url })
  return [
    { kind: 'slack', name: '', settings: at(slack.url), secrets: { token: slack.token } },
    { kind: 'teams', name: 'Data team', settings: {}, secrets: { url: teams.webhook } },
    { kind: 'pagerduty', name: '', settings: at(pagerduty.url), secrets: { token: pagerduty.token } },
    { kind: 'incident_io', name: '', settings: at(incidentIo.url), secrets: { token: incidentIo.token } },
    { kind: 'datadog', name: '', settings: at(datadog.url), secrets: { apiKey, applicationKey } },
    {
      kind: 'new_relic',
      name: '',
      settings: { ...at(newRelic.url), accountId: newRelic.accountId },
      secrets: { licenseKey: newRelic.licenseKey },
    },
  ]
}

export async function setUpIntegrations(ctx: Context, all: AllReceivers): Promise<void> {
  for (const one of integrationSetups(all)) await createIntegration(ctx, one)
}

const EVENTS = ['failed', 'passed', 'sla']

/** A schedule that tells everybody everything. */
export const TELLS_ALL = {
  notifications: {
    slackNotifications: [{ channel: '#alerts', events: EVENTS }],
    emailNotifications: [
      { channel: 'ana@example.com', events: EVENTS },
      { channel: 'ben@example.com', events: ['failed'] },
    ],
    teamsNotifications: [{ channel: 'data team', events: EVENTS }],
  },
  integrations: {
    pagerduty: [
      {
        fromEmail: 'oncall@example.com',
        serviceId: 'PSERVICE',
        serviceName: 'Warehouse',
        incidentTypeDisplayName: 'Data incident',
        incidentTypeName: 'data_incident',
        urgency: 'high',
        escalationPolicyId: 'PESC',
      },
    ],
    incidentIo: [{ visibility: 'public', severity: 'Major', mode: 'standard' }],
    datadog: [{ severity: 'SEV-2', severityName: 'High', customerImpacted: false }],
    newRelic: [{ environment: 'production' }],
  },
} as const satisfies Partial<ScheduleInput>
