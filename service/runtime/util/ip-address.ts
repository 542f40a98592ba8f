import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** One address, or all addresses that share a prefix (CIDR). Plain data, so threads can pass it. */
export interface Network {
  address: string
  prefixBits: number
  family: 'ipv4' | 'ipv6'
}

/** The longest address with brackets, zone and port stays well below this. */
const ADDRESS_CHARACTERS_MAX = 100

/**
 * Reads one address, with or without a port, brackets or a zone. An IPv4-mapped IPv6 address
 * becomes the IPv4 address. Null for anything else. `toString()` of the result is the canonical
 * form: IPv6 as RFC 5952 shortens it.
 */
export function parseIpAddress(text: string): IpAddress | null {
  if (text.length > ADDRESS_CHARACTERS_MAX) return null
  if (DOTTED_DECIMAL.test(text)) return parseBareAddress(text)
  const bare = BARE.test(text) ? text : stripPortAndZone(text.trim())
  const address = parseBareAddress(bare.replace(MAPPED_DOTTED, ''))
  const isMapped = address instanceof ipaddr.IPv6 && address.match(MAPPED_NETWORK, 96)
  return isMapped ? address.toIPv4Address() : address
}

const MAPPED_NETWORK = ipaddr.IPv6.parse('::ffff:0:0')

/** Most addresses have nothing to strip, and the three patterns below would cost 0.2 µs. */
const BARE = /^(?:[\d.]+|[\da-f:]+)$/i

/** How a dual-stack socket writes an IPv4 peer; reading it as IPv6 would cost 2.5 µs. */
const MAPPED_DOTTED = /^::ffff:(?=\d+\.)/i

function stripPortAndZone(text: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1]
  const withoutPort = inBrackets ?? /^(\d[\d.]*):\d{1,5}$/.exec(text)?.[1] ?? text
  return withoutPort.replace(/%[\w.~-]*$/, '')
}

/**
 * The library also reads `10.1`, `0x7f.1`, `012.1.1.1` and IPv6 groups of five digits, which other
 * programs read differently or not at all; the patterns leave only the usual notation.
 */
function parseBareAddress(text: string): IpAddress | null {
  try {
    if (DOTTED_DECIMAL.test(text)) return new ipaddr.IPv4(text.split('.').map(Number))
    if (!IPV6_NOTATION.test(text)) return null
    return ipaddr.IPv6.parse(text.replace(COMPATIBLE, '::0:'))
  } catch {
    return null
  }
}

/** IPv4-compatible IPv6 (RFC 4291, 2.5.5.1), which the library would read as IPv4-mapped. */
const COMPATIBLE = /^::(?=\d+\.)/

const DOTTED_DECIMAL = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/
const IPV6_NOTATION =
  /^(?=.*:)(?:[\da-f]{0,4}:)*(?:[\da-f]{0,4}|(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3})$/i

const NETWORKS_MAX = 200

/** Reads comma-separated addresses and CIDR ranges. Returns null when one of them is neither. */
export function parseNetworks(text: string): Network[] | null {
  const networks = text.split(',').map(part => parseNetwork(part.trim()))
  if (networks.length > NETWORKS_MAX) return null
  return networks.every(network => network !== null) ? networks : null
}

function parseNetwork(text: string): Network | null {
  const [given = '', bits, ...more] = text.split('/')
  const address = parseBareAddress(given)
  // Peers are compared as IPv4, so a range of IPv4-mapped addresses would match nothing.
  if (address === null || more.length > 0 || /^::ffff:/i.test(given)) return null
  const bitsMax = address.kind() === 'ipv4' ? 32 : 128
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax)) return null
  const prefixBits = bits === undefined ? bitsMax : Number(bits)
  return { address: given, prefixBits, family: address.kind() }
}

/**
 * Makes a test for membership in any of the networks. Like the routing table of a dual-stack host,
 * an IPv6 network that contains `::ffff:0:0/96`, such as `::/0`, contains every IPv4 address.
 */
export function createNetworkMatcher(
  networks: readonly Network[],
): (address: IpAddress) => boolean {
  const ranges = networks.map(({ address, prefixBits }) => {
    return { network: ipaddr.parse(address), prefixBits }
  })
  const hasAllIpv4 = ranges.some(
    ({ network, prefixBits }) =>
      network.kind() === 'ipv6' && MAPPED_NETWORK.match(network, prefixBits),
  )
  return address =>
    (hasAllIpv4 && address.kind() === 'ipv4') ||
    ranges.some(
      ({ network, prefixBits }) =>
        network.kind() === address.kind() && address.match(network, prefixBits),
    )
}

/**
 * The one rule for visitors' addresses and for receivers of webhooks. The library knows IANA's
 * special-purpose registries, with the ranges that contain an IPv4 address to which a gateway
 * forwards (NAT64, 6to4, Teredo). What it calls unicast includes unassigned IPv6 space.
 */
export function isPublicAddress(address: IpAddress): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || isAssigned(address))
}

/** The IPv6 range from which hosts on the internet have addresses (RFC 4291, 2.4). */
const isAssigned = createNetworkMatcher(parseNetworks('2000::/3') ?? [])

/**
 * A browser's address in canonical form: no port, brackets or zone, IPv4 inside IPv6 as IPv4, IPv6
 * as RFC 5952 shortens it. Null for anything that is not one public address: no address is better
 * than a wrong one.
 */
export function parsePublicAddress(text: string): string | null {
  if (DOTTED_DECIMAL.test(text)) return isPublicDottedDecimal(text) ? text : null
  const address = parseIpAddress(text)
  return address !== null && isPublicAddress(address) ? address.toString() : null
}

/** The special ranges of the library as numbers: its own search takes 2 µs. */
const SPECIAL_IPV4 = listSpecialIpv4()

function listSpecialIpv4(): { network: number; mask: number }[] {
  const { SpecialRanges } = ipaddr.IPv4.prototype as unknown as {
    SpecialRanges: Record<string, [ipaddr.IPv4, number][]>
  }
  return Object.values(SpecialRanges).flatMap(ranges =>
    ranges.map(([{ octets }, bits]) => {
      const mask = -1 << (32 - bits)
      return { mask, network: octets.reduce((number, octet) => (number << 8) | octet, 0) & mask }
    }),
  )
}

/** In the usual notation without leading zeros, so the text is its own canonical form. */
function isPublicDottedDecimal(text: string): boolean {
  let number = 0
  let octet = 0
  for (let at = 0; at <= text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= 0x30) {
      octet = 10 * octet + code - 0x30
      continue
    }
    if (octet > 255) return false
    number = (number << 8) | octet
    octet = 0
  }
  return !SPECIAL_IPV4.some(({ network, mask }) => (number & mask) === network)
}
