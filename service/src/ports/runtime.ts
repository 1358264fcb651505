// What the service takes from the machine it runs on, so that tests can hold it still.

export interface Clock {
  now(): Date
}

/** The part of a structured logger that we use; fields first, then the sentence. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}
