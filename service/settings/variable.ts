import { isIP } from 'node:net'

/** How one variable is read. `secret` values are never printed, only "set" or "unset". */
export interface Variable {
  kind: 'integer' | 'text' | 'url' | 'choice' | 'pattern' | 'networks'
  default: string | undefined
  meaning: string
  secret?: true
  minimum?: number
  maximum?: number
  choices?: readonly string[]
  pattern?: RegExp
  patternMeaning?: string
}

/** One address, or all addresses that begin with the same bits (CIDR). */
export interface Network {
  address: string
  prefixBits: number
  family: 'ipv4' | 'ipv6'
}

const NETWORKS_MAX = 200

/** Reads addresses and CIDR ranges with commas between them; null when one of them is neither. */
export function parseNetworks(text: string): Network[] | null {
  const networks = text.split(',').map(part => parseNetwork(part.trim()))
  if (networks.length > NETWORKS_MAX) return null
  return networks.every(network => network !== null) ? networks : null
}

/** IPv4 inside IPv6 is not taken: peers are compared as IPv4, so such a range would be idle. */
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
