import {
  FAILED_STATUSES,
  INITIAL_STATUSES,
  nextStatuses,
} from '../../../service/delivery/delivery-status.ts'
import type { SendOutcome } from '../../../service/platforms/platform.ts'
import type {
  DeliveryHistory,
  DeliveryRecord,
  DeliveryTransition,
  ReceiptRecord,
} from './history.ts'

/** A request whose answer came back to a worker of the test. */
export interface RecordedResponse {
  worker: string
  datasetId: string
  eventIds: readonly string[]
  outcome: SendOutcome
  traceId: string | null
}

export interface Observations {
  /** Workers that were killed, or that were away until their leases had ended. */
  lostWorkers: ReadonlySet<string>
  responses?: readonly RecordedResponse[]
}

/** One delivery with all that happened to it. */
interface DeliveryTimeline {
  delivery: DeliveryRecord
  transitions: DeliveryTransition[]
  receipts: ReceiptRecord[]
  /** Claims of lost workers that another worker took up. Each may have ended in one receipt. */
  leaseTakeovers: number
}

/** The destination was refused, so the attempt of the event does not count. */
const UNCOUNTED_OUTCOMES: SendOutcome[] = ['auth', 'config']

/**
 * What a story that has come to its end breaks of the promises about deliveries, one sentence
 * each; empty when they are kept. Whatever failed on the way, a repeat is only allowed where
 * nobody could know: a request without a usable answer, or one whose worker was lost before the
 * answer was written down.
 */
export function findInvariantViolations(story: DeliveryHistory, witnesses: Observations): string[] {
  const faults: string[] = []
  for (const thread of buildTimelines(story)) {
    const { delivery } = thread
    const add = (fault: string) => faults.push(`${delivery.eventId} (${delivery.status}): ${fault}`)
    checkTransitions(thread, witnesses, add)
    checkFinalState(thread, story, add)
    checkRepeats(thread, story, add)
    for (const receipt of thread.receipts) checkReceipt(delivery, receipt, add)
  }
  return [...faults, ...findUnknownReceipts(story), ...findLostResponses(story, witnesses)]
}

function buildTimelines({
  deliveries,
  transitions: moves,
  receipts,
}: DeliveryHistory): DeliveryTimeline[] {
  const movesOf = Map.groupBy(moves, move => `${move.trackerId} ${move.eventId} ${move.id}`)
  const receiptsOf = Map.groupBy(receipts, toPlatformKey)
  return deliveries.map(delivery => ({
    delivery,
    transitions: movesOf.get(`${delivery.trackerId} ${delivery.eventId} ${delivery.id}`) ?? [],
    receipts: receiptsOf.get(toPlatformKey(delivery)) ?? [],
    leaseTakeovers: 0,
  }))
}

type AddViolation = (fault: string) => void

/** The table of moves, and that a claimed delivery belongs to one worker alone. */
function checkTransitions(
  thread: DeliveryTimeline,
  { lostWorkers }: Observations,
  add: AddViolation,
): void {
  let holder: string | null = null
  for (const { from, to, worker, isClaim, isPremature: isTooEarly } of thread.transitions) {
    const allowed = from === null ? INITIAL_STATUSES : nextStatuses(from)
    if (!allowed.includes(to)) add(`moved from ${from} to ${to}`)
    if (isTooEarly) add(`${worker} claimed it while the lease of ${holder} was running`)
    if (isClaim && holder !== null) {
      thread.leaseTakeovers += 1
      if (!lostWorkers.has(holder)) add(`${worker} took it from ${holder}, which was not lost`)
    }
    if (!isClaim && from === 'sent' && worker !== holder) {
      add(`${worker} settled what ${holder} held`)
    }
    if (!isClaim && from !== 'sent' && holder !== null) add(`${worker} moved it under ${holder}`)
    holder = isClaim ? worker : null
  }
}

