import { bareAddress } from '../identity/bare-address.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** What an address is read from. */
export interface AddressedRequest {
  /** The peer's own address; none once it has hung up. */
  ip: string | undefined
  headers: Record<string, string | string[] | undefined>
}

const GROUPS = 8
const NETWORK_GROUPS = 4

/**
 * By whom requests without a credential are counted: by the peer, or by whom a trusted proxy says
 * it speaks for. An IPv6 address counts by its /64, since one household or server has a whole /64
 * and may use another address for each request.
 */
export function clientAddress(
  proxies: TrustedProxies,
): ({ ip, headers }: AddressedRequest) => string {
  return ({ ip, headers }) => {
    const chain = headers['x-forwarded-for']
    const client = proxies.isTrusted(ip) ? proxies.clientOf(String(chain ?? '')) : null
    const address = client ?? bareAddress(ip ?? '') ?? 'unknown'
    return address.includes(':') ? networkOf(address) : address
  }
}

/** The first half of an IPv6 address, written in full. */
function networkOf(address: string): string {
  const [head = '', tail = ''] = address.split('::')
  const [before, after] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array<string>(Math.max(0, GROUPS - before.length - after.length)).fill('0')
  const network = [...before, ...zeros, ...after].slice(0, NETWORK_GROUPS)
  return `${network.join(':')}::/64`
}

/** An IPv4 address at the end takes the place of two groups, which are never among the first. */
function groupsOf(text: string): string[] {
  return text.split(':').flatMap(group => {
    if (group === '') return []
    return group.includes('.') ? [group, group] : [group]
  })
}
