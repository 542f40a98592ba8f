import { BlockList, isIP, SocketAddress } from 'node:net'

/** Nobody on the internet has these addresses (IANA special-purpose registries). */
const RESERVED_V4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
  192.0.0.0/24 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
  224.0.0.0/4 240.0.0.0/4`
const RESERVED_V6 = `::/96 64:ff9b:1::/48 100::/64 2001:2::/48 2001:db8::/32 3fff::/20 fc00::/7
  fe80::/10 fec0::/10 ff00::/8`

const RESERVED = buildReservedRanges()

/**
 * A browser's address as Meta wants it: IPv4 or IPv6, no port, brackets or zone, IPv4 inside IPv6
 * as IPv4, IPv6 in its shortest lower-case form. Null for anything that is not one address, or
 * that is private, loopback, link-local, shared (CGNAT), unique local, documentation or otherwise
 * reserved: an absent address beats a wrong one (domain reference, section H).
 */
export function parsePublicAddress(text: string): string | null {
  const bare = parseIpAddress(text)
  if (bare === null) return null
  return RESERVED.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4') ? null : bare
}

function buildReservedRanges(): BlockList {
  const ranges = new BlockList()
  for (const [text, family] of [
    [RESERVED_V4, 'ipv4'],
    [RESERVED_V6, 'ipv6'],
  ] as const) {
    for (const range of text.split(/\s+/)) {
      const [network = '', prefixBits] = range.split('/')
      ranges.addSubnet(network, Number(prefixBits), family)
    }
  }
  return ranges
}

/** The longest address with brackets, zone and port stays well below this. */
const ADDRESS_CHARACTERS_MAX = 100

/**
 * One spelling of an address: no port, brackets or zone, IPv4 inside IPv6 as IPv4, IPv6 in its
 * shortest lower-case form. Null for anything that is not one address.
 */
export function parseIpAddress(text: string): string | null {
  if (text.length > ADDRESS_CHARACTERS_MAX) return null
  return canonicalizeAddress(stripPortAndZone(text.trim()))
}

function stripPortAndZone(text: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1]
  const withoutPort = inBrackets ?? /^(\d[\d.]*):\d{1,5}$/.exec(text)?.[1] ?? text
  return withoutPort.replace(/%[\w.~-]*$/, '')
}

function canonicalizeAddress(text: string): string | null {
  switch (isIP(text)) {
    case 4:
      return text
    case 6: {
      const { address } = new SocketAddress({ address: text, family: 'ipv6' })
      const mapped = address.startsWith('::ffff:') ? address.slice(7) : ''
      return isIP(mapped) === 4 ? mapped : address
    }
    default:
      return null
  }
}
