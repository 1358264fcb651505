// A message to Slack. Where it goes is fixed by whoever started the session or by the agent's file; the model says the
// text, and nothing else of what it says is read.
import { queueSlackMessage } from '../../../app/agent-news.ts'
import { mutate } from '../../../app/mutate.ts'
import type { AgentSession } from '../../../domain/agent-session.ts'
import { serviceTool, withoutSecrets } from './rights.ts'
import type { Tool } from './tool.ts'
import { refused, said } from './tool.ts'

export const slackTools = (session: AgentSession): Tool[] =>
  session.slackChannel === ''
    ? []
    : [
        serviceTool('post_slack_message', {
          description:
            "Posts a message to the session's own place in Slack. What you say as your answer is posted there anyway: use this for what should be said before.",
          input: {
            type: 'object',
            properties: { text: { type: 'string', minLength: 1, maxLength: 12_000 } },
            required: ['text'],
            additionalProperties: false,
          },
          run: async (of, input) => {
            const text = withoutSecrets(of, String(input.text))
            const isQueued = await mutate({ ...of.caller, idempotency: null }, (unit) =>
              queueSlackMessage(unit, of.session, { text, key: `call ${of.call}` }),
            )
            return isQueued
              ? said('The message was handed over to Slack.')
              : refused('The workspace has no Slack integration, or the session no place in Slack.')
          },
        }),
      ]
