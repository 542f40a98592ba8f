import {
  createNetworkMatcher,
  type IpAddress,
  parseIpAddress,
  parseNetworks,
} from './ip-address.ts'

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
  const address = parseIpAddress(text)
  return address !== null && isPublicAddress(address) ? address.toString() : null
}
