import type { AddressedRequest, AddressLimit } from '../../runtime/http/client-address.ts'
import {
  consumeRateLimit,
  type HeaderWriter,
  type RateLimit,
  takeRateLimit,
} from '../../runtime/http/rate-limit.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { parseIpAddress } from '../../runtime/util/ip-address.ts'
import type { BrowserCaller } from './authenticate-publishable-key.ts'
import type { TrackerIdentity } from './tracker-store.ts'

interface PublishableLimits {
  /** Per visitor's address and tracker. */
  browser: AddressLimit | null
  publishableKey: RateLimit | null
}

export interface TrackerLimits extends PublishableLimits {
  tracker: RateLimit | null
}

export type BrowserRequest = AddressedRequest & {
  tracker: TrackerIdentity
  browser: BrowserCaller | null
}

/**
 * One token per request. It runs after the guard, so that a stranger cannot use up a quota, and
 * before the body is read. Events of pages never count against the quota of the tracker secret: a
 * publishable key is public, and a flood of its events must not stop purchases of the back end.
 *
 * A forwarder proves its signature with the body, so its requests count once that is verified.
 */
export function limitTrackers(app: ServiceApp, limits: TrackerLimits): void {
  const { tracker: limit } = limits
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.tracker || request.bodyRules?.verify) return done()
    const refusal = request.browser
      ? consumeBrowserLimits(limits, request, reply)
      : limit && consumeRateLimit(limit, request.tracker.trackerId, reply)
    if (refusal) done(refusal)
    else done()
  })
  app.shortRoad.addGate((request, reply) => {
    if (request.browser) return takeBrowserLimits(limits, request, reply)
    return limit === null || takeRateLimit(limit, request.tracker.trackerId, reply)
  })
  app.addHook('preValidation', (request, reply, done) => {
    const refusal = request.browser?.isForwarded
      ? consumeBrowserLimits(limits, request, reply)
      : null
    if (refusal) done(refusal)
    else done()
  })
}

/**
 * Takes the further events of a batch, whose first event `limitTrackers` took: the limits count
 * events. Returns how many there was quota for, and the refusal of the others.
 */
export function takeFurtherEvents(
  limits: TrackerLimits,
  { request, count }: { request: BrowserRequest; count: number },
  reply: HeaderWriter,
): { taken: number; refusal: Refusal | null } {
  for (let taken = 0; taken < count; taken += 1) {
    const announced = taken === count - 1 ? reply : NO_HEADERS
    const left = count - taken
    const refusal = request.browser
      ? consumeBrowserLimits(limits, request, announced, left)
      : limits.tracker &&
        consumeRateLimit(limits.tracker, request.tracker.trackerId, announced, left)
    if (refusal) return { taken, refusal }
  }
  return { taken: count, refusal: null }
}

/**
 * The address comes first: one that is refused takes nothing from the quota of the key. Its own
 * quota is announced, because that of the key would tell every visitor how busy the shop is.
 */
function consumeBrowserLimits(
  limits: PublishableLimits,
  request: BrowserRequest,
  reply: HeaderWriter,
  refusedCount = 1,
): Refusal | null {
  const address = findVisitorAddress(limits, request)
  if (limits.browser && address !== null) {
    const refusal = consumeRateLimit(limits.browser.limit, address, reply, refusedCount)
    if (refusal) return refusal
  }
  const keyId = request.browser?.keyId ?? ''
  const announced = address === null ? reply : NO_HEADERS
  const { publishableKey } = limits
  return publishableKey && consumeRateLimit(publishableKey, keyId, announced, refusedCount)
}

/**
 * The same for a request that the hook refuses, from whose buckets nothing is taken: both are
 * looked at before one is taken from.
 */
function takeBrowserLimits(
  limits: PublishableLimits,
  request: BrowserRequest,
  reply: HeaderWriter,
): boolean {
  const address = findVisitorAddress(limits, request)
  const taken: [RateLimit, string, HeaderWriter][] = []
  if (limits.browser && address !== null) taken.push([limits.browser.limit, address, reply])
  const announced = address === null ? reply : NO_HEADERS
  const keyId = request.browser?.keyId ?? ''
  if (limits.publishableKey) taken.push([limits.publishableKey, keyId, announced])
  if (taken.some(([{ limiter }, key]) => limiter.peek(key).waitSeconds > 0)) return false
  return taken.every(one => takeRateLimit(...one))
}

export interface WithdrawalLimits {
  /** Per visitor's address and tracker. */
  pageWithdrawals: AddressLimit | null
  pageWithdrawalsOfTracker: RateLimit | null
}

/**
 * Counts a withdrawal that a page sends, beside the limits of its events: each costs searches.
 * Throws the 429 refusal. The quota of the event is announced, not this one.
 */
export function takePageWithdrawal(
  { pageWithdrawals, pageWithdrawalsOfTracker }: WithdrawalLimits,
  request: BrowserRequest,
): void {
  const address = findVisitorAddress({ browser: pageWithdrawals }, request)
  const ofAddress =
    pageWithdrawals && address !== null
      ? consumeRateLimit(pageWithdrawals.limit, address, NO_HEADERS)
      : null
  if (ofAddress) throw ofAddress
  const { trackerId } = request.tracker
  const ofTracker =
    pageWithdrawalsOfTracker && consumeRateLimit(pageWithdrawalsOfTracker, trackerId, NO_HEADERS)
  if (ofTracker) throw ofTracker
}

const NO_HEADERS: HeaderWriter = { header: () => {} }

/** The address at this tracker; null without a limit, or when a forwarder does not know it. */
function findVisitorAddress(
  { browser: limit }: Pick<PublishableLimits, 'browser'>,
  request: BrowserRequest,
): string | null {
  if (!limit) return null
  const { browser, tracker } = request
  const ip = browser?.edge?.ipAddress ?? ''
  if (browser?.isForwarded && parseIpAddress(ip) === null) return null
  const address = limit.addressOf(browser?.isForwarded ? { ip, headers: {} } : request)
  return `${tracker.trackerId} ${address}`
}
