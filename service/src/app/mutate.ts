// The one way in which a use case changes something: one transaction that holds the change, its audit records and,
// where the caller sent an Idempotency-Key, the answer. The audit records come last, because they take the lock that
// all mutations share (store/audit.ts).
import type { Actor, WorkspaceRef } from '../domain/actor.ts'
import { actorScope } from '../domain/actor.ts'
import type { AuditEntry, EventType } from '../domain/audit.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { AppError, conflict } from '../domain/errors.ts'
import * as audit from '../store/audit.ts'
import type { Db } from '../store/database.ts'
import { inTransaction } from '../store/database.ts'
import * as idempotency from '../store/idempotency.ts'
import type { Queue } from '../store/queue.ts'
import type { AppSettings, Context } from './context.ts'

export interface Unit {
  readonly db: Db
  /** Jobs go out with the transaction: `queue.send(unit.db, …)`. */
  readonly queue: Queue
  readonly settings: AppSettings
  /**
   * Writes an audit record with this transaction; of the context's workspace, by the context's actor, unless another
   * is named. Somebody who signs in becomes an actor only inside the transaction.
   */
  record(event: EventType, metadata: Readonly<Record<string, unknown>>, at?: AuditPlace, actor?: Actor): void
}

export type AuditPlace = Pick<WorkspaceRef, 'id' | 'name'> | 'account'

type Answer = { readonly value: unknown } | { readonly refused: { readonly code: ErrorCode; readonly message: string } }

class Replayed extends Error {
  readonly answer: Answer
  constructor(answer: Answer) {
    super('replayed')
    this.answer = answer
  }
}

export async function mutate<T>(ctx: Context, work: (unit: Unit) => Promise<T>): Promise<T> {
  if (ctx.idempotency === null) return await transact(ctx, work)
  const { key, position } = ctx.idempotency
  const bodyHash = Buffer.from(ctx.idempotency.bodyHash, 'hex')
  const place = { scope: `${actorScope(ctx.actor)}@${ctx.workspace?.id ?? 0}`, key, position }
  const claim = async (tx: Db): Promise<void> => {
    const claimed = await idempotency.claim(tx, ctx.vault, place, bodyHash)
    if (claimed.kind === 'answered') throw new Replayed(claimed.answer as Answer)
    if (claimed.kind === 'other-body') {
      throw conflict('This Idempotency-Key was used with another request: send a new key with a new request.')
    }
  }
  try {
    return await transact(ctx, async (unit) => {
      await claim(unit.db)
      const value = await work(unit)
      await idempotency.answer(unit.db, ctx.vault, place, { value })
      return value
    })
  } catch (error) {
    if (error instanceof Replayed) return replay<T>(error.answer)
    // A refusal changed nothing, so it is remembered by itself: the same request gets the same answer.
    if (error instanceof AppError && error.code !== 'UNAVAILABLE') {
      const refused = { code: error.code, message: error.message }
      await inTransaction(ctx.db, async (tx) => {
        await claim(tx)
        await idempotency.answer(tx, ctx.vault, place, { refused })
      }).catch((other: unknown) => {
        if (!(other instanceof Replayed) && !(other instanceof AppError)) throw other
      })
    }
    throw error
  }
}

function replay<T>(answer: Answer): T {
  if ('refused' in answer) throw new AppError(answer.refused.code, answer.refused.message)
  return answer.value as T
}

async function transact<T>(ctx: Context, work: (unit: Unit) => Promise<T>): Promise<T> {
  return await inTransaction(ctx.db, async (tx) => {
    const entries: AuditEntry[] = []
    const record: Unit['record'] = (event, metadata, at, actor) => {
      entries.push(auditEntry(actor ?? ctx.actor, event, metadata, at ?? ctx.workspace ?? 'account'))
    }
    const value = await work({ db: tx, queue: ctx.queue, settings: ctx.settings, record })
    await audit.append(tx, ctx.vault, entries)
    return value
  })
}

export function auditEntry(
  actor: Actor,
  eventType: EventType,
  metadata: Readonly<Record<string, unknown>>,
  at: AuditPlace,
): AuditEntry {
  const place =
    at === 'account' ? { workspaceId: 0, workspaceName: '' } : { workspaceId: at.id, workspaceName: at.name }
  switch (actor.kind) {
    case 'person':
      return {
        ...place,
        actorType: 'user',
        actorUserId: actor.person.id,
        actorEmail: actor.person.email,
        eventType,
        metadata,
      }
    case 'key':
    case 'personal-key':
      return {
        ...place,
        actorType: 'api_key',
        actorUserId: actor.key.makerId ?? 0,
        actorEmail: actor.key.makerEmail,
        eventType,
        metadata: { ...metadata, api_key: { id: actor.key.id, name: actor.key.name } },
      }
    case 'system':
      return {
        ...place,
        actorType: 'system',
        actorUserId: 0,
        actorEmail: '',
        eventType,
        metadata: { ...metadata, by: actor.name },
      }
    case 'anonymous':
      return { ...place, actorType: 'system', actorUserId: 0, actorEmail: '', eventType, metadata }
  }
}
