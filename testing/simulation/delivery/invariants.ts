import {
  FAILED_STATUSES,
  INITIAL_STATUSES,
  nextStatuses,
} from '../../../service/signals/delivery/delivery-status.ts'
import type { SendOutcome } from '../../../service/signals/platforms/platform.ts'
import type {
  DeliveryHistory,
  DeliveryRecord,
  DeliveryTransition,
  ReceiptRecord,
} from './history.ts'

/** A response that a worker of the test received. */
export interface RecordedResponse {
  worker: string
  datasetId: string
  eventIds: readonly string[]
  outcome: SendOutcome
  traceId: string | null
}

export interface Observations {
  /** Workers that were killed, or frozen until their leases had expired. */
  lostWorkers: ReadonlySet<string>
  responses?: readonly RecordedResponse[]
}

/** One delivery with everything that happened to it. */
interface DeliveryTimeline {
  delivery: DeliveryRecord
  transitions: DeliveryTransition[]
  receipts: ReceiptRecord[]
  /** Claims of lost workers that another worker took over. Each may have caused one receipt. */
  leaseTakeovers: number
}

/** The platform rejected the destination, so the event's attempt does not count. */
const UNCOUNTED_OUTCOMES: SendOutcome[] = ['auth', 'config']

/**
 * Returns one sentence for each violated invariant of a finished run. After any fault, an event may
 * be sent again only if its result was unknown: the request had no usable response, or its worker
 * was lost before storing the response.
 */
export function findInvariantViolations(
  history: DeliveryHistory,
  observations: Observations,
): string[] {
  const violations: string[] = []
  for (const timeline of buildTimelines(history)) {
    const { delivery } = timeline
    const add = (fault: string) =>
      violations.push(`${delivery.eventId} (${delivery.status}): ${fault}`)
    checkTransitions(timeline, observations, add)
    checkFinalState(timeline, history, add)
    checkRepeats(timeline, history, add)
    for (const receipt of timeline.receipts) checkReceipt(delivery, receipt, add)
  }
  return [
    ...violations,
    ...findUnknownReceipts(history),
    ...findLostResponses(history, observations),
  ]
}

function buildTimelines({
  deliveries,
  transitions,
  receipts,
}: DeliveryHistory): DeliveryTimeline[] {
  const transitionsOf = Map.groupBy(
    transitions,
    move => `${move.trackerId} ${move.eventId} ${move.id}`,
  )
  const receiptsOf = Map.groupBy(receipts, toPlatformKey)
  return deliveries.map(delivery => ({
    delivery,
    transitions:
      transitionsOf.get(`${delivery.trackerId} ${delivery.eventId} ${delivery.id}`) ?? [],
    receipts: receiptsOf.get(toPlatformKey(delivery)) ?? [],
    leaseTakeovers: 0,
  }))
}

type AddViolation = (fault: string) => void

/** Transitions follow the table, and a claimed delivery belongs to one worker. */
function checkTransitions(
  timeline: DeliveryTimeline,
  { lostWorkers }: Observations,
  add: AddViolation,
): void {
  let owner: string | null = null
  for (const { from, to, worker, isClaim, isPremature } of timeline.transitions) {
    const allowed = from === null ? INITIAL_STATUSES : nextStatuses(from)
    if (!allowed.includes(to)) add(`moved from ${from} to ${to}`)
    if (isPremature) add(`${worker} claimed it while the lease of ${owner} was running`)
    if (isClaim && owner !== null) {
      timeline.leaseTakeovers += 1
      if (!lostWorkers.has(owner)) add(`${worker} took it from ${owner}, which was not lost`)
    }
    if (!isClaim && from === 'sent' && worker !== owner) {
      add(`${worker} settled a delivery claimed by ${owner}`)
    }
    if (!isClaim && from !== 'sent' && owner !== null)
      add(`${worker} changed it while ${owner} had claimed it`)
    owner = isClaim ? worker : null
  }
}

const SETTLED_STATUSES: readonly string[] = [...FAILED_STATUSES, 'accepted', 'skipped:consent']

