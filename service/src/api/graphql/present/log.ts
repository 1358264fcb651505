import type { LogBatch, LogSearch, LogStream } from '../../../app/command-logs.ts'
import type { BoltCommandLogs, BoltLogMatches, BoltLogStream } from '../wire-types.ts'

const STREAMS = { stdout: 'STDOUT', stderr: 'STDERR' } as const satisfies Record<LogStream, BoltLogStream>

export const parseStream = (stream: BoltLogStream): LogStream => (stream === 'STDOUT' ? 'stdout' : 'stderr')

export const presentBatch = ({ lines, cursor, finished }: LogBatch): BoltCommandLogs => ({
  lines: lines.map(({ stream, line }) => ({ stream: STREAMS[stream], line })),
  cursor,
  finished,
})

export const presentMatches = ({ matches, complete }: LogSearch): BoltLogMatches => ({
  ok: true,
  matches: matches.map(({ stream, number, line, offset }) => ({
    stream: STREAMS[stream],
    lineNumber: number,
    line,
    offset,
  })),
  more: !complete,
})
