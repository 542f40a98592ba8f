import { type RateLimit, takeFrom } from '../http/rate-limit.ts'
import type { ServiceApp } from '../http/service-app.ts'
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
    const refusal = isPreflight ? null : takeFrom(limit, addressOf(request), reply)
    if (refusal) done(refusal)
    else done()
  })
}
