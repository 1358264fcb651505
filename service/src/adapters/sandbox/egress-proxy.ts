// The way out of a sandbox: an HTTP proxy (CONNECT, and plain requests) on a unix socket. It lets through to the hosts of
// a list, on the ports of the web, and judges addresses as every outgoing call does: the name is resolved here, once, and
// the connection goes to an address that passed. What is inside of an encrypted connection is not looked at.
import { lookup } from 'node:dns/promises'
import { chmod } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { allowedTargets, hostOf, isAllowedTarget, isPublicAddress } from '../../domain/network-address.ts'

export interface OutgoingRules {
  /** Addresses, networks and host names that may be reached although they are not public. */
  readonly allow: readonly string[]
  /** All addresses of a name; the system's own resolver unless a test brings another. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

export interface EgressProxy {
  /** Hosts that were asked for and refused, in the order in which they came, each once. */
  blocked(): readonly string[]
  close(): Promise<void>
}

const MOST_BLOCKED = 50
const MOST_CONNECTIONS = 64
const IDLE_MS = 120_000
const CONNECT_MS = 15_000
const PORTS = new Set([80, 443])

interface Target {
  readonly host: string
  readonly port: number
}

/** Entries are names (`pypi.org`), names with a port, and `*.example.com` for everything below a name. */
export function isListed(list: readonly string[], { host, port }: Target): boolean {
  return list.some((entry) => {
    const [, name = '', own] = /^(.*?)(?::(\d+))?$/.exec(entry.trim()) ?? []
    if (own === undefined ? !PORTS.has(port) : Number(own) !== port) return false
    const wanted = hostOf(name)
    if (wanted.startsWith('*.')) return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
    return wanted !== '' && host === wanted
  })
}

export async function startEgressProxy(
  path: string,
  hosts: readonly string[],
  { allow, resolve = resolveBySystem }: OutgoingRules,
): Promise<EgressProxy> {
  const allowed = allowedTargets(allow)
  const blocked = new Set<string>()
  const sockets = new Set<Duplex>()
  const refuse = (target: Target): null => {
    if (blocked.size < MOST_BLOCKED) blocked.add(shown(target))
    return null
  }
  /** The address to connect to; null: refused, and noted. */
  const admitted = async (target: Target): Promise<string | null> => {
    if (!isListed(hosts, target)) return refuse(target)
    const addresses = isIP(target.host) === 0 ? await resolve(target.host) : [target.host]
    const open = addresses.find((one) => isPublicAddress(one) || isAllowedTarget(allowed, target.host, one))
    return open ?? refuse(target)
  }

  const server = createServer({ requestTimeout: IDLE_MS }, (incoming, response) => {
    passOn(incoming, response, admitted).catch(() => answer(response, 502, 'The host cannot be reached.'))
  })
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', (socket) => track(socket, sockets))
  server.on('connect', (incoming, near: Duplex, head) => {
    // Who cannot wait for the answer has said more already; it comes first.
    near.unshift(head)
    tunnel(incoming, near, admitted, sockets).catch(() => near.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolved, reject) => {
    server.once('error', reject)
    server.listen(path, resolved)
  })
  await chmod(path, 0o666)
  return {
    blocked: () => [...blocked],
    close: async () => {
      const closed = new Promise((resolved) => server.close(resolved))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

const resolveBySystem = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map((one) => one.address)

function track(socket: Duplex, sockets: Set<Duplex>): void {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => socket.destroy())
}

const shown = ({ host, port }: Target): string => (PORTS.has(port) ? host : `${host}:${port}`).slice(0, 200)

/** `host:port`, an IPv6 address in brackets. */
export function parseAuthority(text: string): Target | null {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || (bracketed !== undefined && isIP(bracketed) !== 6)) return null
  return { host: hostOf(host), port: Number(digits) }
}

type Admit = (target: Target) => Promise<string | null>

async function tunnel(incoming: IncomingMessage, near: Duplex, admitted: Admit, sockets: Set<Duplex>): Promise<void> {
  const target = parseAuthority(incoming.url ?? '')
  const address = target === null ? null : await admitted(target)
  if (target === null || address === null) {
    near.end(`HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${REFUSAL}`)
    return
  }
  const far = await connected(address, target.port)
  track(far, sockets)
  if (near.destroyed) {
    far.destroy()
    return
  }
  near.on('close', () => far.destroy())
  far.on('close', () => near.destroy())
  far.setTimeout(IDLE_MS, () => far.destroy())
  near.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  near.pipe(far).pipe(near)
}

function connected(address: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, timeout: CONNECT_MS })
    socket.once('connect', () => {
      socket.setTimeout(0)
      resolve(socket)
    })
    socket.once('timeout', () => socket.destroy(new Error('not connected in time')))
    socket.once('error', reject)
  })
}

const REFUSAL = 'This host is not among those that the workspace allows its agents.\n'

/** Of one connection, and not for the host behind it. */
const HOP_BY_HOP =
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  )

async function passOn(incoming: IncomingMessage, response: ServerResponse, admitted: Admit): Promise<void> {
  const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url!) : null
  if (url === null || url.protocol !== 'http:' || url.username !== '')
    return answer(response, 400, 'This is a proxy: http:// addresses and CONNECT.')
  const target = parseAuthority(`${url.hostname}:${url.port === '' ? 80 : url.port}`)
  const address = target === null ? null : await admitted(target)
  if (target === null || address === null) return answer(response, 403, REFUSAL)
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
  const outgoing = request({
    host: address,
    port: target.port,
    method: incoming.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, connection: 'close' },
    agent: false,
    timeout: IDLE_MS,
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')))
  outgoing.on('error', () => answer(response, 502, 'The host did not answer.'))
  outgoing.on('response', (answered) => {
    const back = Object.fromEntries(Object.entries(answered.headers).filter(([name]) => !HOP_BY_HOP.includes(name)))
    response.writeHead(answered.statusCode ?? 502, back)
    answered.on('error', () => response.destroy())
    answered.pipe(response)
  })
  response.on('close', () => outgoing.destroy())
  incoming.on('error', () => outgoing.destroy())
  incoming.pipe(outgoing)
}

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(text)
}
