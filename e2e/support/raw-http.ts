// HTTP by hand over a socket: for requests that no client would send.
import { connect } from 'node:net'

export interface Exchange {
  /** Null when the connection was closed without an answer. */
  readonly status: number | null
  readonly headers: string
  readonly body: string
  readonly ms: number
}

export interface RawRequest {
  readonly bytes: Buffer
  /** Closes our side behind the last byte. */
  readonly end?: boolean
}

const MOST_MS = 20_000

/** One request on a connection of its own. Rejects when there is neither an answer nor an end in twenty seconds. */
export function exchange(port: number, request: RawRequest): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let received = Buffer.alloc(0)
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error('no answer and no end in 20 s'))
    }, MOST_MS)
    const finish = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...parse(received), ms: performance.now() - began })
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (isWhole(received)) finish()
    })
    socket.on('end', finish)
    socket.on('close', finish)
    // A server that refuses in the middle of a body resets the connection: what came before that is the answer.
    socket.on('error', finish)
    if (request.end) socket.end(request.bytes)
    else socket.write(request.bytes)
  })
}

function split(bytes: Buffer): { head: string; body: Buffer } | null {
  const at = bytes.indexOf('\r\n\r\n')
  return at === -1 ? null : { head: bytes.subarray(0, at).toString('latin1'), body: bytes.subarray(at + 4) }
}

/** Behind answers that only say to go on. */
function final(bytes: Buffer): { head: string; body: Buffer } | null {
  let parts = split(bytes)
  while (parts !== null && /^HTTP\/1\.[01] 1\d\d/.test(parts.head)) parts = split(parts.body)
  return parts
}

function isWhole(bytes: Buffer): boolean {
  const parts = final(bytes)
  if (parts === null) return false
  if (/^HTTP\/1\.1 (204|304)/.test(parts.head)) return true
  const length = /^content-length: *(\d+)/im.exec(parts.head)?.[1]
  return length !== undefined && parts.body.length >= Number(length)
}

function parse(bytes: Buffer): Omit<Exchange, 'ms'> {
  const parts = final(bytes)
  if (parts === null) return { status: null, headers: '', body: bytes.toString() }
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(parts.head)?.[1] ?? Number.NaN)
  return { status, headers: parts.head, body: parts.body.toString() }
}

export interface HttpParts {
  readonly method?: string
  readonly path?: string
  readonly version?: string
  /** In this order, a name as often as it is here; the length is added unless it is among them. */
  readonly headers?: readonly (readonly [name: string, value: string | Buffer])[]
  readonly body?: string | Buffer
}

export function http({
  method = 'POST',
  path = '/graphql',
  version = 'HTTP/1.1',
  headers = [],
  body = '',
}: HttpParts): Buffer {
  const bytes = Buffer.from(body)
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const all: (readonly [string, string | Buffer])[] = [...headers]
  if (!names.has('host')) all.unshift(['Host', '127.0.0.1'])
  if (!names.has('content-length') && !names.has('transfer-encoding') && (bytes.length > 0 || method === 'POST')) {
    all.push(['Content-Length', String(bytes.length)])
  }
  if (!names.has('connection')) all.push(['Connection', 'close'])
  const lines = all.flatMap(([name, value]) => [
    Buffer.from(`${name}: `, 'latin1'),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([
    Buffer.from(`${method} ${path} ${version}\r\n`, 'latin1'),
    ...lines,
    Buffer.from('\r\n'),
    bytes,
  ])
}
