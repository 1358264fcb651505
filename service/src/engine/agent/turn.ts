// The work on a session that this worker holds: one step after the other, each written down before the next begins.
//
//   1. The journal is read. 2. Calls without a result are answered, one after the other. 3. Otherwise, when nobody stopped
//   it and its budget is not used up, 4. the model is asked once and its answer is one record. 5. An answer without calls
//   is the end of the turn, in the same transaction; what was said meanwhile begins the next one.
//
// Everything is derived from the journal, so another worker goes on at any record. A call that began and has no result is
// in doubt: what becomes of it is a trait of its tool (domain/agent-tools.ts).
import { endTurn } from '../../app/agent-sessions.ts'
import type { App } from '../../app/context.ts'
import type { OverBudget } from '../../domain/agent-budget.ts'
import { budgetReason, overBudget } from '../../domain/agent-budget.ts'
import { fittingMessages, planCompaction, roomFor } from '../../domain/agent-compaction.ts'
import type { OpenCall } from '../../domain/agent-conversation.ts'
import { cutCalls, openCalls, shortened } from '../../domain/agent-conversation.ts'
import type { AgentEventBody, AgentSession, ToolCall } from '../../domain/agent-session.ts'
import type { ModelAnswer, ModelRequest } from '../../ports/model.ts'
import { ModelFault } from '../../ports/model.ts'
import * as events from '../../store/agent-events.ts'
import * as holds from '../../store/agent-hold.ts'
import * as sessions from '../../store/agent-sessions.ts'
import { askModel, usageOf } from './ask-model.ts'
import type { Kept } from './checkout.ts'
import { Halt, haltOf } from './halt.ts'
import { instructionsOf } from './instructions.ts'
import type { Journal } from './journal.ts'
import type { OpenedSession } from './open-session.ts'
import { TurnFault } from './open-session.ts'
import type { SessionTools, TurnPorts, TurnSettings } from './ports.ts'
import { decideCall, runTool, traitsFor } from './run-call.ts'
import type { ToolResult } from './tools/tool.ts'
import { type End, endOf, failedBy, STOPPED } from './turn-ends.ts'

export type TurnEnd =
  /** The turn is over. */
  | 'ended'
  /** For a child; in nobody's hands. */
  | 'waiting'
  /** In nobody's hands, for another worker to go on. */
  | 'released'
  /** Not ours any more. */
  | 'lost'

export interface TurnDeps {
  readonly ports: TurnPorts
  readonly settings: TurnSettings
  readonly hold: holds.AgentHold
  readonly journal: Journal
  /** Aborted with a Halt. */
  readonly signal: AbortSignal
  /** The process goes down: nothing is begun any more. */
  readonly isLeaving: () => boolean
  /** The next turn began. */
  onTurn(session: AgentSession): void
}

const MOST_CALLS = 50
const MOST_TEXT = 200_000
const KEEP_TRIES = 3

export class Turn {
  readonly #app: App
  readonly #deps: TurnDeps
  #opened!: OpenedSession
  readonly #journal: Journal
  #session: AgentSession

  constructor(app: App, deps: TurnDeps, session: AgentSession) {
    this.#app = app
    this.#deps = deps
    this.#journal = deps.journal
    this.#session = session
  }

