import type { ServiceApp } from '../http/service-app.ts'
import { type SheddingOptions, shedLoad } from '../http/shed-load.ts'
import { limitFailedAuthentications } from './limit-failed-authentications.ts'
import { limitTrackers } from './limit-trackers.ts'
import { type RequestLimits, type RequestLimitsOptions, requestLimits } from './request-limits.ts'

export interface LimitOptions extends RequestLimitsOptions, SheddingOptions {
  /** Registers what asks who is there. */
  guard: () => void
}

/**
 * Keeps one caller from taking the service from all others. In the order in which a request meets
 * them: overload, failed authentications, the guard, its tracker's rate. None has read a body yet.
 */
export function limitRequests(app: ServiceApp, { guard, ...options }: LimitOptions): RequestLimits {
  const limits = requestLimits(options)
  shedLoad(app, options)
  const working = options.memory?.working_credentials
  if (limits.failedAuthentications) {
    limitFailedAuthentications(app, limits.failedAuthentications, working)
  }
  guard()
  if (limits.tracker) limitTrackers(app, limits.tracker)
  return limits
}
