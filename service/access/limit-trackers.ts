import { type RateLimit, takeFrom } from '../http/rate-limit.ts'
import type { ServiceApp } from '../http/service-app.ts'

/**
 * One request, one token of its tracker, whichever of its keys was sent. After the guard, so that
 * nobody can use up what belongs to another, and before the body is read.
 */
export function limitTrackers(app: ServiceApp, limit: RateLimit): void {
  app.addHook('onRequest', ({ tracker }, reply, done) => {
    const refusal = tracker ? takeFrom(limit, tracker.trackerId, reply) : null
    if (refusal) done(refusal)
    else done()
  })
}
