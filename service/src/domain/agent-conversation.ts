// What a model is given of a session: its journal as messages. Pure, so that the same journal gives the same question on
// any worker.
//
// The journal is read as exchanges: what was said to the agent, or one answer of it together with the results of all its
// calls. An exchange is shown whole or not at all, so that a call never stands without its result. What is said while
// calls are under way follows after their results.
import type { AgentEvent, AgentEventBody, MessageAuthor, ToolCall } from './agent-session.ts'

/** As ports/model.ts takes them. */
export type ConversationMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly results: readonly ConversationResult[] }

export interface ConversationResult {
  readonly call: string
  readonly tool: string
  readonly text: string
  readonly isError: boolean
}

/** What of a result is shown, to the model and in the transcript; the whole is kept beside it. */
export const SHOWN_CHARS = 16_000

type Of<Kind extends AgentEvent['kind']> = Extract<AgentEvent, { readonly kind: Kind }>

export type Exchange =
  | { readonly kind: 'said'; readonly events: readonly Of<'user_message'>[] }
  | { readonly kind: 'answered'; readonly answer: Of<'assistant'>; readonly results: readonly Of<'tool_end'>[] }

/** A call that has no result yet. */
export interface OpenCall {
  readonly call: ToolCall
  readonly turn: number
  /** It began, and whether it took effect is not known. */
  readonly started: boolean
  /** The session that it started, and how that one ended; null while it goes. */
  readonly child: { readonly id: string; readonly agent: string; readonly ended: Of<'child_result'> | null } | null
}

/** In the order in which the model made them. */
export function openCalls(events: readonly AgentEvent[]): OpenCall[] {
  const ended = new Set<string>()
  const started = new Set<string>()
  const children = new Map<string, Of<'child_started'>>()
  const results = new Map<string, Of<'child_result'>>()
  for (const event of events) {
    if (event.kind === 'tool_end') ended.add(event.call)
    else if (event.kind === 'tool_start') started.add(event.call)
    else if (event.kind === 'child_started') children.set(event.call, event)
    else if (event.kind === 'child_result') results.set(event.call, event)
  }
  return events.flatMap((event) =>
    event.kind !== 'assistant'
      ? []
      : event.calls
          .filter((call) => !ended.has(call.id))
          .map((call) => {
            const child = children.get(call.id)
            return {
              call,
              turn: event.turn,
              started: started.has(call.id),
              child:
                child === undefined
                  ? null
                  : { id: child.child, agent: child.agent, ended: results.get(call.id) ?? null },
            }
          }),
  )
}

/** Whether somebody said something that the model was not given yet. */
export function hasNewMessages(events: readonly AgentEvent[]): boolean {
  const answer = events.findLast((event): event is Of<'assistant'> => event.kind === 'assistant' && event.model !== '')
  const seen = answer === undefined ? 0 : (answer.seen ?? answer.seq)
  return events.some((event) => event.kind === 'user_message' && event.seq > seen)
}

/** All of the journal, or what follows its last compaction. An answer whose calls are open is left out with them. */
export function exchangesOf(events: readonly AgentEvent[]): Exchange[] {
  const from = lastCompaction(events)?.upTo ?? 0
  const ends = new Map(events.flatMap((event) => (event.kind === 'tool_end' ? [[event.call, event] as const] : [])))
  const exchanges: Exchange[] = []
  /** What was said while the model wrote its answer: it follows the answer. */
  let unseen: Exchange[] = []
  for (const [at, event] of events.entries()) {
    if (event.seq <= from) continue
    if (event.kind === 'user_message') {
      const said: Exchange = { kind: 'said', events: [event] }
      if (isUnseenBy(nextAnswer(events, at), event)) unseen.push(said)
      else exchanges.push(said)
    }
    if (event.kind !== 'assistant') continue
    const results = event.calls.flatMap((call) => ends.get(call.id) ?? [])
    const isEmpty = event.text.trim() === '' && event.calls.length === 0
    if (!isEmpty && results.length === event.calls.length) exchanges.push({ kind: 'answered', answer: event, results })
    exchanges.push(...unseen)
    unseen = []
  }
  return [...exchanges, ...unseen]
}

