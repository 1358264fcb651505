import { checkQuery, LONGEST_QUERY } from '../../../domain/agent-sql.ts'
import type { QueryRunner } from '../query-runner.ts'
import { numberOf, serviceTool } from './rights.ts'
import type { Tool } from './tool.ts'
import { refused, said } from './tool.ts'

const SOME_ROWS = 100
const MOST_ROWS = 1000
const SECONDS = 120
const MOST_CHARACTERS = 60_000

/** @param queries null where this host executes no runs: then there is no such tool */
export const sqlTools = (queries: QueryRunner | null): Tool[] =>
  queries === null
    ? []
    : [
        serviceTool('run_sql_query', {
          description:
            "Runs one SELECT at the warehouse with `dbt show`, on the project as it is at the session's base commit: {{ ref('…') }} and {{ source('…', '…') }} are known. No comments, no other templates, nothing that changes data.",
          input: {
            type: 'object',
            properties: {
              query: { type: 'string', minLength: 1, maxLength: LONGEST_QUERY },
              limit: {
                type: 'integer',
                minimum: 1,
                maximum: MOST_ROWS,
                description: `Rows, ${SOME_ROWS} unless said.`,
              },
            },
            required: ['query'],
            additionalProperties: false,
          },
          run: async (of, input) => {
            const checked = checkQuery(String(input.query))
            if ('refused' in checked) return refused(checked.refused)
            const rows = Math.min(numberOf(input, 'limit') ?? SOME_ROWS, MOST_ROWS)
            const { kind, text } = await queries.run(
              of.session,
              { sql: checked.sql, rows, seconds: SECONDS },
              of.signal,
            )
            const shown =
              text.length <= MOST_CHARACTERS
                ? text
                : `${text.slice(0, MOST_CHARACTERS)}\n(${text.length - MOST_CHARACTERS} characters more were left out: ask for fewer rows or columns)`
            return kind === 'rows' ? said(shown) : refused(shown)
          },
        }),
      ]
