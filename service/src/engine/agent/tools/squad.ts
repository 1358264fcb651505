// Agents that call each other. Only those that the file names, with the rights of whoever started the first session, from
// one budget; how deep, how many and in which circle is decided where sessions are started (app/agent-start.ts).
import { startSession } from '../../../app/agent-start.ts'
import { mutate } from '../../../app/mutate.ts'
import { type AgentSession, isOver } from '../../../domain/agent-session.ts'
import { conflict } from '../../../domain/errors.ts'
import { quoted } from '../../../domain/text.ts'
import * as events from '../../../store/agent-events.ts'
import * as sessions from '../../../store/agent-sessions.ts'
import type { ToolDeps } from './deps.ts'
import { once, serviceTool, withoutSecrets } from './rights.ts'
import type { Tool } from './tool.ts'
import { refused, said } from './tool.ts'

type Deps = Pick<ToolDeps, 'agents'>

const LONGEST = 20_000

export const squadTools = (deps: Deps, session: AgentSession): Tool[] => [
  ...(session.definition.squad.length === 0 ? [] : [invoke(deps, session)]),
  ...(session.parentId === null ? [] : [notify()]),
]

const invoke = ({ agents }: Deps, { definition: { squad } }: AgentSession): Tool =>
  serviceTool('invoke_agent', {
    description:
      'Hands a task to another agent of the squad and waits for its last message. It has its own checkout and does not see this conversation: say everything that it needs.',
    input: {
      type: 'object',
      properties: {
        agent: { type: 'string', enum: [...squad] },
        message: { type: 'string', minLength: 1, maxLength: LONGEST },
      },
      required: ['agent', 'message'],
      additionalProperties: false,
    },
    run: async (of, input) => {
      const { session, caller } = of
      const agent = String(input.agent)
      if (!session.definition.squad.includes(agent)) {
        return refused(`${quoted(agent)} is not in the squad of ${session.agent}.`)
      }
      const found = await agents.definitions.find(caller, agent, of.signal)
      const { family } = await agents.models.choose(session.workspaceId, found.definition.modelFamily)
      const isSamePlace = found.environment.id === session.environmentId
      const child = await mutate({ ...caller, idempotency: null }, (unit) =>
        startSession(unit, {
          workspaceId: session.workspaceId,
          environmentId: found.environment.id,
          agent,
          definition: found.definition,
          definitionCommit: found.commit,
          baseBranch: isSamePlace ? session.baseBranch : found.environment.defaultBranch,
          modelFamily: family,
          message: { text: withoutSecrets(of, String(input.message)), author: 'parent', name: session.agent },
          actor: session.actor,
          parent: { session, call: of.call },
          slack: null,
          healingRequestId: null,
        }),
      )
      return { kind: 'child', child, agent }
    },
  })

const notify = (): Tool =>
  serviceTool('notify_parent_session', {
    description: 'Sends a message to the session that called this one, which reads it at its next step.',
    input: {
      type: 'object',
      properties: { message: { type: 'string', minLength: 1, maxLength: LONGEST } },
      required: ['message'],
      additionalProperties: false,
    },
    run: async (of, input) => {
      const { session } = of
      if (session.parentId === null) return refused('Nobody called this session.')
      const { parentId, workspaceId } = session
      await mutate(once(of, input), async (unit) => {
        const place = await sessions.find(unit.db, workspaceId, parentId)
        const parent = place && (await sessions.lockTree(unit.db, workspaceId, place))
        if (parent === null || isOver(parent.status)) throw conflict('The session that called this one is over.')
        await events.appendLocked(unit.db, { workspaceId, sessionId: parentId }, [
          {
            kind: 'user_message',
            text: withoutSecrets(of, String(input.message)),
            author: 'child',
            name: `${session.agent} (session ${session.id})`,
          },
        ])
      })
      return said('The message was left for the session that called this one.')
    },
  })
