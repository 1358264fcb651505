// What the work on a session stands on: its files, its model, its secrets (to take them out of texts), its rules.
import type { App } from '../../app/context.ts'
import type { AgentEventBody, AgentSession } from '../../domain/agent-session.ts'
import { AppError } from '../../domain/errors.ts'
import type { Model } from '../../ports/model.ts'
import { ModelFault } from '../../ports/model.ts'
import { SourceFault } from '../../ports/source.ts'
import * as holds from '../../store/agent-hold.ts'
import * as facts from '../../store/run-facts.ts'
import type { OpenedCheckout } from './checkout.ts'
import { type Cleaner, cleanerOf } from './clean.ts'
import { type RuleFile, readRules } from './instructions.ts'
import type { Journal } from './journal.ts'
import type { TurnPorts } from './ports.ts'

/** Why a turn fails, in a sentence for people. */
export class TurnFault extends Error {
  override readonly name = 'TurnFault'
}

export interface OpenedSession {
  readonly session: AgentSession
  readonly checkout: OpenedCheckout
  readonly model: Model
  readonly rules: readonly RuleFile[]
  readonly secrets: readonly string[]
  readonly clean: Cleaner
}

export async function openSession(
  app: App,
  ports: TurnPorts,
  of: {
    readonly session: AgentSession
    readonly hold: holds.AgentHold
    readonly journal: Journal
    readonly signal: AbortSignal
  },
): Promise<OpenedSession> {
  const { session, hold, journal, signal } = of
  const { secrets } = await journal.hold((db) => facts.openValues(db, app.vault, session))
  const clean = cleanerOf(secrets)
  const model = await openModel(app, ports, session, signal)
  const checkout = await openFiles(app, ports, of, clean)
  try {
    const { baseCommit, branch } = checkout
    const notes = journal.events.some((event) => event.kind === 'note' && event.startup)
      ? []
      : [
          startup(
            `Agent ${session.agent}${session.definitionCommit && ` as of ${session.definitionCommit.slice(0, 12)}`}`,
          ),
          startup(`Model ${model.name}`),
          startup(`Checkout of ${session.baseBranch} at ${baseCommit.slice(0, 12)}`),
        ]
    if (session.baseCommit !== baseCommit || session.branch !== branch) {
      await journal.hold((tx) => holds.setFiles(tx, hold, { baseCommit, branch }))
    }
    if (notes.length > 0) await journal.write(notes)
    const rules = await readRules(checkout.folder)
    return { session: { ...session, baseCommit, branch }, checkout, model, rules, secrets, clean }
  } catch (error) {
    await checkout.drop()
    throw error
  }
}

const startup = (text: string): AgentEventBody => ({ kind: 'note', text, startup: true })

async function openModel(app: App, { models }: TurnPorts, session: AgentSession, signal: AbortSignal): Promise<Model> {
  try {
    return await models.open(session.workspaceId, session.modelFamily)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError || error instanceof ModelFault) throw new TurnFault(error.message, { cause: error })
    app.log.error({ err: error, session: session.id }, 'a model could not be opened')
    throw new TurnFault(`Its model ${session.modelFamily} could not be opened.`, { cause: error })
  }
}

async function openFiles(
  app: App,
  ports: TurnPorts,
  { session, signal }: { readonly session: AgentSession; readonly signal: AbortSignal },
  clean: Cleaner,
): Promise<OpenedCheckout> {
  try {
    return await ports.openCheckout(session, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SourceFault || error instanceof AppError) {
      throw new TurnFault(`Its checkout failed: ${clean.text(error.message)}`, { cause: error })
    }
    app.log.error({ err: error, session: session.id }, 'the checkout of a session failed')
    throw new TurnFault('Its checkout failed; the log of its worker says why.', { cause: error })
  }
}
