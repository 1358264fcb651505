// Why the work on a session stops before its turn is over; the reason of its abort signal.
export type HaltKind =
  /** Somebody asked for it: the turn ends. */
  | 'stopped'
  /** The time of the turn is over. */
  | 'seconds'
  /** The session ended, or is held by another worker: nothing is written any more. */
  | 'lost'
  /** The lease could not be renewed in time: somebody else may take the session, so nothing is done any more. */
  | 'fenced'
  /** The process goes down and cannot wait any longer: another worker goes on. */
  | 'leaving'

export class Halt extends Error {
  override readonly name = 'Halt'
  readonly kind: HaltKind
  constructor(kind: HaltKind) {
    super(`the work on the session was stopped: ${kind}`)
    this.kind = kind
  }
}

export const haltOf = (signal: AbortSignal): HaltKind | null =>
  signal.aborted ? (signal.reason instanceof Halt ? signal.reason.kind : 'leaving') : null
