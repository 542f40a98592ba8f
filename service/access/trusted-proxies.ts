import { BlockList, isIP } from 'node:net'
import { bareAddress } from '../identity/bare-address.ts'
import type { Network } from '../settings/networks.ts'

/** More proxies than any chain has; a hostile header is as long as headers may be. */
const HOPS_MAX = 50

export interface TrustedProxies {
  isTrusted(peer: string | undefined): boolean
  /**
   * The browser's address by X-Forwarded-For: each proxy appends whom it saw, so the chain is read
   * from its end, past our own proxies, to the first stranger. What stands before may be invented.
   * Null when there is no stranger, or an entry that is no address hides who came next.
   */
  clientOf(forwardedFor: string | undefined): string | null
}

/** The proxies that are believed when they say for whom they speak (domain reference, H). */
export function trustedProxies(networks: readonly Network[]): TrustedProxies {
  const list = new BlockList()
  for (const { address, prefixBits, family } of networks) {
    list.addSubnet(address, prefixBits, family)
  }
  const isOurs = (address: string) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return {
    isTrusted(peer) {
      const address = peer === undefined ? null : bareAddress(peer)
      return address !== null && isOurs(address)
    },
    clientOf(forwardedFor = '') {
      for (const entry of forwardedFor.split(',').slice(-HOPS_MAX).reverse()) {
        const address = bareAddress(entry)
        if (address === null || !isOurs(address)) return address
      }
      return null
    },
  }
}
