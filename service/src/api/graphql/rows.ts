// How many rows a document asks for: the sum of its `limit` arguments, counted before anything is read. Every field that
// pages has an Int argument of that name.
import type { FieldNode } from 'graphql'
import { Kind } from 'graphql'
import { AppError } from '../../domain/errors.ts'

export const MOST_ROWS = 10_000

/** What a field gives when it is asked for no limit; one that is not named here gives few rows. */
const ROWS_WITHOUT_LIMIT: Readonly<Record<string, number>> = {
  getAuditLogs: 10_000,
  boltRunPage: 100,
  searchCommandLog: 100,
}

/** One `limit` of a document: a number that is written there, or the variable that will hold it. */
export type RowDemand =
  | { readonly kind: 'fixed'; readonly rows: number }
  | { readonly kind: 'variable'; readonly name: string; readonly otherwise: number }

/** Null for a field that does not page. */
export function rowDemandOf(field: FieldNode): RowDemand | null {
  const otherwise = Object.hasOwn(ROWS_WITHOUT_LIMIT, field.name.value) ? ROWS_WITHOUT_LIMIT[field.name.value]! : 0
  const value = field.arguments?.find((argument) => argument.name.value === 'limit')?.value
  if (value?.kind === Kind.VARIABLE) return { kind: 'variable', name: value.name.value, otherwise }
  const rows = value?.kind === Kind.INT ? Number(value.value) : otherwise
  return rows > 0 ? { kind: 'fixed', rows } : null
}

/** The rows asked for with these (coerced) variables; throws INVALID_INPUT past the limit. */
export function countRows(demands: readonly RowDemand[], variables: Readonly<Record<string, unknown>>): number {
  let rows = 0
  for (const demand of demands) rows += Math.max(0, rowsOf(demand, variables))
  if (rows > MOST_ROWS) {
    throw new AppError(
      'INVALID_INPUT',
      `The document asks for up to ${rows} rows, more than ${MOST_ROWS}: give each field a smaller limit, or ask for less at once.`,
    )
  }
  return rows
}

function rowsOf(demand: RowDemand, variables: Readonly<Record<string, unknown>>): number {
  if (demand.kind === 'fixed') return demand.rows
  const value = variables[demand.name]
  // Null means "not given".
  return typeof value === 'number' ? value : demand.otherwise
}
