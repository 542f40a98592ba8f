import { createNetworkMatcher, parseIpAddress, parseNetworks } from '../util/ip-address.ts'

/** Addresses that no host on the internet has (IANA special-purpose registries). */
const RESERVED_RANGES = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
  192.0.0.0/24 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
  224.0.0.0/4 240.0.0.0/4
  ::/96 64:ff9b:1::/48 100::/64 2001:2::/48 2001:db8::/32 3fff::/20 fc00::/7 fe80::/10 fec0::/10
  ff00::/8`

const isReserved = createNetworkMatcher(parseNetworks(RESERVED_RANGES.replace(/\s+/g, ',')) ?? [])

/**
 * A browser's address in canonical form: no port, brackets or zone, IPv4 inside IPv6 as IPv4, IPv6
 * as RFC 5952 shortens it. Null for anything that is not one address, and for an address that is
 * private, loopback, link-local, shared (CGNAT), unique local, documentation or otherwise reserved:
 * no address is better than a wrong one.
 */
export function parsePublicAddress(text: string): string | null {
  const address = parseIpAddress(text)
  return address === null || isReserved(address) ? null : address.toString()
}
