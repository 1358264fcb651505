// The settings of agents: who works on their sessions, what a turn may use up, and where their commands run.
import { z } from 'zod'
import { meta, text, whole } from './leaf.ts'
import { commitEmailRule, commitNameRule, nameRule } from './rules.ts'

const SANDBOXES = ['auto', 'bubblewrap', 'namespaces', 'container', 'off'] as const

export const agents = z.strictObject({
  slots: whole(0, 256, 8, {
    env: 'YARDMASTER_AGENTS_SLOTS',
    description:
      'How many sessions of agents one worker works on at once; one that waits for a message or for another agent takes none. 0: none here.',
  }),
  steps: whole(1, 1000, 60, {
    env: 'YARDMASTER_AGENTS_STEPS',
    description: 'How often a model is asked in one turn of a session at most. A workspace can set less.',
  }),
  seconds: whole(10, 86_400, 3600, {
    env: 'YARDMASTER_AGENTS_SECONDS',
    description: 'How long one turn of a session takes at most. A workspace can set less.',
  }),
  tokens: whole(1000, 1_000_000_000, 2_000_000, {
    env: 'YARDMASTER_AGENTS_TOKENS',
    description:
      'How many tokens a session and the sessions that it started use at most together. A workspace can set less.',
  }),
  costCents: whole(1, 100_000_000, 2000, {
    env: 'YARDMASTER_AGENTS_COST_CENTS',
    description:
      'What a session and the sessions that it started cost at most together, in hundredths of a dollar, where the prices of the model are known. A workspace can set less.',
  }),
  sandbox: z
    .enum(SANDBOXES)
    .default('auto')
    .meta(
      meta({
        env: 'YARDMASTER_AGENTS_SANDBOX',
        description:
          'Where shell commands of agents run: `auto` is the first of bubblewrap, namespaces and container that works on this host. Where none does, and with `off`, agents have no shell; they never have one without a sandbox.',
        form: `one of ${SANDBOXES.join(', ')}`,
        example: 'bubblewrap',
      }),
    ),
  image: text(nameRule)
    .optional()
    .meta(
      meta({
        env: 'YARDMASTER_AGENTS_IMAGE',
        description: 'The image that shell commands of agents run in with `agents.sandbox` container.',
        form: 'the name of an image, with its tag or digest',
        example: 'docker.io/library/python:3.13',
        defaultText: '`commands.image`',
      }),
    ),
  commitName: text(commitNameRule)
    .default('Yardmaster agent')
    .meta(
      meta({
        env: 'YARDMASTER_AGENTS_COMMIT_NAME',
        description: 'The author of the commits of agents, unless the workspace names another.',
        form: 'a name without < and >',
        example: 'Data agents',
      }),
    ),
  commitEmail: text(commitEmailRule)
    .default('agent@yardmaster.invalid')
    .meta(
      meta({
        env: 'YARDMASTER_AGENTS_COMMIT_EMAIL',
        description: 'The mail address of that author.',
        form: 'a mail address',
        example: 'data-agents@example.com',
      }),
    ),
  shownChars: whole(1000, 200_000, 16_000, {
    env: 'YARDMASTER_AGENTS_SHOWN_CHARS',
    description: 'How much of the result of a tool a model is shown, in characters; the rest is kept beside it.',
  }),
  keptChars: whole(1000, 50_000_000, 1_000_000, {
    env: 'YARDMASTER_AGENTS_KEPT_CHARS',
    description: 'How much of the result of a tool is kept, in characters.',
  }),
})