const nextAnswer = (events: readonly AgentEvent[], after: number): Of<'assistant'> | undefined => {
  for (let at = after + 1; at < events.length; at++) {
    const event = events[at]!
    if (event.kind === 'assistant') return event
  }
  return undefined
}

const isUnseenBy = (answer: Of<'assistant'> | undefined, message: AgentEvent): boolean =>
  answer?.seen !== undefined && message.seq > answer.seen

export const lastCompaction = (events: readonly AgentEvent[]): Of<'compaction'> | null =>
  events.findLast((event) => event.kind === 'compaction') ?? null

/** What the model is asked with. A result is shown up to `shownChars`. */
export function messagesOf(events: readonly AgentEvent[], shownChars = SHOWN_CHARS): ConversationMessage[] {
  const compaction = lastCompaction(events)
  const messages: ConversationMessage[] = []
  if (compaction !== null) messages.push({ role: 'user', text: compaction.text })
  for (const exchange of exchangesOf(events)) addExchange(messages, exchange, shownChars)
  return messages
}

function addExchange(messages: ConversationMessage[], exchange: Exchange, shownChars: number): void {
  if (exchange.kind === 'said') {
    const text = exchange.events.map(saidBy).join('\n\n')
    const last = messages.at(-1)
    // Some providers take no two messages of the same side in a row.
    if (last?.role === 'user') messages[messages.length - 1] = { role: 'user', text: `${last.text}\n\n${text}` }
    else messages.push({ role: 'user', text })
    return
  }
  const { answer, results } = exchange
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.calls.length === 0 && answer.calls.length === 0) {
    messages[messages.length - 1] = { role: 'assistant', text: `${last.text}\n\n${answer.text}`, calls: [] }
    return
  }
  messages.push({ role: 'assistant', text: answer.text, calls: answer.calls })
  if (results.length === 0) return
  messages.push({
    role: 'tool',
    results: results.map(({ call, tool, text, isError }) => ({
      call,
      tool,
      text: shortened(text, shownChars),
      isError,
    })),
  })
}

const AUTHOR_WORDS: Readonly<Record<MessageAuthor, (name: string) => string>> = {
  user: () => '',
  slack: (name) => `[${name === '' ? 'somebody' : name}, in Slack]\n`,
  parent: (name) => `[${name}, the agent that called you]\n`,
  child: (name) => `[${name}, an agent that you called]\n`,
  service: () => '[Yardmaster]\n',
}

const saidBy = ({ author, name, text }: Of<'user_message'>): string => `${AUTHOR_WORDS[author](name)}${text}`

/** The beginning and the end, where the most telling lines of logs are, with a word about what lies between. */
export function shortened(text: string, chars: number): string {
  if (text.length <= chars) return text
  const word = (left: number): string => `\n[… ${left} of ${text.length} characters are left out here …]\n`
  const room = Math.max(0, chars - word(text.length).length)
  const head = Math.ceil(room * 0.6)
  const tail = room - head
  const between = word(text.length - room)
  return `${text.slice(0, head).toWellFormed()}${between}${text.slice(text.length - tail).toWellFormed()}`
}

const CUT_SHORT = 'This call was cut short, because its turn ended. It may have taken effect.'
const NEVER_RAN = 'This call was not run, because its turn ended.'

/** The results of calls that nobody will run any more, so that each call has one. */
export function cutCalls(open: readonly OpenCall[]): Extract<AgentEventBody, { readonly kind: 'tool_end' }>[] {
  return open.map(({ call, started }) => {
    const text = started ? CUT_SHORT : NEVER_RAN
    return { kind: 'tool_end', call: call.id, tool: call.tool, text, chars: text.length, isError: true }
  })
}
