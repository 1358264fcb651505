import { listSchedules } from '../../../app/schedules.ts'
import { numberOf, serviceTool, textOf } from './rights.ts'
import type { Tool } from './tool.ts'
import { said } from './tool.ts'

const SOME = 50
const MOST = 200

export const scheduleTools = (): Tool[] => [
  serviceTool('list_bolt_schedules', {
    description:
      'Lists the schedules of the workspace: slug, name, when they run, their commands, branch and whether they are suspended.',
    input: {
      type: 'object',
      properties: {
        search: { type: 'string', maxLength: 200, description: 'Only those whose name holds this text.' },
        offset: { type: 'integer', minimum: 0 },
        limit: { type: 'integer', minimum: 1, maximum: MOST },
      },
      required: [],
      additionalProperties: false,
    },
    run: async (of, input) => {
      const search = textOf(input, 'search')?.toLowerCase() ?? ''
      const { schedules } = await listSchedules(of.caller, {
        inactive: 'exclude',
        suspended: null,
        offset: 0,
        limit: 10_000,
      })
      const found = schedules.filter(
        (one) => one.name.toLowerCase().includes(search) || one.slug.toLowerCase().includes(search),
      )
      const offset = numberOf(input, 'offset') ?? 0
      const page = found.slice(offset, offset + (numberOf(input, 'limit') ?? SOME))
      if (page.length === 0) return said('There are no such schedules.')
      const lines = page.map((one) =>
        JSON.stringify({
          slug: one.slug,
          name: one.name,
          schedule: one.cron,
          timezone: one.timezone,
          branch: one.gitBranch,
          suspended: one.suspended,
          last_run:
            one.latestRunId === null ? null : { run_id: one.latestRunId, state: one.lastRunState, at: one.lastRunAt },
          commands: one.commands.map((each) => each.command),
        }),
      )
      return said(`${found.length} schedules, shown from ${offset + 1} on:\n${lines.join('\n')}`)
    },
  }),
]
