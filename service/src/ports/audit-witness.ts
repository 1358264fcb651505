// Keeps heads of the audit chain outside the database, so that cutting off the newest rows is found. `append` is
// durable when it resolves; `read` gives every head that was kept, oldest first.

export interface WitnessedHead {
  readonly id: number
  readonly mac: Buffer
  /** Where and when it was seen, for the report of a fault. */
  readonly where: string
}

export interface AuditWitness {
  append(head: { readonly id: number; readonly mac: Buffer }): Promise<void>
  read(): Promise<WitnessedHead[]>
}
