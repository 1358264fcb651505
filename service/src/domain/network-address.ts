// Which network addresses are open to everybody, and which belong to a machine, its neighbours or its owner. Pure: an
// address as text comes in. The lists are those of IANA's registries of special-purpose addresses.
//
// net.BlockList matches an IPv4-mapped address with IPv4 rules, but does not look into NAT64 or 6to4 ones; those are
// unwrapped here before anything is looked up.
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

const CLOSED_V4 = [
  '0.0.0.0/8', // this network; 0.0.0.0 is this machine to Linux
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by a provider's customers
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, the metadata of clouds among it
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/** Of IPv6 only 2000::/3 is open to everybody, and of that not these. */
const OPEN_V6 = '2000::/3'
const CLOSED_V6 = [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: leads to the IPv4 address inside
  '3fff::/20', // documentation
]

/** What a translator turns into the IPv4 address in the last 32 bits. */
const TRANSLATED = '64:ff9b::/96'

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return list
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits] = network.split('/')
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits), family)
}

const closedV4 = listOf(CLOSED_V4)
const openV6 = listOf([OPEN_V6])
const closedV6 = listOf(CLOSED_V6)
const translated = listOf([TRANSLATED])
const mapped = listOf(['::ffff:0:0/96'])

/** The sixteen bytes of an IPv6 address. */
function bytesOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const text =
    dotted === null ? address : `${dotted[1]}${pairOf(dotted[2]!, dotted[3]!)}:${pairOf(dotted[4]!, dotted[5]!)}`
  const [head = '', tail] = text.split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const [left, right] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const all = [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
  return all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
}

const pairOf = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16)

/** The address that a connection would really reach: IPv4 inside IPv6 unwrapped, without a zone. */
export function plainAddress(text: string): string {
  const address = text.replace(/%.*$/, '')
  if (!isIPv6(address)) return address
  if (!mapped.check(address, 'ipv6') && !translated.check(address, 'ipv6')) return address
  return bytesOf(address).slice(12).join('.')
}

/** Whether everybody on the internet could be meant by it. False for what is no address at all. */
export function isPublicAddress(text: string): boolean {
  const address = plainAddress(text)
  if (isIPv4(address)) return !closedV4.check(address, 'ipv4')
  if (!isIPv6(address)) return false
  return openV6.check(address, 'ipv6') && !closedV6.check(address, 'ipv6')
}

/** What an operator allows besides: addresses and networks, and names of hosts wherever they lead. */
export interface AllowedTargets {
  readonly hosts: ReadonlySet<string>
  readonly networks: BlockList
}

export function allowedTargets(entries: readonly string[]): AllowedTargets {
  const networks = entries.filter((entry) => isIP(entry.split('/')[0]!) !== 0)
  const hosts = entries.filter((entry) => !networks.includes(entry)).map(hostOf)
  return { hosts: new Set(hosts), networks: listOf(networks) }
}

/** In the form in which hosts are compared. */
export const hostOf = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** Whether the operator named this host, or the network of this address. */
export function isAllowedTarget(allowed: AllowedTargets, host: string, address: string): boolean {
  if (allowed.hosts.has(hostOf(host))) return true
  const plain = plainAddress(address)
  return isIP(plain) !== 0 && allowed.networks.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
}
