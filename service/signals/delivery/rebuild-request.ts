import type { StoredEvent } from '../events/event-store.ts'
import type { OutboundEvent } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { toOriginalEvent, toOutboundEvent } from './outbound-event.ts'
import { findPlatformIdentity } from './review-deliveries.ts'

/** Why there is no request to show. */
export type MissingRequest =
  | 'not_sent'
  | 'no_payload'
  | 'no_platform_identity'
  | 'restatement'
  | 'platform_unknown'

export interface RebuiltRequest {
  /** JSON text with shortened identifiers. */
  body: string
}

interface RequestOf {
  event: StoredEvent
  parent: StoredEvent | null
  platforms: PlatformRegistry
}

/** Stands for the code of test events, which a person can read at the destination. */
const TEST_CODE = 'TEST'

/**
 * The body of the request that carried a delivery, built again from what is stored now: requests
 * are not kept. It has this event only, although a request may carry more. The identity expires, so
 * the request does. Digests and identifiers are shortened, so that nobody can look a person up with
 * them, and credentials are in no body.
 */
export function rebuildRequest(
  delivery: StoredDelivery,
  { event, parent, platforms }: RequestOf,
): RebuiltRequest | { missing: MissingRequest } {
  const { destinationId, destinationConfig, hasIdPrefix, isTest, toldValue } = delivery
  if (delivery.attemptCount === 0) return { missing: 'not_sent' }
  if (event.payload === null) return { missing: 'no_payload' }
  // A refund sends its purchase once more, with the net value.
  if (toldValue !== null) return { missing: 'restatement' }
  const platform = delivery.platform === null ? null : platforms.find(delivery.platform)
  const target = platform?.parseTarget(destinationConfig ?? {}) ?? null
  if (!platform || destinationId === null || target === null) {
    return { missing: 'platform_unknown' }
  }
  const identity = findPlatformIdentity(event.payload, platform)
  if (!identity) return { missing: 'no_platform_identity' }
  const originalEvent = parent && toOriginalEvent(parent, destinationId)
  const names = { destinationId, originalEvent, hasIdPrefix }
  const outbound = toOutboundEvent({ event, identity, platform, ...names })
  const body = platform.buildBody({ target, testCode: isTest ? TEST_CODE : null }, [outbound])
  return { body: writeShortened(body, outbound) }
}

const DIGEST = /^[0-9a-f]{64}$/i
const DIGEST_SHOWN = 8

/** Values that are shown as they are, since they name no person. */
const SHORT = 3

function writeShortened(body: unknown, { digests, plain }: OutboundEvent): string {
  const identifiers = new Set(
    [...Object.values(digests), ...Object.values(plain)].flat().map(value => String(value)),
  )
  const shorten = (_: string, value: unknown) => {
    if (typeof value !== 'string') return value
    if (DIGEST.test(value)) return `${value.slice(0, DIGEST_SHOWN)}…`
    if (!identifiers.has(value) || value.length <= SHORT) return value
    return `${value.slice(0, Math.min(DIGEST_SHOWN, Math.floor(value.length / SHORT)))}…`
  }
  return JSON.stringify(body, shorten, 2)
}
