// A plan stands for a model where none is set up: it says what to call and, from the results, what to say. It is a
// generator. Each `yield` asks for calls and goes on with their results.
//
// Nothing of it is kept between two questions. Each time it runs from its beginning against the conversation: calls that
// were made in this turn (the same tool, the same input, the n-th time) are answered from there, and the first that was
// not is the answer of the "model". So a plan must be a function of what it is given alone: no clock, no chance. Then it
// goes on after a crash where it was, on any worker, and a message that comes in the middle is taken into account.
import type { ModelAnswer, ModelCall, ModelMessage, ModelRequest, ToolDeclaration } from '../../../ports/model.ts'

export interface PlanCall {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
}

export interface PlanStep {
  /** Said with the calls; may be empty. */
  readonly text: string
  readonly calls: readonly PlanCall[]
}

export interface PlanResult {
  readonly text: string
  readonly isError: boolean
}

export interface PlanFacts {
  /** All that was said to the agent since it last ended a turn. */
  readonly message: string
  readonly instructions: string
  /** Whether the tool is offered. */
  has(tool: string): boolean
  /** The declaration of a tool that is offered. */
  tool(name: string): ToolDeclaration | undefined
}

/** Returns its last words. */
export type Plan = (facts: PlanFacts) => Generator<PlanStep, string, readonly PlanResult[]>

export const call = (tool: string, input: Readonly<Record<string, unknown>> = {}): PlanCall => ({ tool, input })

/** `const [listing] = yield asks('I look around.', call('list_directory', { path: '.' }))` */
export const asks = (text: string, ...calls: readonly PlanCall[]): PlanStep => ({ text, calls })

export const NO_MODEL =
  '_No model was used: none is set up in this workspace, and this answer follows a fixed plan. An administrator can set ' +
  'one up with `yardmaster models set`._'

/** So many steps of one turn: a plan that asks on and on is a fault of the plan. */
const MOST_STEPS = 50

export function followPlan(plan: Plan, request: ModelRequest): ModelAnswer {
  const turn = turnOf(request.messages)
  const made = madeCalls(turn)
  const offered = new Map(request.tools.map((tool) => [tool.name, tool]))
  const steps = plan({
    message: saidIn(turn),
    instructions: request.instructions,
    has: (tool) => offered.has(tool),
    tool: (name) => offered.get(name),
  })
  let next = steps.next()
  while (next.done !== true) {
    const { text, calls } = next.value
    const results = calls.map(({ tool, input }) =>
      offered.has(tool) ? resultOf(made, keyOf(tool, input)) : notOffered(tool),
    )
    const missing = calls.filter((_, at) => results[at] === undefined)
    if (missing.length > 0) return answers(turn, text, missing)
    next = steps.next(results as PlanResult[])
  }
  return ends(next.value)
}

const notOffered = (tool: string): PlanResult => ({ text: `The tool ${tool} is not offered.`, isError: true })

function answers(turn: readonly ModelMessage[], text: string, calls: readonly PlanCall[]): ModelAnswer {
  const step = turn.filter((message) => message.role === 'assistant').length + 1
  if (step > MOST_STEPS) return ends(`I gave up after ${MOST_STEPS} steps.`)
  const made = calls.map(({ tool, input }, at): ModelCall => ({ id: `plan-${step}-${at + 1}`, tool, input }))
  return { text, calls: made, usage: NOTHING, end: 'calls' }
}

const ends = (text: string): ModelAnswer => ({
  text: `${text.trim()}\n\n${NO_MODEL}`,
  calls: [],
  usage: NOTHING,
  end: 'end',
})

const NOTHING = { tokensIn: 0, tokensOut: 0, tokensCached: 0 }

/** What follows the agent's last words: an answer without calls is the end of a turn. */
function turnOf(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant' && message.calls.length === 0)
  return messages.slice(last + 1)
}

/** Messages from elsewhere begin with a line in brackets that says who wrote them. */
const saidIn = (turn: readonly ModelMessage[]): string =>
  turn
    .flatMap((message) => (message.role === 'user' ? [message.text] : []))
    .join('\n\n')
    .replaceAll(/^\[[^\]\n]*\]\n/gm, '')
    .trim()

interface MadeCall {
  readonly key: string
  readonly result: PlanResult
}

/** In the order in which they were made. */
function madeCalls(turn: readonly ModelMessage[]): MadeCall[] {
  const keys = new Map<string, string>()
  return turn.flatMap((message) => {
    if (message.role === 'assistant') for (const one of message.calls) keys.set(one.id, keyOf(one.tool, one.input))
    if (message.role !== 'tool') return []
    return message.results.flatMap(({ call: id, text, isError }) => {
      const key = keys.get(id)
      return key === undefined ? [] : [{ key, result: { text, isError } }]
    })
  })
}

/** Each is given once. */
function resultOf(made: MadeCall[], key: string): PlanResult | undefined {
  const same = made.findIndex((one) => one.key === key)
  const at = same >= 0 ? same : made.findIndex((one) => isMasked(one.key, key))
  return at < 0 ? undefined : made.splice(at, 1)[0]!.result
}

/** What stands for a secret in everything that is written of a session, the arguments of calls too. */
const MASK = '***'

/** Whether the first is the second with something masked. */
function isMasked(masked: string, whole: string): boolean {
  const parts = masked.split(MASK)
  if (parts.length === 1 || !whole.startsWith(parts[0]!)) return false
  let from = parts[0]!.length
  for (const part of parts.slice(1, -1)) {
    const found = whole.indexOf(part, from)
    if (found < 0) return false
    from = found + part.length
  }
  const last = parts.at(-1)!
  return whole.length - last.length >= from && whole.endsWith(last)
}

/** The database does not keep the order of fields. */
const keyOf = (tool: string, input: unknown): string => `${tool} ${JSON.stringify(ordered(input))}`

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(fields.map(([name, inner]) => [name, ordered(inner)]))
}
