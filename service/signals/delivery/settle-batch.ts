import { isRollback, isStoreUnavailable } from '../../runtime/db/database-errors.ts'
import { formatUtcDay, monotonicSeconds } from '../../runtime/util/time.ts'
import { sleep } from '../../runtime/util/wait.ts'
import type { OutboundEvent, SendOutcome } from '../platforms/platform.ts'
import type { SentGroup, SentTally } from './attempt-store.ts'
import type { ClaimedBatch } from './claim-store.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { clampEventTime } from './outbound-event.ts'
import type { NewReceipt } from './receipt-store.ts'
import type { Settlement } from './retry-policy.ts'
import { platformNameOf } from './routing.ts'
import type { OutboundDelivery } from './send-events.ts'
import { type KeyedSettlement, settleDeliveries } from './settlement-store.ts'

interface BatchSettlement {
  settlements: readonly Settlement[]
  /** The request that decided them; null when they are settled unsent. */
  request: DecidedRequest | null
}

/** One request, and the events that its answer settles. */
interface DecidedRequest {
  decided: readonly OutboundDelivery[]
  /** By delivery ID: an answer may settle each event for itself. */
  outcomes: ReadonlyMap<number, SendOutcome>
  receipt: NewReceipt | null
}

/**
 * Writes the outcome of deliveries of the batch that still belong to this worker, and returns how
 * many did. It retries until the lease ends: the statement requires the lease and ends it, so a
 * retry after a commit whose confirmation was lost matches no row and counts nothing twice. It then
 * returns fewer than were settled.
 */
export async function settleBatch(
  { database, now, isStopping, onSettled, onSettleRetry }: DeliveryContext,
  batch: ClaimedBatch,
  { settlements, request }: BatchSettlement,
): Promise<number> {
  const { destination, leaseEndsAt, leaseEndsAtSeconds } = batch
  const settled = {
    trackerId: destination.trackerId,
    destinationId: destination.id,
    leaseEndsAt,
    at: now(),
    settlements: settlements.map(settlement => addKey(batch, settlement)),
    sent: tallySent(
      batch,
      settlements.map(({ id }) => id),
      request,
    ),
    receipt: request?.receipt ?? null,
  }
  const startedAt = monotonicSeconds()
  const count = await retryWhileLeased(() => settleDeliveries(database, settled), {
    leaseEndsAtSeconds,
    isStopping,
    onRetry: onSettleRetry,
  })
  const seconds = monotonicSeconds() - startedAt
  if (settlements.length > 0) onSettled?.(settlements, seconds, settled.trackerId)
  return count
}

function addKey({ claimed }: ClaimedBatch, settlement: Settlement): KeyedSettlement {
  const delivery = claimed.get(settlement.id)
  if (!delivery) throw new Error(`delivery ${settlement.id} is not of this batch`)
  return { ...settlement, createdAt: delivery.createdAt }
}

/**
 * What deliveries of a batch add to the counts of what was sent: those of a request, or, without
 * one, those that are settled unsent. A delivery taken over from a dead worker had an attempt whose
 * outcome is unknown. Grouped here, because a batch of a thousand has only a few groups.
 */
function tallySent(
  batch: ClaimedBatch,
  settledIds: readonly number[],
  request: DecidedRequest | null,
): SentTally {
  const groups = new Map<string, SentGroup>()
  const marks: SentTally['marks'] = new Map()
  const sentEvents = new Map(request?.decided.map(({ id, event }) => [id, event]))
  for (const id of settledIds) {
    const isUnknown = request?.outcomes.get(id) === 'unknown'
    const isTakeover = batch.claimed.get(id)?.isLeaseTakeover === true
    const event = findCounted(batch, { id, sent: sentEvents.get(id), isTakeover })
    if (!event) continue
    const group = findOrAddGroup(groups, event)
    const unknown = Number(isUnknown) + Number(isTakeover)
    const amount = event.valueCurrency === null ? null : event.valueAmount
    marks.set(id, { groupNumber: group.number, unknown, amount })
  }
  return { groups: [...groups.values()], marks }
}