/** Nothing is stuck, and what was accepted is what the platform had last. */
function checkFinalState(
  { delivery, receipts }: DeliveryTimeline,
  { attempts }: DeliveryHistory,
  add: AddViolation,
) {
  const { status, isWaiting, attemptIds, attemptCount } = delivery
  const isFinal = nextStatuses(status).length === 0 || FAILED_STATUSES.includes(status)
  if (!isFinal || isWaiting) add('is stuck')
  const named = attemptIds.map(id => attempts.get(id))
  const burnt = named.filter(attempt => attempt && !UNCOUNTED_OUTCOMES.includes(attempt.outcome))
  if (named.includes(undefined)) add('names an attempt that is not kept')
  if (attemptCount < burnt.length) add(`counts ${attemptCount} of ${burnt.length} attempts`)
  const others = named.filter(attempt => attempt && attempt.isTest !== delivery.isTest)
  if (others.length > 0) add('is named by an attempt of another kind')

  if (status !== 'accepted') return
  const last = named.at(-1)
  if (last?.outcome !== 'accepted') add('has no accepted attempt')
  const receivedLast = receipts.at(-1)?.requestId
  if (receivedLast === undefined) add('was never received')
  else if (receivedLast !== last?.traceId) add('was received again after it was accepted')
  if (delivery.traceId !== last?.traceId) add('names another trace than its last attempt')
}

/** Every receipt but an accepted one needs a reason why nobody could know of it. */
function checkRepeats(
  thread: DeliveryTimeline,
  { attempts }: DeliveryHistory,
  add: AddViolation,
): void {
  const { delivery, receipts, leaseTakeovers: takenUp } = thread
  const unknown = delivery.attemptIds.filter(id => attempts.get(id)?.outcome === 'unknown').length
  const accepted = delivery.status === 'accepted' ? 1 : 0
  if (receipts.length <= unknown + takenUp + accepted) return
  add(`received ${receipts.length} times: ${unknown} unknown, ${takenUp} taken up`)
}

/** The same event each time, under the same id and time: that is how the platform knows it. */
function checkReceipt(delivery: DeliveryRecord, receipt: ReceiptRecord, add: AddViolation): void {
  const seconds = Math.floor(delivery.eventTime.getTime() / 1_000)
  if (receipt.eventName !== delivery.eventName) add(`was received as ${receipt.eventName}`)
  if (receipt.eventTimeSeconds !== seconds) add('was received with another time')
  if ((receipt.testEventCode !== null) !== delivery.isTest) add('left in a request of another kind')
  if (normalizeAmount(receipt.value) !== normalizeAmount(delivery.valueAmount)) {
    add(`is worth ${delivery.valueAmount} and was received with ${receipt.value}`)
  }
  if (receipt.currency !== delivery.valueCurrency) add(`was received in ${receipt.currency}`)
}

function findUnknownReceipts({ deliveries, receipts }: DeliveryHistory): string[] {
  const known = new Set(deliveries.map(toPlatformKey))
  const strangers = receipts.filter(receipt => !known.has(toPlatformKey(receipt)))
  return strangers.map(({ eventId }) => `${eventId}: received, and not in the ledger`)
}

/**
 * An answer that a living worker heard is written down: all that it accepted is accepted, and by
 * it. Of a lost worker one answer at most may be missing.
 */
function findLostResponses(
  story: DeliveryHistory,
  { responses: heard = [], lostWorkers }: Observations,
): string[] {
  const deliveries = Map.groupBy(story.deliveries, toPlatformKey)
  const isWritten = ({ datasetId, eventIds, traceId }: RecordedResponse) =>
    eventIds.every(eventId => {
      const [delivery] = deliveries.get(toPlatformKey({ datasetId, eventId })) ?? []
      return delivery?.status === 'accepted' && delivery.traceId === traceId
    })
  const accepted = heard.filter(({ outcome }) => outcome === 'accepted')
  const missing = Map.groupBy(
    accepted.filter(answer => !isWritten(answer)),
    ({ worker }) => worker,
  )
  return [...missing]
    .filter(([worker, answers]) => answers.length > (lostWorkers.has(worker) ? 1 : 0))
    .map(([worker, { length }]) => `${worker}: ${length} accepted answers were not written down`)
}

function toPlatformKey({ datasetId, eventId }: { datasetId: string; eventId: string }): string {
  return `${datasetId} ${eventId}`
}

/** 19.90 and 19.9 are the same money; no digit gets lost on the way to this. */
function normalizeAmount(amount: string | null): string | null {
  return amount?.includes('.') ? amount.replace(/\.?0+$/, '') : amount
}
