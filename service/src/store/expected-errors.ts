// The few errors of PostgreSQL that a caller can bring about and must be told of, as errors of ours. One place, because
// any statement can meet them; everything else that the server refuses is a fault of the service.
import type pg from 'pg'
import { AppError, invalidInput } from '../domain/errors.ts'

/** Ids on the wire are 32-bit integers. */
export const MAX_ID = 2 ** 31 - 1

export const idSpaceUsedUp = (table: string, cause?: unknown): AppError =>
  new AppError(
    'CONFLICT',
    `The id space of ${table} is used up: nothing can be added to it any more. Tell whoever runs this deployment.`,
    { cause },
  )

const SEQUENCE_AT_ITS_END = '2200H'
const NOT_A_CHARACTER = '22021'

export function expectedError(error: pg.DatabaseError): AppError | null {
  switch (error.code) {
    case SEQUENCE_AT_ITS_END:
      return idSpaceUsedUp(/"(.+?)(?:_id_seq)?"/.exec(error.message)?.[1] ?? 'a table', error)
    case NOT_A_CHARACTER:
      // Of all that a JavaScript text can hold, only this has no place in PostgreSQL's. The server's message quotes no
      // more than the byte.
      return invalidInput('A text holds a NUL character, which cannot be stored or looked for.')
    default:
      return null
  }
}
