// What is asked of a session, read strictly. Blank is not given, everywhere.
import { invalidInput } from '../domain/errors.ts'
import { parseReference } from '../domain/git-reference.ts'
import { hasControl, quoted, refuseNul } from '../domain/text.ts'

export interface TriggerAgent {
  readonly agent?: string | null
  readonly message?: string | null
  readonly slack?: { readonly channel: string; readonly threadTs: string } | null
  readonly baseBranch?: string | null
  readonly modelFamily?: string | null
}

const MOST_MESSAGE = 100_000
const MOST_NAME = 128
const MOST_LINE = 255

export interface AskedAgent {
  readonly agent: string | null
  readonly message: string | null
  readonly slack: { readonly channel: string; readonly threadTs: string } | null
  readonly baseBranch: string | null
  readonly modelFamily: string | null
}

export function parseTrigger(input: TriggerAgent): AskedAgent {
  const agent = parseLine(input.agent, 'agent', MOST_NAME)
  const message = parseMessage(input.message)
  if (agent === null && message === null) throw invalidInput('Give an agent, a message, or both.')
  const channel = parseLine(input.slack?.channel, 'slack.channel', MOST_LINE)
  const threadTs = parseLine(input.slack?.threadTs, 'slack.threadTs', MOST_LINE)
  if ((channel === null) !== (threadTs === null)) {
    throw invalidInput('slack: give both channel and threadTs, or leave it out.')
  }
  const baseBranch = parseLine(input.baseBranch, 'baseBranch', MOST_LINE)
  if (baseBranch !== null && parseReference(baseBranch) === null) {
    throw invalidInput(`baseBranch: ${quoted(baseBranch)} is not the name of a branch, a tag or a commit.`)
  }
  return {
    agent,
    message,
    slack: channel === null || threadTs === null ? null : { channel, threadTs },
    baseBranch,
    modelFamily: parseLine(input.modelFamily, 'modelFamily', MOST_NAME),
  }
}

function parseLine(text: string | null | undefined, field: string, most: number): string | null {
  const given = text?.trim() ?? ''
  if (given === '') return null
  if (given.length > most) throw invalidInput(`${field}: at most ${most} characters.`)
  if (hasControl(given)) throw invalidInput(`${field}: no line breaks or control characters.`)
  return given
}

/** Null: blank. */
export function parseMessage(text: string | null | undefined): string | null {
  if (text == null || text.trim() === '') return null
  if (text.length > MOST_MESSAGE) throw invalidInput(`message: at most ${MOST_MESSAGE} characters.`)
  return refuseNul(text, 'message')
}
