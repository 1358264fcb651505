// The channels of messages and incidents.
import type { Channel } from '../../ports/channel.ts'
import type { Mailer } from '../../ports/mailer.ts'
import type { ChannelDeps } from './api.ts'
import { datadogChannel } from './datadog.ts'
import { githubChannel } from './github.ts'
import { gitlabChannel } from './gitlab.ts'
import { incidentIoChannel } from './incident-io.ts'
import { mailChannel } from './mail.ts'
import { newRelicChannel } from './new-relic.ts'
import { pagerDutyChannel } from './pagerduty.ts'
import { slackChannel } from './slack.ts'
import { teamsChannel } from './teams.ts'

export function messageChannels(deps: ChannelDeps & { readonly mailer: Mailer }): Channel[] {
  return [
    slackChannel(deps),
    mailChannel(deps.mailer),
    teamsChannel(deps),
    pagerDutyChannel(deps),
    incidentIoChannel(deps),
    datadogChannel(deps),
    newRelicChannel(deps),
    githubChannel(deps),
    gitlabChannel(deps),
  ]
}
