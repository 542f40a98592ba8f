import proxyAddr from '@fastify/proxy-addr'
import {
  createNetworkMatcher,
  type IpAddress,
  type Network,
  parseIpAddress,
} from '../util/ip-address.ts'

/** The parts of a request that identify its client. */
export interface AddressedRequest {
  /** The address of the peer; undefined once it has disconnected. */
  ip: string | undefined
  headers: Record<string, string | string[] | undefined>
}

/**
 * Returns the key under which the rate limits count a request: the address of the peer, or the one
 * that a trusted proxy reports. IPv6 counts by /64, because one household or server has a whole /64
 * and can use another address for each request.
 */
export function createClientAddressReader(
  proxies: TrustedProxies,
): (request: AddressedRequest) => string {
  return ({ ip, headers }) => {
    const peer = parseIpAddress(ip ?? '')
    const client = proxies.isTrusted(peer)
      ? proxies.findClientAddress(headers['x-forwarded-for'])
      : null
    return toLimitKey(client ?? peer)
  }
}

function toLimitKey(address: IpAddress | null): string {
  if (address === null) return 'unknown'
  if (address.kind() === 'ipv4') return address.toString()
  return `${toNetwork64(address as Extract<IpAddress, { parts: number[] }>)}::/64`
}

/** The first half of the address, written in full. */
function toNetwork64({ parts }: { parts: number[] }): string {
  return parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':')
}

/** More proxies than any chain has; a hostile header is as long as headers may be. */
const HOPS_MAX = 50

export interface TrustedProxies {
  isTrusted(peer: IpAddress | null): boolean
  /**
   * The browser's address in X-Forwarded-For. Each proxy appends the address it saw, so the chain
   * is read from its end, past the trusted proxies, to the first other address; the client can
   * invent everything before it. Null when the chain has no such address, or when an entry that is
   * no address hides the next hop.
   */
  findClientAddress(forwardedFor: string | string[] | undefined): IpAddress | null
}

/** Trusts the X-Forwarded-For header of peers in these networks. */
export function createTrustedProxies(networks: readonly Network[]): TrustedProxies {
  const matches = createNetworkMatcher(networks)
  const isTrusted = (address: IpAddress | null) => address !== null && matches(address)
  // Hop 0 is the peer, which the caller has found to be trusted.
  const isTrustedHop = (entry: string, hop: number) =>
    hop === 0 || (hop < HOPS_MAX && isTrusted(parseIpAddress(entry)))

  return {
    isTrusted,
    findClientAddress(forwardedFor) {
      if (forwardedFor === undefined) return null
      const chain = String(forwardedFor).replace(EMPTY_ENTRY, ',unknown')
      const client = parseIpAddress(proxyAddr(toRequest(chain), isTrustedHop))
      return isTrusted(client) ? null : client
    },
  }
}

/**
 * The library skips empty entries; to a client they would be a way to hide the hop after its own.
 */
const EMPTY_ENTRY = /,[ \t]*(?=,|$)/g

type ProxiedRequest = Parameters<typeof proxyAddr>[0]

/** The part of a request that the library reads. */
function toRequest(forwardedFor: string): ProxiedRequest {
  const request = { headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress: '' } }
  return request as unknown as ProxiedRequest
}
