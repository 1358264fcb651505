// A mail server on loopback, and a reader of what it received.
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface Received {
  readonly recipients: readonly string[]
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly text: string
  /** Empty for a mail of text alone. */
  readonly html: string
  /** As it came. */
  readonly raw: string
}

export interface TestSmtp extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
}

/** @param judge why a mail is not taken; null takes it */
export async function testSmtp(
  options: SMTPServerOptions = {},
  host = '127.0.0.1',
  judge: (mail: Received) => Error | null = () => null,
): Promise<TestSmtp> {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const recipients = session.envelope.rcptTo.map((one) => one.address)
        const mail = { recipients, ...parse(Buffer.concat(chunks).toString()) }
        const fault = judge(mail)
        if (fault === null) received.push(mail)
        done(fault)
      })
    },
    ...options,
  })
  server.on('error', () => {})
  server.listen(0, host)
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://${host}:${port}`,
    port,
    received,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** A server that speaks as the given function does, for what no honest server would do. */
export async function rudeServer(speak: (socket: Socket) => void): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    speak(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function parse(raw: string): Omit<Received, 'recipients'> {
  const { headers, body } = split(raw)
  const boundary = /^multipart\/alternative\b.*\bboundary="?([^";]+)"?/.exec(
    headers.get('content-type')?.[0] ?? '',
  )?.[1]
  if (boundary === undefined) return { headers, text: decoded(headers, body), html: '', raw }
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => split(part.replace(/^\r\n/, '')))
  const part = (type: string): string => {
    const found = parts.find((one) => one.headers.get('content-type')?.[0]?.startsWith(type))
    return found === undefined ? '' : decoded(found.headers, found.body)
  }
  return { headers, text: part('text/plain'), html: part('text/html'), raw }
}

function split(raw: string): { headers: Map<string, string[]>; body: string } {
  const end = raw.indexOf('\r\n\r\n')
  const headers = new Map<string, string[]>()
  for (const line of raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const at = line.indexOf(':')
    const name = line.slice(0, at).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(at + 1).trim()])
  }
  return { headers, body: raw.slice(end + 4) }
}

function decoded(headers: ReadonlyMap<string, readonly string[]>, body: string): string {
  const encoding = headers.get('content-transfer-encoding')?.[0]
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString().replaceAll('\r\n', '\n')
  return (encoding === 'quoted-printable' ? unquote(body) : body).replaceAll('\r\n', '\n')
}

function unquote(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
