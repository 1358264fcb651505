// Keeps what a model is asked with inside of what it can read. When the journal grows beyond it, a record of the journal
// says what stands for its older part: who asked for what, what the agent said, and one line for each call. It is made
// without a model, so the same journal gives the same text, and it costs nothing.
import type { ConversationMessage, Exchange } from './agent-conversation.ts'
import { exchangesOf, lastCompaction, messagesOf, SHOWN_CHARS, shortened } from './agent-conversation.ts'
import type { AgentEvent } from './agent-session.ts'

/** Low for English, right for code and logs; the rest of the window is for what the model writes. */
const CHARS_PER_TOKEN = 3
const SHARE_OF_WINDOW = 0.75
/** Of the room for messages: what is kept as it is, and what may stand for the rest. */
const KEPT_SHARE = 0.5
const SUMMARY_SHARE = 0.2
const LEAST_CHARS = 6000
const LEAST_SHOWN = 400

/** How many characters of messages fit beside the instructions and the tools. */
export function roomFor(contextTokens: number, fixedChars: number): number {
  return Math.max(LEAST_CHARS, Math.floor(contextTokens * SHARE_OF_WINDOW * CHARS_PER_TOKEN) - fixedChars)
}

export function charsOf(messages: readonly ConversationMessage[]): number {
  let chars = 0
  for (const message of messages) {
    if (message.role === 'tool') for (const result of message.results) chars += result.text.length + 40
    else chars += message.text.length + 20
    if (message.role === 'assistant') {
      for (const call of message.calls) chars += (call.broken ?? JSON.stringify(call.input) ?? '').length + 40
    }
  }
  return chars
}

/** Null: it fits, or there is nothing that could be left out. */
export function planCompaction(
  events: readonly AgentEvent[],
  room: number,
): { readonly upTo: number; readonly text: string } | null {
  if (charsOf(messagesOf(events)) <= room) return null
  const exchanges = exchangesOf(events)
  const cut = cutOf(exchanges, room * KEPT_SHARE)
  if (cut === 0) return null
  const gone = exchanges.slice(0, cut)
  const upTo = Math.max(...gone.flatMap(seqsOf))
  return { upTo, text: textOf(lastCompaction(events)?.text ?? '', gone, Math.floor(room * SUMMARY_SHARE)) }
}

/** What the model is asked with where even the latest exchanges are too long: results are shown shorter. */
export function fittingMessages(events: readonly AgentEvent[], room: number): ConversationMessage[] {
  for (let shown = SHOWN_CHARS; ; shown /= 2) {
    const messages = messagesOf(events, Math.floor(shown))
    if (charsOf(messages) <= room || shown <= LEAST_SHOWN) return messages
  }
}

/**
 * How many exchanges go: as many as must, so that the rest is small enough, and the last one never. A record of the
 * journal is cut by its number, so no record of what stays may have a lower one than the last of what goes: a message
 * that came while calls were under way stays with them.
 */
function cutOf(exchanges: readonly Exchange[], kept: number): number {
  let chars = 0
  let cut = exchanges.length
  while (cut > 0) {
    chars += charsOfExchange(exchanges[cut - 1]!)
    if (chars > kept && cut < exchanges.length) break
    cut--
  }
  const isClean = (at: number): boolean => {
    const last = Math.max(...exchanges.slice(0, at).flatMap(seqsOf))
    return exchanges.slice(at).every((one) => Math.min(...seqsOf(one)) > last)
  }
  while (cut > 0 && !isClean(cut)) cut--
  return cut
}

const seqsOf = (exchange: Exchange): number[] =>
  exchange.kind === 'said'
    ? exchange.events.map((one) => one.seq)
    : [exchange.answer.seq, ...exchange.results.map((one) => one.seq)]

function charsOfExchange(exchange: Exchange): number {
  if (exchange.kind === 'said') return exchange.events.reduce((sum, one) => sum + one.text.length + 20, 0)
  const { answer, results } = exchange
  const said = charsOf([{ role: 'assistant', text: answer.text, calls: answer.calls }])
  return results.reduce((sum, one) => sum + Math.min(one.text.length, SHOWN_CHARS) + 40, said)
}

const OPENING =
  '[Yardmaster: the earlier part of this session is left out because it is too long to read again. It went like this.]'

function textOf(before: string, gone: readonly Exchange[], chars: number): string {
  const lines = gone.flatMap(linesOf)
  const known = before.startsWith(OPENING) ? before.slice(OPENING.length + 1) : before
  const all = [known, ...lines].filter((line) => line !== '').join('\n')
  // The beginning says what was asked for, the end what was done last.
  return `${OPENING}\n${shortened(all, Math.max(1000, chars))}`
}

function linesOf(exchange: Exchange): string[] {
  if (exchange.kind === 'said') return exchange.events.map((one) => `${one.author} said: ${shortened(one.text, 2000)}`)
  const { answer, results } = exchange
  const said = answer.text === '' ? [] : [`you said: ${shortened(answer.text, 600)}`]
  const called = answer.calls.map((call) => {
    const result = results.find((one) => one.call === call.id)
    const input = shortened(call.broken ?? JSON.stringify(call.input) ?? '', 200)
    const word = result?.isError ? 'refused' : 'answered'
    return `you called ${call.tool} ${input}, ${word}: ${shortened(oneLine(result?.text ?? ''), 200)}`
  })
  return [...said, ...called]
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
