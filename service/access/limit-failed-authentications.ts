import { hash } from 'node:crypto'
import { refuse } from '../http/rate-limit.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { SharedNumberMap } from '../http/shared-number-map.ts'
import type { AddressLimit } from './limit-addresses.ts'

/** Credentials that are remembered as good while somebody guesses. */
const WORKING_MAX = 10_000

/** Slots for each of them: a set of slots that is full would forget one before its time. */
const WORKING_ROOM = 4

/** For threads that remember together. */
export function allocateWorkingMemory(): SharedArrayBuffer {
  return SharedNumberMap.allocate(WORKING_MAX * WORKING_ROOM)
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
  workingMemory = allocateWorkingMemory(),
): void {
  const { limiter } = limit
  const working = new WorkingCredentials(workingMemory)

  app.addHook('onRequest', (request, _reply, done) => {
    if (limiter.isIdle || !asksForCredential(request)) return done()
    const { waitSeconds } = limiter.look(addressOf(request))
    if (waitSeconds === 0 || working.has(digestOf(request))) done()
    else done(refuse(limit, waitSeconds))
  })
  // After the guard: who comes this far has shown a credential that works.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (limiter.isIdle) working.clear()
    else if (hasShownCredential(request)) working.add(digestOf(request))
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    const isFailure = error instanceof Refusal && error.status === 401
    if (isFailure && asksForCredential(request)) limiter.take(addressOf(request))
    done()
  })
}

/** A set that is forgotten as a whole, by raising the number under which its members are kept. */
class WorkingCredentials {
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
    const { words } = this.#rounds
    const count = Atomics.add(words, WorkingCredentials.#COUNT, 1)
    if (count >= WORKING_MAX) {
      this.clear()
      Atomics.store(words, WorkingCredentials.#COUNT, 1)
    }
    this.#rounds.update(digest, () => this.#round())
  }

  clear(): void {
    const { words } = this.#rounds
    if (Atomics.exchange(words, WorkingCredentials.#COUNT, 0) === 0) return
    Atomics.add(words, WorkingCredentials.#ROUND, 1)
  }

  /** From 1, as an unknown digest has 0. */
  #round(): number {
    return 1 + Atomics.load(this.#rounds.words, WorkingCredentials.#ROUND)
  }
}

/** The routes of agents ask in a hook of their own, which is over by now. */
function hasShownCredential(request: GuardedRequest & { tracker: unknown }): boolean {
  return Boolean(request.tracker) || request.routeOptions.config.credential === 'agent'
}

interface GuardedRequest {
  routeOptions: { config: { credential?: string } }
  headers: { authorization?: string | undefined }
  query: unknown
}

function asksForCredential({ routeOptions }: GuardedRequest): boolean {
  return routeOptions.config.credential !== 'none'
}

/** Of all that may be a credential. Secrets are kept as digests only, also here. */
function digestOf({ headers, query }: GuardedRequest): string {
  const { key = '' } = query as { key?: unknown }
  return hash('sha256', `${headers.authorization ?? ''} ${key}`, 'base64')
}
