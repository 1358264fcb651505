// Ways to write an address that somebody outside must not reach through us, and listeners that notice when one does.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What has to be there for the form to lead anywhere. */
export type Place = 'loopback' | 'link-local' | 'private' | 'translated' | 'nowhere'

export interface AddressForm {
  /** `:0` stands for the port of the listener. */
  readonly url: string
  readonly place: Place
}

const hosts = (place: Place, text: string): AddressForm[] =>
  text
    .trim()
    .split(/\s+/)
    .map((host) => ({ url: `http://${host}:0/`, place }))

/** Addresses that a machine needs for the forms of `translated` and the like to lead to its own listeners. */
export const EXTRA_ADDRESSES = [
  ...['169.254.169.254/32', '10.1.2.3/32', '172.16.5.4/32', '192.168.7.7/32', '100.64.0.9/32', '198.18.0.1/32'],
  ...[
    '64:ff9b::7f00:1/128',
    '64:ff9b::a9fe:a9fe/128',
    '64:ff9b:1::7f00:1/128',
    '2002:7f00:1::/128',
    '2001:0:7f00:1::1/128',
  ],
  ...['fd00:ec2::254/128', 'fc00::1/128', 'fec0::1/128', '2001:db8::1/128', '100::1/128', '::7f00:1/128'],
] as const

export const ADDRESS_FORMS: readonly AddressForm[] = [
  ...hosts(
    'loopback',
    `127.0.0.1 127.1 127.0.1 127.0.0.2 127.255.255.254 2130706433 0x7f000001 0x7F.0.0.1 0x7f.1 0177.0.0.1 0177.1
    017700000001 127.0x0.0.01 0x7f.0x0.0x0.0x1 0 0x0 00 0.0.0.0 0.0 ①②⑦.⓪.⓪.① １２７．０．０．１ 127。0。0。1 ⑫⑦.0.0.1 127.0.0.1.
    127%2e0%2e0%2e1 localhost LOCALHOST LocalHost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc%61lhost [::1] [0:0:0:0:0:0:0:1] [::0001] [0::1] [::]
    [::ffff:127.0.0.1] [::FFFF:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:127.1.2.3] [::ffff:0.0.0.0]`,
  ),
  ...hosts(
    'link-local',
    `169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xa9.0xfe.0xa9.0xfe 169.16689662
    [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] ①⑥⑨.②⑤④.①⑥⑨.②⑤④`,
  ),
  ...hosts(
    'private',
    `10.1.2.3 167838211 0xa010203 012.1.2.3 10.66051 [::ffff:10.1.2.3] [::ffff:a01:203] 172.16.5.4 2886731012
    192.168.7.7 0xc0a80707 [::ffff:c0a8:707] 100.64.0.9 198.18.0.1 [fd00:ec2::254] [fc00::1] [fec0::1] [2001:db8::1] [100::1]`,
  ),
  ...hosts(
    'translated',
    `[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b:1::7f00:1] [2002:7f00:1::]
    [2001:0:7f00:1::1] [::127.0.0.1]`,
  ),
  // What parsers read in different ways.
  ...['http:127.0.0.1:0/', 'http:/127.0.0.1:0/', 'http:\\\\127.0.0.1:0\\', 'http://127.0.0.1:0#@example.com/'].map(
    (url) => ({ url, place: 'loopback' as const }),
  ),
  ...[' http://127.0.0.1:0/', 'http://127.0.\t0.1:0/', 'hTTp://127.0.0.1:0/', 'http://127.0.0.1:0\\@example.com/'].map(
    (url) => ({ url, place: 'loopback' as const }),
  ),
  // Refused whatever is allowed.
  ...[
    ...['http://me@127.0.0.1:0/', 'http://example.com@127.0.0.1:0/', 'http://a:b@[::1]:0/', 'ftp://127.0.0.1:0/'],
    ...['file:///etc/passwd', 'unix:/var/run/docker.sock', 'http+unix://%2Fvar%2Frun%2Fdocker.sock/', '//127.0.0.1:0/'],
    ...['gopher://127.0.0.1:0/', 'data:text/plain,x', 'http://', 'ws://127.0.0.1:0/', '127.0.0.1:0'],
  ].map((url) => ({ url, place: 'nowhere' as const })),
]

export interface Listeners extends AsyncDisposable {
  readonly port: number
  /** Connections that were accepted, whatever came through them. */
  readonly accepted: number
}

/** On every address that this machine has, of both families. */
export async function listenEverywhere(): Promise<Listeners> {
  let accepted = 0
  const server: Server = createServer((_request, response) => response.end('reached'))
  server.on('connection', () => accepted++)
  await new Promise<void>((resolve) => server.listen({ host: '::', port: 0, ipv6Only: false }, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The address with the port of the listener. */
export const formUrl = (form: AddressForm, port: number): string => form.url.replace(/:0(?=[/\\#]|$)/, `:${port}`)