  /** Until the turn is over, waits or has to be left. Rejects with what stopped it. */
  async run(opened: OpenedSession): Promise<TurnEnd> {
    this.#opened = opened
    for (;;) {
      const { turn } = this.#session
      this.#session = await this.#journal.look((db) => holds.readHeld(db, this.#deps.hold))
      if (this.#session.turn !== turn) this.#deps.onTurn(this.#session)
      await this.#journal.read()
      if (this.#session.stopRequestedAt !== null) throw new Halt('stopped')
      this.#deps.signal.throwIfAborted()
      if (this.#deps.isLeaving()) return await this.leave()
      const open = openCalls(this.#journal.events)
      if (open.length === 0) {
        if (await this.#step()) return 'ended'
      } else if (await this.#answer(open)) return 'waiting'
    }
  }

  async leave(): Promise<TurnEnd> {
    await this.#journal.hold((tx) => holds.release(tx, this.#deps.hold, { waiting: false }))
    return 'released'
  }

  /** The end of a turn that did not end by itself; every open call gets a result with it. */
  async end(final: End, before: readonly AgentEventBody[] = []): Promise<TurnEnd> {
    await this.#journal.transact(before[0] ?? { kind: 'status', ...final }, async (unit) => {
      // The locks of the tree come first, in the order that endTurn takes them in.
      await sessions.lockTree(unit.db, this.#session.workspaceId, this.#session)
      await this.#journal.append(unit, before)
      await endTurn(unit, this.#session, final)
    })
    return 'ended'
  }

  /** True: it waits for children. */
  async #answer(open: readonly OpenCall[]): Promise<boolean> {
    const stale = open.filter((one) => one.turn < this.#session.turn)
    if (stale.length > 0) {
      await this.#journal.write(cutCalls(stale))
      return false
    }
    for (const one of open) {
      if (one.child !== null && one.child.ended === null) continue
      if (one.child !== null) await this.#answerByChild(one, one.child)
      else await this.#call(one)
      this.#deps.signal.throwIfAborted()
      // The loop looks at everything else that may have come.
      if (this.#deps.isLeaving()) return false
    }
    await this.#journal.read()
    const left = openCalls(this.#journal.events)
    if (left.length === 0 || left.some((one) => one.child === null || one.child.ended !== null)) return false
    const seen = this.#journal.lastSeq
    return await this.#journal.hold((tx) => holds.release(tx, this.#deps.hold, { waiting: true, seen }))
  }

  async #answerByChild({ call }: OpenCall, child: NonNullable<OpenCall['child']>): Promise<void> {
    const { status } = child.ended!
    const said = (await this.#journal.look((db) => events.list(db, this.#session.workspaceId, child.id))).findLast(
      (event) => event.kind === 'assistant' && event.text.trim() !== '',
    )
    const text = said?.kind === 'assistant' ? said.text : ''
    const word = `Session ${child.id} of ${child.agent} ended as ${status.toUpperCase()}.`
    await this.#write(call, { kind: 'text', text: `${word}\n\n${text}`, isError: status !== 'completed' })
  }

  async #call(open: OpenCall): Promise<void> {
    const { call } = open
    const { caller, tools } = await this.#tools()
    const decision = decideCall(open, tools)
    if (decision.kind === 'answered') return await this.#write(call, decision.result)
    if (!open.started) await this.#journal.write([{ kind: 'tool_start', call: call.id, tool: call.tool }])
    const { session, checkout, secrets } = { ...this.#opened, session: this.#session }
    const context = { session, checkout, secrets, caller, call: call.id, key: `${session.id}:${call.id}` }
    const { signal, settings } = this.#deps
    const result = await runTool(decision, { ...context, signal }, { graceMs: settings.graceMs, log: this.#app.log })
    if (result.kind === 'child') {
      await this.#journal.write([{ kind: 'child_started', call: call.id, child: result.child, agent: result.agent }])
      return
    }
    await this.#write(call, result, traitsFor(call.tool).changesFiles === true)
  }

  /** The result of a call; the files as they are after it are part of the same transaction. */
  async #write(call: ToolCall, result: Extract<ToolResult, { kind: 'text' }>, changed = false): Promise<void> {
    const { hold, settings } = this.#deps
    const kept = changed ? await this.#keep() : null
    const notes = (kept?.notes ?? []).map((note) => `\n[${note}]`).join('')
    const text = this.#opened.clean.text(`${result.text}${notes}`).slice(0, settings.keptChars)
    const body = this.#toolEnd(call, { ...result, text })
    const old = this.#session.treeKey
    await this.#journal.write([body], async ({ db }) => {
      if (body.chars > body.text.length) {
        await events.saveOutput(db, { workspaceId: hold.workspaceId, sessionId: hold.sessionId, call: call.id }, text)
      }
      if (kept !== null) await holds.setFiles(db, hold, { treeKey: kept.key })
    })
    if (kept !== null && kept.key !== old) await this.#forget(old, kept.key)
  }

  /** Only now: until the row named the new key, a crash would have needed the old one. */
  async #forget(old: string, now: string): Promise<void> {
    this.#session = { ...this.#session, treeKey: now }
    await this.#opened.checkout
      .forget(old)
      .catch((error: unknown) => this.#app.log.warn({ err: error }, 'old files of a session were not removed'))
  }

  #toolEnd(call: ToolCall, { text, isError }: Extract<ToolResult, { kind: 'text' }>) {
    const shown = shortened(text, this.#deps.settings.shownChars)
    const { id, tool } = call
    return { kind: 'tool_end', call: id, tool, text: shown, chars: text.length, isError: isError === true } as const
  }

  async #keep(): Promise<Kept> {
    const { signal } = this.#deps
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      try {
        return await this.#opened.checkout.keep(signal)
      } catch (error) {
        signal.throwIfAborted()
        this.#app.log.warn({ err: error, session: this.#session.id }, 'files of a session were not kept')
        if (tries === KEEP_TRIES) throw new TurnFault('Its files could not be stored.', { cause: error })
      }
    }
  }

  async #tools(): Promise<SessionTools> {
    const found = await this.#deps.ports.toolsFor(this.#session, this.#deps.signal)
    if (found.caller.refusal !== null) throw new TurnFault(found.caller.refusal)
    return found
  }

  /** True: the turn is over. */
  async #step(): Promise<boolean> {
    const over = await this.overBudget()
    if (over !== null) {
      await this.end(failedBy(budgetReason(over)), [over])
      return true
    }
    const request = await this.#request((await this.#tools()).tools)
    const seen = this.#journal.lastSeq
    return await this.#record(await this.#ask(request), seen)
  }

  async overBudget(): Promise<OverBudget | null> {
    const { workspaceId, rootId, budget, startedAt, steps } = this.#session
    const use = await this.#journal.look((db) => sessions.readTreeUse(db, workspaceId, rootId))
    const seconds = startedAt === null ? 0 : (this.#app.clock.now().getTime() - startedAt.getTime()) / 1000
    return overBudget(budget, { steps, seconds, ...use })
  }

  async #request(tools: SessionTools['tools']): Promise<ModelRequest> {
    const { model, rules, clean } = this.#opened
    const declared = tools.map(({ name, description, input }) => ({ name, description, input }))
    const instructions = clean.text(instructionsOf(this.#session, { rules, tools: declared.map((one) => one.name) }))
    const room = roomFor(model.contextTokens, instructions.length + JSON.stringify(declared).length)
    const plan = planCompaction(this.#journal.events, room)
    if (plan !== null) await this.#journal.write([{ kind: 'compaction', ...plan }])
    return {
      agent: this.#session.agent,
      instructions,
      messages: fittingMessages(this.#journal.events, room),
      tools: declared,
    }
  }

  async #ask(request: ModelRequest): Promise<ModelAnswer> {
    const { signal, settings } = this.#deps
    try {
      return await askModel(this.#opened.model, request, { signal, pausesMs: settings.pausesMs, log: this.#app.log })
    } catch (error) {
      signal.throwIfAborted()
      const why = error instanceof ModelFault ? this.#opened.clean.text(error.message) : 'the service failed to ask it.'
      if (!(error instanceof ModelFault)) this.#app.log.error({ err: error }, 'asking a model failed')
      throw new TurnFault(`Its model did not answer: ${why}`, { cause: error })
    }
  }

  /** One record; with it the end of the turn, where it is one. True: the turn is over. */
  async #record(answer: ModelAnswer, seen: number): Promise<boolean> {
    const { clean, model } = this.#opened
    const made = this.#journal.events.reduce((sum, one) => sum + (one.kind === 'assistant' ? one.calls.length : 0), 0)
    const calls = answer.calls.slice(0, MOST_CALLS).map(({ tool, input, broken }, at) => ({
      id: `call_${made + at + 1}`,
      tool: clean.text(tool).slice(0, 200),
      input: broken === undefined ? clean.json(input) : null,
      ...(broken !== undefined && { broken: clean.text(broken).slice(0, MOST_TEXT) }),
    }))
    const text = shortened(clean.text(answer.text), MOST_TEXT)
    const body = { kind: 'assistant', text, calls, usage: usageOf(model, answer), model: model.name, seen } as const
    const final = calls.length > 0 ? null : endOf(answer, this.#journal.events)
    let isOver = false
    await this.#journal.transact(body, async (unit) => {
      if (final !== null) await sessions.lockTree(unit.db, this.#session.workspaceId, this.#session)
      await this.#journal.append(unit, [body])
      // What was said while the model wrote begins the next turn.
      if (final !== null) isOver = (await endTurn(unit, this.#session, final)) === 'ended'
    })
    return isOver
  }
}

/** What became of a turn whose work was given up for this reason. */
export async function settle(turn: Turn, error: unknown, signal: AbortSignal): Promise<TurnEnd> {
  if (error instanceof holds.LostSession) return 'lost'
  const halt = error instanceof Halt ? error.kind : haltOf(signal)
  switch (halt) {
    case 'lost':
    case 'fenced':
      return 'lost'
    case 'leaving':
      return await turn.leave()
    case 'stopped':
      return await turn.end(STOPPED)
    case 'seconds': {
      const over = await turn.overBudget()
      return await turn.end(failedBy(over === null ? 'Its time was over.' : budgetReason(over)), over ? [over] : [])
    }
    case null:
      return await turn.end(
        failedBy(error instanceof TurnFault ? error.message : 'The service failed; the log of its worker says why.'),
      )
  }
}
