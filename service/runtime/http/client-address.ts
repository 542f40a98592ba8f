import { hash } from 'node:crypto'
import proxyAddr from '@fastify/proxy-addr'
import {
  createNetworkMatcher,
  type IpAddress,
  type Network,
  parseIpAddress,
} from '../util/ip-address.ts'
import { objectOrEmpty } from '../util/is-object.ts'
import { consumeRateLimit, createRateLimitRefusal, type RateLimit } from './rate-limit.ts'
import { Refusal } from './refusal.ts'
import type { ServiceApp } from './service-app.ts'
import { SharedNumberMap } from './shared-number-map.ts'

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

export interface AddressLimit {
  limit: RateLimit
  /** Returns the key under which a request counts. */
  addressOf: (request: AddressedRequest) => string
}

/**
 * Limits all routes of `app`, an encapsulated part of the service, by the client's address. For
 * routes that need no credential. Preflights are not counted.
 */
export function limitAddresses(app: ServiceApp, { limit, addressOf }: AddressLimit): void {
  app.addHook('onRequest', (request, reply, done) => {
    const isPreflight = request.method === 'OPTIONS'
    const refusal = isPreflight ? null : consumeRateLimit(limit, addressOf(request), reply)
    if (refusal) done(refusal)
    else done()
  })
}

/** Valid credentials that are remembered while an address is guessing. */
const VALID_CREDENTIALS_MAX = 10_000

/** Spare entries, because a full set of the map evicts before the map is full. */
const ENTRIES_PER_CREDENTIAL = 4

/** Memory that several threads can share. */
export function allocateValidCredentialMemory(): SharedArrayBuffer {
  return SharedNumberMap.allocate(VALID_CREDENTIALS_MAX * ENTRIES_PER_CREDENTIAL)
}

/**
 * Limits how often an address can guess. After too many failures, a credential that has not worked
 * recently is refused with 429 before the store is queried.
 *
 * Several callers may share an address (an office, a proxy), so one that guesses must not lock out
 * the others: a credential that has worked since the failures began still reaches the guard. While
 * no request fails, the check costs one comparison. Register it before the guard.
 */
export function limitFailedAuthentications(
  app: ServiceApp,
  { limit, addressOf }: AddressLimit,
  memory = allocateValidCredentialMemory(),
): void {
  const { limiter } = limit
  const valid = new ValidCredentials(memory)

  app.addHook('onRequest', (request, _reply, done) => {
    if (limiter.isIdle || !requiresCredential(request)) return done()
    const { waitSeconds } = limiter.peek(addressOf(request))
    if (waitSeconds === 0 || valid.has(digestCredential(request))) done()
    else done(createRateLimitRefusal(limit, waitSeconds))
  })
  // With failures, a request takes the hooks. The credentials of an earlier round count no more.
  app.shortRoad.addGate(() => {
    if (!limiter.isIdle) return false
    valid.clear()
    return true
  })
  // Runs after the guard, so the credential is valid.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (limiter.isIdle) valid.clear()
    else if (hasValidCredential(request)) valid.add(digestCredential(request))
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    const isFailure = error instanceof Refusal && error.status === 401
    if (isFailure && requiresCredential(request)) limiter.take(addressOf(request))
    done()
  })
}

/** A set that is cleared by one step: its members carry the number of the current round. */
class ValidCredentials {
  static readonly #ROUND = 0
  static readonly #COUNT = 1
  readonly #rounds: SharedNumberMap

  constructor(memory: SharedArrayBuffer) {
    this.#rounds = new SharedNumberMap(memory)
  }

  has(digest: string): boolean {
    return this.#rounds.get(digest) === this.#round()
  }

  add(digest: string): void {
    if (this.has(digest)) return
    const { integers } = this.#rounds
    const count = Atomics.add(integers, ValidCredentials.#COUNT, 1)
    if (count >= VALID_CREDENTIALS_MAX) {
      this.clear()
      Atomics.store(integers, ValidCredentials.#COUNT, 1)
    }
    this.#rounds.update(digest, () => this.#round())
  }

  clear(): void {
    const { integers } = this.#rounds
    if (Atomics.exchange(integers, ValidCredentials.#COUNT, 0) === 0) return
    Atomics.add(integers, ValidCredentials.#ROUND, 1)
  }

  /** Starts at 1, because an unknown digest has 0. */
  #round(): number {
    return 1 + Atomics.load(this.#rounds.integers, ValidCredentials.#ROUND)
  }
}

/** Agent routes check their token in an earlier hook, which has thrown if it is invalid. */
function hasValidCredential(request: GuardedRequest & { tracker: unknown }): boolean {
  return Boolean(request.tracker) || request.routeOptions.config.credential === 'agent'
}

interface GuardedRequest {
  routeOptions: { config: { credential?: string } }
  headers: { authorization?: string | undefined }
  query: unknown
}

function requiresCredential({ routeOptions }: GuardedRequest): boolean {
  return routeOptions.config.credential !== 'none'
}

/** Covers every place of a credential. Secrets are stored as digests only, in memory too. */
function digestCredential({ headers, query }: GuardedRequest): string {
  const { key = '' } = objectOrEmpty(query)
  return hash('sha256', `${headers.authorization ?? ''} ${key}`, 'base64')
}