/** No delivery is pending, and an accepted one matches the platform's last receipt. */
function checkFinalState(
  { delivery, receipts }: DeliveryTimeline,
  { attempts }: DeliveryHistory,
  add: AddViolation,
) {
  const { status, isWaiting, attemptIds, attemptCount } = delivery
  // A request that was taken may fail as a whole later, and the withdrawal of a page may be lifted.
  const isSettled = SETTLED_STATUSES.includes(status)
  const isFinal = isSettled || nextStatuses(status).length === 0
  if (!isFinal || isWaiting) add('is not finished')
  const named = attemptIds.map(id => attempts.get(id))
  const countedAttempts = named.filter(
    attempt => attempt && !UNCOUNTED_OUTCOMES.includes(attempt.outcome),
  )
  if (named.includes(undefined)) add('refers to a missing attempt')
  if (attemptCount < countedAttempts.length)
    add(`counts ${attemptCount} of ${countedAttempts.length} attempts`)
  const others = named.filter(attempt => attempt && attempt.isTest !== delivery.isTest)
  if (others.length > 0) add('mixes live and test attempts')

  if (status !== 'accepted') return
  const last = named.at(-1)
  if (last?.outcome !== 'accepted') add('has no accepted attempt')
  const receivedLast = receipts.at(-1)?.requestId
  if (receivedLast === undefined) add('was never received')
  else if (receivedLast !== last?.traceId) add('was received again after it was accepted')
  if (delivery.traceId !== last?.traceId) add('has a trace ID other than its last attempt')
}

/** Every receipt other than the accepted one needs a result that was unknown. */
function checkRepeats(
  timeline: DeliveryTimeline,
  { attempts }: DeliveryHistory,
  add: AddViolation,
): void {
  const { delivery, receipts, leaseTakeovers: takeovers } = timeline
  const unknown = delivery.attemptIds.filter(id => attempts.get(id)?.outcome === 'unknown').length
  const accepted = delivery.status === 'accepted' ? 1 : 0
  if (receipts.length <= unknown + takeovers + accepted) return
  add(`received ${receipts.length} times: ${unknown} unknown, ${takeovers} taken over`)
}

/** Every copy has the same ID and time, by which the platform deduplicates. */
function checkReceipt(delivery: DeliveryRecord, receipt: ReceiptRecord, add: AddViolation): void {
  const seconds = Math.floor(delivery.eventTime.getTime() / 1_000)
  if (receipt.eventName !== delivery.eventName) add(`was received as ${receipt.eventName}`)
  if (receipt.eventTimeSeconds !== seconds) add('was received with another time')
  if ((receipt.testEventCode !== null) !== delivery.isTest) add('mixes live and test requests')
  if (normalizeAmount(receipt.value) !== normalizeAmount(delivery.valueAmount)) {
    add(`is worth ${delivery.valueAmount} and was received with ${receipt.value}`)
  }
  if (receipt.currency !== delivery.valueCurrency) add(`was received in ${receipt.currency}`)
}

function findUnknownReceipts({ deliveries, receipts }: DeliveryHistory): string[] {
  const known = new Set(deliveries.map(toPlatformKey))
  const unknownReceipts = receipts.filter(receipt => !known.has(toPlatformKey(receipt)))
  return unknownReceipts.map(({ eventId }) => `${eventId}: received, and not in the ledger`)
}

/**
 * Every response that a live worker received is stored. A lost worker may miss at most one.
 */
function findLostResponses(
  history: DeliveryHistory,
  { responses = [], lostWorkers }: Observations,
): string[] {
  const deliveries = Map.groupBy(history.deliveries, toPlatformKey)
  const isWritten = ({ datasetId, eventIds, traceId }: RecordedResponse) =>
    eventIds.every(eventId => {
      const [delivery] = deliveries.get(toPlatformKey({ datasetId, eventId })) ?? []
      return delivery?.status === 'accepted' && delivery.traceId === traceId
    })
  const accepted = responses.filter(({ outcome }) => outcome === 'accepted')
  const missing = Map.groupBy(
    accepted.filter(answer => !isWritten(answer)),
    ({ worker }) => worker,
  )
  return [...missing]
    .filter(([worker, answers]) => answers.length > (lostWorkers.has(worker) ? 1 : 0))
    .map(([worker, { length }]) => `${worker}: ${length} accepted responses were not stored`)
}

function toPlatformKey({ datasetId, eventId }: { datasetId: string; eventId: string }): string {
  return `${datasetId} ${eventId}`
}

/** 19.90 and 19.9 are the same amount; only trailing zeros are dropped. */
function normalizeAmount(amount: string | null): string | null {
  return amount?.includes('.') ? amount.replace(/\.?0+$/, '') : amount
}
