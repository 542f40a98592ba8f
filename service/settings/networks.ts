import { isIP } from 'node:net'

/** One address, or all addresses that begin with the same bits (CIDR). */
export interface Network {
  address: string
  prefixBits: number
  family: 'ipv4' | 'ipv6'
}

const NETWORKS_MAX = 200

/** Reads comma-separated addresses and CIDR ranges. Returns null when one of them is neither. */
export function parseNetworks(text: string): Network[] | null {
  const networks = text.split(',').map(part => parseNetwork(part.trim()))
  if (networks.length > NETWORKS_MAX) return null
  return networks.every(network => network !== null) ? networks : null
}

/** Peers are compared as IPv4, so a range of IPv4-mapped IPv6 would never match: it is refused. */
function parseNetwork(text: string): Network | null {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0 || /^::ffff:/i.test(address) || address.includes('%')) {
    return null
  }
  const bitsMax = version === 4 ? 32 : 128
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax)) return null
  const family = version === 4 ? 'ipv4' : 'ipv6'
  return { address, prefixBits: bits === undefined ? bitsMax : Number(bits), family }
}