type CountedEvent = Pick<
  OutboundEvent,
  'platformName' | 'eventTime' | 'digests' | 'plain' | 'valueAmount' | 'valueCurrency'
>

/**
 * A refund that is sent as its purchase with a new value is counted under its own name, and without
 * identifiers and value: those of the purchase are counted already.
 */
function findCounted(
  batch: ClaimedBatch,
  { id, sent, isTakeover }: { id: number; sent: OutboundEvent | undefined; isTakeover: boolean },
): CountedEvent | null {
  const isRestated = sent !== undefined && sent.eventName !== batch.events.get(id)?.eventName
  if (sent && !isRestated) return sent
  return isRestated || isTakeover ? unsentEvent(batch, id) : null
}

/** Without identifiers and value, which are counted for accepted events only. */
function unsentEvent({ events, destination }: ClaimedBatch, id: number): CountedEvent | null {
  const event = events.get(id)
  if (!event) return null
  const platformName = platformNameOf(event, destination.id)
  const eventTime = clampEventTime(event)
  const uncounted = { digests: {}, plain: {}, valueAmount: null, valueCurrency: null }
  return { platformName, eventTime, ...uncounted }
}

/** The keys by which a platform identifies the person of an event, in order. */
export function listMatchKeys({
  digests,
  plain,
}: Pick<OutboundEvent, 'digests' | 'plain'>): string[] {
  return [...Object.keys(digests), ...Object.keys(plain)].sort()
}

function findOrAddGroup(groups: Map<string, SentGroup>, event: CountedEvent): SentGroup {
  // Reports compare these counts with the platform's, which knows its own name only.
  const eventName = event.platformName
  const eventOn = formatUtcDay(event.eventTime)
  const keys = listMatchKeys(event)
  const currency = event.valueAmount === null ? null : event.valueCurrency
  const groupKey = `${eventOn} ${currency ?? '-'} ${keys.join(' ')} ${eventName}`
  const group = groups.get(groupKey) ?? { number: groups.size, eventName, eventOn, keys, currency }
  groups.set(groupKey, group)
  return group
}

interface LeaseOptions {
  /** By this process's monotonic clock. */
  leaseEndsAtSeconds: number
  isStopping?: (() => boolean) | undefined
  /** For counting. */
  onRetry?: (() => void) | undefined
}

const PAUSE_SECONDS_MIN = 0.05
const PAUSE_SECONDS_MAX = 1
/** After a later write another worker would have claimed the rows. */
const MARGIN_SECONDS = 1
/** A process that is stopping has half a minute for everything. */
const STOPPING_SECONDS_MAX = 5

/**
 * Writes to the database, and retries while it is unavailable and the lease lasts. A connection
 * that breaks between the platform's answer and its settlement would otherwise send every event of
 * the request again. A write whose connection broke may have been committed, so `write` must be
 * idempotent.
 */
export async function retryWhileLeased<Result>(
  write: () => Promise<Result>,
  { leaseEndsAtSeconds, isStopping, onRetry }: LeaseOptions,
): Promise<Result> {
  const startedAt = monotonicSeconds()
  let pauseSeconds = PAUSE_SECONDS_MIN
  for (;;) {
    try {
      return await write()
    } catch (error) {
      const lastAt = leaseEndsAtSeconds - MARGIN_SECONDS
      const endsAt = isStopping?.() ? Math.min(lastAt, startedAt + STOPPING_SECONDS_MAX) : lastAt
      if (
        !(isStoreUnavailable(error) || isRollback(error)) ||
        monotonicSeconds() + pauseSeconds > endsAt
      )
        throw error
    }
    onRetry?.()
    await sleep(pauseSeconds)
    pauseSeconds = Math.min(pauseSeconds * 2, PAUSE_SECONDS_MAX)
  }
}
