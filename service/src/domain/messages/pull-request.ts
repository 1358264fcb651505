// What a pull request is told about its runs.
import type { RunState } from '../run.ts'

/** In the words of our own; each host has others. */
export type StatusState = 'pending' | 'running' | 'success' | 'failure' | 'canceled'

export interface CommitStatus {
  /** Of the repository, as its host calls it. */
  readonly path: string
  readonly commit: string
  readonly context: string
  readonly state: StatusState
  readonly description: string
  readonly url: string
}

export interface PullComment {
  readonly path: string
  readonly number: number
  /** Stands in the comment, unseen: by it the comment is found again. */
  readonly marker: string
  readonly text: string
}

export function statusOf(kind: 'started' | 'ended', state: RunState): Pick<CommitStatus, 'state' | 'description'> {
  if (kind === 'started') return { state: 'running', description: 'is running' }
  switch (state) {
    case 'succeeded':
      return { state: 'success', description: 'passed' }
    case 'canceled':
      return { state: 'canceled', description: 'was canceled' }
    case 'errored':
      return { state: 'failure', description: 'a command failed' }
    default:
      return { state: 'failure', description: 'the run itself broke' }
  }
}

export const waitingStatus = ({
  isFork,
}: {
  readonly isFork: boolean
}): Pick<CommitStatus, 'state' | 'description'> => ({
  state: 'pending',
  description: `waits until a member allows this commit of ${isFork ? 'a fork' : 'an agent'}`,
})

export interface CommentedRun {
  readonly runId: number
  readonly scheduleName: string
  readonly state: string
  readonly seconds: number | null
  readonly url: string
}

const WORDS: Readonly<Record<string, string>> = {
  succeeded: '✅ passed',
  errored: '❌ a command failed',
  failed: '❌ the run broke',
  canceled: '⏹ canceled',
}

/** Markdown, the same for both hosts. */
export function commentOf(commit: string, runs: readonly CommentedRun[]): string {
  const rows = runs.map((one) => {
    const seconds = one.seconds === null ? '' : spanOf(one.seconds)
    return `| ${plain(one.scheduleName)} | ${WORDS[one.state] ?? '⏳ running'} | ${seconds} | [run ${one.runId}](${one.url}) |`
  })
  return [
    `**Yardmaster** on ${commit.slice(0, 12)}`,
    '',
    '| Schedule | Result | Took | |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** A name is somebody's text: it must not end its cell, nor call on people or links. */
const plain = (text: string): string =>
  text.replace(/[\r\n]+/g, ' ').replace(/[\\`*_{}[\]<>()#+!|~@-]/g, (letter) => `\\${letter}`)

const spanOf = (seconds: number): string =>
  seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
