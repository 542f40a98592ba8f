import { hash } from 'node:crypto'
import { refuse } from '../http/rate-limit.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { SharedNumberMap } from '../http/shared-number-map.ts'
import type { AddressLimit } from './limit-addresses.ts'

/** Credentials that are remembered as good while somebody guesses. */
const WORKING_MAX = 10_000

export interface WorkingCredentials {
  /** Of `allocateWorkingMemory`, where several threads remember together. */
  workingMemory: SharedArrayBuffer | undefined
  /** Seconds of a clock that only goes forward, the limiter's. */
  steadySeconds: () => number
}

export function allocateWorkingMemory(): SharedArrayBuffer {
  return SharedNumberMap.allocate(WORKING_MAX)
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
  { workingMemory, steadySeconds }: WorkingCredentials,
): void {
  const { limiter } = limit
  const working = new SharedNumberMap(workingMemory ?? allocateWorkingMemory())
  const hasWorked = (request: GuardedRequest) =>
    working.get(digestOf(request)) >= Math.max(1, limiter.busySinceSeconds)

  app.addHook('onRequest', (request, _reply, done) => {
    if (limiter.isIdle || !asksForCredential(request)) return done()
    const { waitSeconds } = limiter.look(addressOf(request))
    if (waitSeconds === 0 || hasWorked(request)) done()
    else done(refuse(limit, waitSeconds))
  })
  // After the guard: who comes this far has shown a credential that works.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (!limiter.isIdle && hasShownCredential(request)) {
      const seconds = steadySeconds()
      working.update(digestOf(request), () => seconds)
    }
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    const isFailure = error instanceof Refusal && error.status === 401
    if (isFailure && asksForCredential(request)) limiter.take(addressOf(request))
    done()
  })
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
