import { consumeRateLimit, type HeaderWriter, type RateLimit } from '../http/rate-limit.ts'
import type { Refusal } from '../http/refusal.ts'
import { parseIpAddress } from '../util/ip-address.ts'
import type { AddressLimit } from './address-limits.ts'
import type { BrowserCaller } from './authenticate-browser.ts'
import type { AddressedRequest } from './client-address.ts'
import type { TrackerIdentity } from './store.ts'

interface PublishableLimits {
  /** Per visitor's address and tracker. */
  browser: AddressLimit | null
  publishableKey: RateLimit | null
}

type BrowserRequest = AddressedRequest & {
  tracker: TrackerIdentity
  browser: BrowserCaller | null
}

/**
 * The address comes first: one that is refused takes nothing from the quota of the key. Its own
 * quota is announced, because that of the key would tell every visitor how busy the shop is.
 */
export function consumeBrowserLimits(
  limits: PublishableLimits,
  request: BrowserRequest,
  reply: HeaderWriter,
): Refusal | null {
  const address = findVisitorAddress(limits, request)
  if (limits.browser && address !== null) {
    const refusal = consumeRateLimit(limits.browser.limit, address, reply)
    if (refusal) return refusal
  }
  const keyId = request.browser?.keyId ?? ''
  const announced = address === null ? reply : NO_HEADERS
  return limits.publishableKey && consumeRateLimit(limits.publishableKey, keyId, announced)
}

const NO_HEADERS: HeaderWriter = { header: () => {} }

/** The address at this tracker; null without a limit, or when a forwarder does not know it. */
function findVisitorAddress(
  { browser: limit }: PublishableLimits,
  request: BrowserRequest,
): string | null {
  if (!limit) return null
  const { browser, tracker } = request
  const ip = browser?.edge?.ipAddress ?? ''
  if (browser?.isForwarded && parseIpAddress(ip) === null) return null
  const address = limit.addressOf(browser?.isForwarded ? { ip, headers: {} } : request)
  return `${tracker.trackerId} ${address}`
}
