// What is shown of a session, all of it read from its journal: the messages, the steps with their tools, what happened
// before the first question to the model, the sessions that it called. Times are microseconds of the epoch.
import type { AgentEvent, Usage } from './agent-session.ts'

export interface AgentMessage {
  /** Unique within the session, increasing, the same on every read. */
  readonly ts: number
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** A record, as far as messages need it. */
interface Said {
  readonly kind: string
  readonly ts: number
  readonly text?: string
}

/** No empty one, and none twice in a row. */
export function messagesOf(events: readonly Said[]): AgentMessage[] {
  const messages: AgentMessage[] = []
  for (const { kind, ts, text = '' } of events) {
    if ((kind !== 'user_message' && kind !== 'assistant') || text.trim() === '') continue
    const role = kind === 'assistant' ? 'assistant' : 'user'
    const last = messages.at(-1)
    if (last?.role !== role || last.content !== text) messages.push({ ts, role, content: text })
  }
  return messages
}

/** What the agent said last; empty when it said nothing yet. */
export const lastWordsOf = (events: readonly AgentEvent[]): string =>
  messagesOf(events).findLast((one) => one.role === 'assistant')?.content ?? ''

/** In the order in which they were called. */
export const childrenOf = (events: readonly AgentEvent[]): string[] => [
  ...new Set(events.flatMap((event) => (event.kind === 'child_started' ? [event.child] : []))),
]

/** Of all turns. Where a provider did not say, nothing is counted. */
export function usageOf(events: readonly AgentEvent[]): Usage {
  const total = { tokensIn: 0, tokensOut: 0, tokensCached: 0, costMicrodollars: 0 }
  for (const event of events) {
    if (event.kind !== 'assistant' || event.usage === null) continue
    for (const field of Object.keys(total) as (keyof Usage)[]) total[field] += event.usage[field]
  }
  return total
}

export type AgentStepKind = 'message' | 'model' | 'tool' | 'child' | 'status' | 'budget' | 'compaction' | 'note'

export interface AgentStep {
  /** The number of its first record. */
  readonly id: number
  /** Of its latest record: a tool that was running comes again, under the same id, when it has ended. */
  readonly seq: number
  readonly ts: number
  readonly endTs: number | null
  readonly turn: number
  readonly kind: AgentStepKind
  readonly title: string
  readonly text: string
  readonly tool: string
  readonly call: string
  /** JSON; empty unless asked for. */
  readonly input: string
  readonly output: string
  /** Of the whole output, which may be longer than what is shown. */
  readonly outputChars: number
  readonly isRunning: boolean
  readonly isError: boolean
  readonly childSessionId: string | null
  readonly model: string
  readonly usage: Usage | null
}

export interface StepsWanted {
  /** Only steps with a record after this one. */
  readonly after: number
  readonly includeToolIo: boolean
  /** Of each input and output; null: as it stands in the journal. */
  readonly maxChars: number | null
}

/** In the order in which they began. Notes of the start are in `startupStepsOf`. */
export function stepsOf(events: readonly AgentEvent[], wanted: StepsWanted): AgentStep[] {
  const steps = new Map<string, AgentStep>()
  const inputs = new Map<string, string>()
  const shown = (text: string): string => (wanted.includeToolIo ? shortened(text, wanted.maxChars) : '')
  const isGoing = isTurnGoing(events)
  for (const event of events) {
    const key = keyOf(event)
    const before = steps.get(key)
    const step = { ...before, ...(before ?? begin(event)), seq: event.seq }
    switch (event.kind) {
      case 'user_message':
        steps.set(key, {
          ...step,
          kind: 'message',
          title: `Message of ${event.name || event.author}`,
          text: event.text,
        })
        break
      case 'assistant': {
        for (const { id, input, broken } of event.calls) inputs.set(id, broken ?? JSON.stringify(input))
        const { text, model, usage } = event
        if (text.trim() === '' && event.calls.length === 0) break
        steps.set(key, { ...step, kind: 'model', title: model === '' ? 'Last words' : 'Answer', text, model, usage })
        break
      }
      case 'tool_start': {
        const { tool, call } = event
        const input = shown(inputs.get(call) ?? '')
        // A turn that ended took its tools with it.
        steps.set(key, {
          ...step,
          kind: 'tool',
          title: tool,
          tool,
          call,
          input,
          endTs: null,
          isRunning: isGoing(event),
        })
        break
      }
      case 'tool_end': {
        const { tool, call, text, chars, isError } = event
        const io = { input: shown(inputs.get(call) ?? ''), output: shown(text), outputChars: chars }
        const ended = { endTs: event.ts, isRunning: false, isError }
        steps.set(key, { ...step, kind: 'tool', title: tool, tool, call, ...io, ...ended })
        break
      }
      case 'child_started': {
        const { call, child, agent } = event
        const child_ = { call, childSessionId: child, endTs: null, isRunning: isGoing(event) }
        steps.set(key, { ...step, kind: 'child', title: `Agent ${agent}`, ...child_ })
        break
      }
      case 'child_result': {
        const { call, child, status } = event
        const ended = { endTs: event.ts, isRunning: false, isError: status !== 'completed' }
        const title = before?.title ?? 'Agent'
        steps.set(key, { ...step, kind: 'child', title, call, childSessionId: child, text: status, ...ended })
        break
      }
      case 'status':
        steps.set(key, { ...step, kind: 'status', title: event.status, text: event.reason })
        break
      case 'budget': {
        const text = `${event.used} of ${event.limit}`
        steps.set(key, { ...step, kind: 'budget', title: `Budget of ${event.what} is used up`, text })
        break
      }
      case 'compaction':
        steps.set(key, { ...step, kind: 'compaction', title: 'What came before was summed up', text: event.text })
        break
      case 'note':
        if (!event.startup) steps.set(key, { ...step, kind: 'note', title: 'Note', text: event.text })
        break
    }
  }
  return [...steps.values()].filter((step) => step.seq > wanted.after)
}

/** What was done before the model was first asked: checkout, definition, model, sandbox. */
export const startupStepsOf = (events: readonly AgentEvent[]): AgentStep[] =>
  events.flatMap((event) =>
    event.kind === 'note' && event.startup ? [{ ...begin(event), title: 'Start', text: event.text }] : [],
  )

/** A call and the child that it started are two steps; everything else is one record each. */
function keyOf(event: AgentEvent): string {
  if (event.kind === 'tool_start' || event.kind === 'tool_end') return `tool ${event.call}`
  if (event.kind === 'child_started' || event.kind === 'child_result') return `child ${event.call}`
  return String(event.seq)
}

/** Whether the turn of a record has not ended. */
function isTurnGoing(events: readonly AgentEvent[]): (event: AgentEvent) => boolean {
  const last = events.findLast((event) => event.kind === 'status')
  const isOver = last?.kind === 'status' && last.status !== 'queued' && last.status !== 'running'
  return (event) => !isOver && event.turn === events.at(-1)?.turn
}

const begin = (event: AgentEvent): AgentStep => ({
  id: event.seq,
  seq: event.seq,
  ts: event.ts,
  endTs: event.ts,
  turn: event.turn,
  kind: 'note',
  title: '',
  text: '',
  tool: '',
  call: '',
  input: '',
  output: '',
  outputChars: 0,
  isRunning: false,
  isError: false,
  childSessionId: null,
  model: '',
  usage: null,
})

const shortened = (text: string, most: number | null): string =>
  most === null || text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
