// One connection to an address that somebody outside the service chose. Names are resolved here, once; every address is
// judged, and the connection is made to one that passed, by its number: nobody resolves the name a second time. When the
// socket is connected its peer is judged again. Redirects are answers like any other.
import { lookup } from 'node:dns/promises'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { AllowedTargets } from '../domain/network-address.ts'
import { allowedTargets, isAllowedTarget, isPublicAddress } from '../domain/network-address.ts'
import { OutgoingFault } from '../ports/outgoing-http.ts'

export interface OutgoingRules {
  /** Addresses, networks and host names that may be reached although they are not public, also without encryption. */
  readonly allow: readonly string[]
  /** Whether http:// is taken for public targets too. */
  readonly allowHttp: boolean
  /** All addresses of a name; the system's own resolver unless a test brings another. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  /** A certificate that is trusted besides those that Node trusts. */
  readonly ca?: string
}

export interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface Reached {
  /** Its body is not read yet. */
  readonly response: IncomingMessage
  /** Cuts the connection, whatever is left of the body. */
  close(): void
}

/** Of a name with many addresses, so many are tried. */
const MOST_ADDRESSES = 4

const resolveBySystem = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map((one) => one.address)

export type Connect = (request: Sent, signal: AbortSignal) => Promise<Reached>

/** The answer's head, or what went wrong: an OutgoingFault where the address is refused, else as Node says it. */
export function outgoingConnections(rules: OutgoingRules): Connect {
  const { resolve = resolveBySystem } = rules
  const allowed = allowedTargets(rules.allow)
  return async (request, signal) => {
    const url = parseTarget(request.url)
    const addresses = await judged(url, await addressesOf(url, resolve, signal), allowed, rules.allowHttp)
    return await reachAny(request, url, addresses, allowed, signal, rules.ca)
  }
}

const refuse = (message: string): OutgoingFault => new OutgoingFault(message, { refused: true })

function parseTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    throw refuse('The address is not an http:// or https:// URL.')
  if (url.username !== '' || url.password !== '') throw refuse('The address holds credentials.')
  return url
}

/** Without the brackets of an IPv6 address. */
const hostnameOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

async function addressesOf(
  url: URL,
  resolve: (host: string) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = hostnameOf(url)
  if (isIP(host) !== 0) return [host]
  try {
    return await Promise.race([resolve(host), rejected(signal)])
  } catch (error) {
    if (signal.aborted) throw error
    throw new OutgoingFault(`The name ${host} was not found.`, { cause: error })
  }
}

const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Those of the addresses that may be reached. What they are is not told: a name may be of a network that is not theirs. */
async function judged(
  url: URL,
  addresses: readonly string[],
  allowed: AllowedTargets,
  allowHttp: boolean,
): Promise<readonly string[]> {
  const host = hostnameOf(url)
  const open = addresses.filter((one) => isOpen(host, one, allowed))
  if (open.length === 0) {
    throw refuse(
      `${host} leads to this machine or into a private or reserved network, which the operator of this service has not allowed (outgoing.allow).`,
    )
  }
  if (url.protocol === 'https:' || allowHttp) return open
  const plain = open.filter((one) => isAllowedTarget(allowed, host, one))
  if (plain.length === 0) throw refuse('The address must begin with https://.')
  return plain
}

const isOpen = (host: string, address: string, allowed: AllowedTargets): boolean =>
  isPublicAddress(address) || isAllowedTarget(allowed, host, address)

/** One address after the other until one takes the connection; after that it is that one's answer, or none. */
async function reachAny(
  request: Sent,
  url: URL,
  addresses: readonly string[],
  allowed: AllowedTargets,
  signal: AbortSignal,
  ca: string | undefined,
): Promise<Reached> {
  let last: unknown
  for (const address of addresses.slice(0, MOST_ADDRESSES)) {
    try {
      return await reach(request, url, address, allowed, signal, ca)
    } catch (error) {
      last = error
      if (!(error instanceof NotConnected) || signal.aborted) break
    }
  }
  throw last instanceof NotConnected ? last.cause : last
}

class NotConnected extends Error {}

function reach(
  request: Sent,
  url: URL,
  address: string,
  allowed: AllowedTargets,
  signal: AbortSignal,
  ca: string | undefined,
): Promise<Reached> {
  const host = hostnameOf(url)
  const options: RequestOptions & https.RequestOptions = {
    method: request.method,
    // The number, never the name.
    host: address,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: {
      'user-agent': 'Yardmaster',
      ...request.headers,
      host: url.host,
      ...(request.body !== undefined && { 'content-length': String(Buffer.byteLength(request.body)) }),
    },
    agent: false,
    signal,
    // The certificate is checked against the name, and always.
    servername: isIP(host) === 0 ? host : '',
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca: [ca] }),
  }
  return new Promise((resolve, reject) => {
    let connected = false
    const call: ClientRequest = (url.protocol === 'https:' ? https : http).request(options)
    call.on('socket', (socket) => {
      socket.once('connect', () => {
        connected = true
        if (!isOpen(host, socket.remoteAddress ?? '', allowed)) socket.destroy(refuse('The connection went astray.'))
      })
    })
    call.on('error', (error) => reject(connected ? error : new NotConnected('not connected', { cause: error })))
    call.on('response', (response) => resolve({ response, close: () => call.destroy() }))
    call.end(request.body)
  })
}

export function headersOf(response: IncomingMessage): Record<string, string> {
  const entries = Object.entries(response.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return Object.fromEntries(entries)
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens at that address.',
  ECONNRESET: 'The connection was cut off.',
  EPIPE: 'The connection was cut off.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The network cannot be reached.',
  ETIMEDOUT: 'The host did not answer.',
  HPE_HEADER_OVERFLOW: 'The headers of the answer are too large.',
}

/** In words that may be shown: never an address of a network. */
export function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  const known = REASONS[code]
  if (known !== undefined) return known
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return `The certificate or encryption is not in order (${code}).`
  if (code.startsWith('HPE_')) return 'The answer is no HTTP.'
  return code === '' ? 'The call failed.' : `The call failed (${code}).`
}
