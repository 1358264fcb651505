// Watching a session in a terminal: each step as it comes, the agent's words on standard output, everything else beside
// it, and at the end an exit code that says how the turn ended.
import { setTimeout as pause } from 'node:timers/promises'
import type { AgentMessage, AgentSessionView, AgentStep } from '../app/agent-queries.ts'
import { getAgentSession, getAgentSteps } from '../app/agent-queries.ts'
import type { Context } from '../app/context.ts'
import { type AgentStatus, isOver } from '../domain/agent-session.ts'
import type { Call } from './command.ts'
import { printable } from './table.ts'

/** 1 and 2 mean for every command that it did not work, or was not understood. */
export const END_CODES = { completed: 0, failed: 3, stopped: 4, expired: 5 } as const satisfies Partial<
  Record<AgentStatus, number>
>

const LOOK_MS = 300
/** A worker of a service that runs takes a session within a second or two. */
const LONG_WAIT_MS = 10_000

export interface Following extends Pick<Call, 'io' | 'json' | 'print'> {
  /** What came up to here is known. */
  readonly after?: number
}

export async function followSession(ctx: Context, sessionId: string, how: Following): Promise<number> {
  const { io, json, print } = how
  let after = how.after ?? 0
  let hinted = false
  let pushed = false
  const began = ctx.clock.now().getTime()
  for (;;) {
    // The status first: what it stands for is in the steps that are read after it.
    const view = await getAgentSession(ctx, sessionId)
    const steps = await getAgentSteps(ctx, sessionId, { after, includeToolIo: true, maxChars: 200 })
    for (const step of steps) {
      after = Math.max(after, step.seq)
      if (step.tool === 'git_push' && !step.isRunning && !step.isError) pushed = true
      if (!json) show(step, io)
    }
    const { status } = view.session
    if (isOver(status)) {
      print(view, json ? '' : endText(view, pushed))
      return status === 'queued' || status === 'running' ? 1 : END_CODES[status]
    }
    if (!hinted && status === 'queued' && ctx.clock.now().getTime() - began > LONG_WAIT_MS) {
      hinted = true
      io.err('Nobody has taken it yet: is a service with the role worker running?\n')
    }
    await pause(LOOK_MS)
  }
}

function show(step: AgentStep, io: Call['io']): void {
  if (step.kind === 'model') {
    if (step.text.trim() !== '') io.out(`${printable(step.text).trimEnd()}\n`)
  } else {
    const text = stepText(step, 'line')
    if (text !== '') io.err(text)
  }
}

function endText({ session, childSessionIds }: AgentSessionView, pushed: boolean): string {
  const lines = [`\nSession ${session.id} is ${session.status}.${session.reason === '' ? '' : ` ${session.reason}`}`]
  if (pushed) lines.push(`Branch: ${session.branch}`)
  if (session.pullRequest !== '') lines.push(`Pull request: ${session.pullRequest}`)
  if (childSessionIds.length > 0) lines.push(`It called: ${childSessionIds.join(', ')}`)
  return `${lines.join('\n')}\n`
}

export const messageText = ({ ts, role, content }: AgentMessage): string =>
  `--- ${new Date(ts / 1000).toISOString()}  ${role}\n${printable(content).trimEnd()}\n\n`

/** One line, or the whole with input and output. */
export function stepText(step: AgentStep, form: 'line' | 'whole'): string {
  const mark = step.isRunning ? '…' : step.isError ? '✗' : '·'
  if (form === 'line') {
    if (step.kind === 'message') return ''
    const more = step.kind === 'tool' ? ` ${oneLine(step.input)}` : step.text === '' ? '' : ` ${oneLine(step.text)}`
    // A tool is told of twice: when it begins and when it has ended.
    return `${mark} ${step.kind === 'status' ? 'is ' : ''}${printable(step.title)}${more}\n`
  }
  const parts = [
    `--- ${new Date(step.ts / 1000).toISOString()}  ${mark} ${printable(step.title)}${step.call === '' ? '' : ` (${step.call})`}`,
    ...[step.text, step.input, step.output].filter((text) => text !== '').map((text) => printable(text).trimEnd()),
  ]
  return `${parts.join('\n')}\n\n`
}

const oneLine = (text: string): string => {
  const line = printable(text).replaceAll(/\s+/g, ' ').trim()
  return line.length > 120 ? `${line.slice(0, 119).toWellFormed()}…` : line
}
