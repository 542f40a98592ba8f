import { hash } from 'node:crypto'
import { objectOrEmpty } from '../util/is-object.ts'
import type { AddressedRequest } from './client-address.ts'
import { consumeRateLimit, createRateLimitRefusal, type RateLimit } from './rate-limit.ts'
import { Refusal } from './refusal.ts'
import type { ServiceApp } from './service-app.ts'
import { SharedNumberMap } from './shared-number-map.ts'

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
