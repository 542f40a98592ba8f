import { BlockList, isIP } from 'node:net'
import { parseIpAddress } from '../identity/ip-address.ts'
import type { Network } from '../settings/networks.ts'

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
export function createClientAddressReader(
  proxies: TrustedProxies,
): ({ ip, headers }: AddressedRequest) => string {
  return ({ ip, headers }) => {
    const chain = headers['x-forwarded-for']
    const client = proxies.isTrusted(ip) ? proxies.findClientAddress(String(chain ?? '')) : null
    const address = client ?? parseIpAddress(ip ?? '') ?? 'unknown'
    return address.includes(':') ? toNetwork64(address) : address
  }
}

/** The first half of an IPv6 address, written in full. */
function toNetwork64(address: string): string {
  const [head = '', tail = ''] = address.split('::')
  const [before, after] = [splitGroups(head), splitGroups(tail)]
  const zeros = Array<string>(Math.max(0, GROUPS - before.length - after.length)).fill('0')
  const network = [...before, ...zeros, ...after].slice(0, NETWORK_GROUPS)
  return `${network.join(':')}::/64`
}

/** An IPv4 address at the end takes the place of two groups, which are never among the first. */
function splitGroups(text: string): string[] {
  return text.split(':').flatMap(group => {
    if (group === '') return []
    return group.includes('.') ? [group, group] : [group]
  })
}

/** More proxies than any chain has; a hostile header is as long as headers may be. */
const HOPS_MAX = 50

export interface TrustedProxies {
  isTrusted(peer: string | undefined): boolean
  /**
   * The browser's address by X-Forwarded-For: each proxy appends whom it saw, so the chain is read
   * from its end, past our own proxies, to the first stranger. What stands before may be invented.
   * Null when there is no stranger, or an entry that is no address hides who came next.
   */
  findClientAddress(forwardedFor: string | undefined): string | null
}

/** The proxies that are believed when they say for whom they speak (domain reference, H). */
export function createTrustedProxies(networks: readonly Network[]): TrustedProxies {
  const list = new BlockList()
  for (const { address, prefixBits, family } of networks) {
    list.addSubnet(address, prefixBits, family)
  }
  const isOurs = (address: string) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return {
    isTrusted(peer) {
      const address = peer === undefined ? null : parseIpAddress(peer)
      return address !== null && isOurs(address)
    },
    findClientAddress(forwardedFor = '') {
      for (const entry of forwardedFor.split(',').slice(-HOPS_MAX).reverse()) {
        const address = parseIpAddress(entry)
        if (address === null || !isOurs(address)) return address
      }
      return null
    },
  }
}
