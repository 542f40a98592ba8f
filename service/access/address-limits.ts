import { hash } from 'node:crypto'
import { consumeRateLimit, createRateLimitRefusal, type RateLimit } from '../http/rate-limit.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { SharedNumberMap } from '../http/shared-number-map.ts'
import type { AddressedRequest } from './client-address.ts'

export interface AddressLimit {
  limit: RateLimit
  /** By whom a request is counted. */
  addressOf: (request: AddressedRequest) => string
}

/**
 * Limits the routes of `app`, a part of the service with hooks of its own, by the client's address:
 * for what anybody may call without a credential. A preflight asks for nothing yet and is free.
 */
export function limitAddresses(app: ServiceApp, { limit, addressOf }: AddressLimit): void {
  app.addHook('onRequest', (request, reply, done) => {
    const isPreflight = request.method === 'OPTIONS'
    const refusal = isPreflight ? null : consumeRateLimit(limit, addressOf(request), reply)
    if (refusal) done(refusal)
    else done()
  })
}

/** Credentials that are remembered as good while somebody guesses. */
const VALID_CREDENTIALS_MAX = 10_000

/** Slots for each of them: a set of slots that is full would forget one before its time. */
const SLOTS_PER_CREDENTIAL = 4

/** For threads that remember together. */
export function allocateValidCredentialMemory(): SharedArrayBuffer {
  return SharedNumberMap.allocate(VALID_CREDENTIALS_MAX * SLOTS_PER_CREDENTIAL)
}

/**
 * Lets an address guess only so often: once it has failed too often, a credential that nobody has
 * seen working is refused with 429 before the store is asked for it.
 *
 * Several callers may share an address (an office, a proxy), so one that guesses must not lock out
 * the others: a credential that worked since the failures began is let through to the guard. While
 * nobody fails, a request costs one comparison. To be registered before the guard.
 */
export function limitFailedAuthentications(
  app: ServiceApp,
  { limit, addressOf }: AddressLimit,
  workingMemory = allocateValidCredentialMemory(),
): void {
  const { limiter } = limit
  const working = new ValidCredentials(workingMemory)

  app.addHook('onRequest', (request, _reply, done) => {
    if (limiter.isIdle || !requiresCredential(request)) return done()
    const { waitSeconds } = limiter.peek(addressOf(request))
    if (waitSeconds === 0 || working.has(digestCredential(request))) done()
    else done(createRateLimitRefusal(limit, waitSeconds))
  })
  // After the guard: who comes this far has shown a credential that works.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (limiter.isIdle) working.clear()
    else if (hasValidCredential(request)) working.add(digestCredential(request))
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    const isFailure = error instanceof Refusal && error.status === 401
    if (isFailure && requiresCredential(request)) limiter.take(addressOf(request))
    done()
  })
}

/** A set that is forgotten as a whole, by raising the number under which its members are kept. */
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
    const { integers: words } = this.#rounds
    const count = Atomics.add(words, ValidCredentials.#COUNT, 1)
    if (count >= VALID_CREDENTIALS_MAX) {
      this.clear()
      Atomics.store(words, ValidCredentials.#COUNT, 1)
    }
    this.#rounds.update(digest, () => this.#round())
  }

  clear(): void {
    const { integers: words } = this.#rounds
    if (Atomics.exchange(words, ValidCredentials.#COUNT, 0) === 0) return
    Atomics.add(words, ValidCredentials.#ROUND, 1)
  }

  /** From 1, as an unknown digest has 0. */
  #round(): number {
    return 1 + Atomics.load(this.#rounds.integers, ValidCredentials.#ROUND)
  }
}

/** The routes of agents ask in a hook of their own, which is over by now. */
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

/** Of all that may be a credential. Secrets are kept as digests only, also here. */
function digestCredential({ headers, query }: GuardedRequest): string {
  const { key = '' } = query as { key?: unknown }
  return hash('sha256', `${headers.authorization ?? ''} ${key}`, 'base64')
}
