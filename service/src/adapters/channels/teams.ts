// Cards to the webhook of a Teams workflow. The address itself is the secret. Teams answers 202 and knows no repetitions:
// when its answer is lost, the next try posts again.
import { noticeOf } from '../../domain/messages/notice.ts'
import { renderTeams } from '../../domain/messages/teams.ts'
import type { Channel } from '../../ports/channel.ts'
import type { ChannelDeps } from './api.ts'
import { delivered, openApi, secretOf, settled } from './api.ts'

export function teamsChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'teams',
    send: (out, signal) =>
      settled(async () => {
        const url = secretOf(out, 'url', `Teams channel "${out.address}"`)
        const api = openApi(deps, out, signal)
        return delivered(
          await api.call({ method: 'POST', url, headers: {}, json: renderTeams(noticeOf(out.event, out.body)) }),
        )
      }),
  }
}
