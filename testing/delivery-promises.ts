import {
  FAILED_STATUSES,
  INITIAL_STATUSES,
  nextStatuses,
} from '../service/delivery/delivery-status.ts'
import type { SendOutcome } from '../service/platforms/platform.ts'
import type { AuditedMove } from './delivery-audit.ts'
import type { DeliveryStory, ToldDelivery, ToldReceipt } from './delivery-story.ts'

/** A request whose answer came back to a worker of the test. */
export interface HeardAnswer {
  worker: string
  datasetId: string
  eventIds: readonly string[]
  outcome: SendOutcome
  traceId: string | null
}

export interface Witnesses {
  /** Workers that were killed, or that were away until their leases had ended. */
  lostWorkers: ReadonlySet<string>
  heard?: readonly HeardAnswer[]
}

/** One delivery with all that happened to it. */
interface Thread {
  delivery: ToldDelivery
  moves: AuditedMove[]
  receipts: ToldReceipt[]
  /** Claims of lost workers that another worker took up. Each may have ended in one receipt. */
  takenUp: number
}

/** The destination was refused, so the attempt of the event does not count. */
const UNBURNT: SendOutcome[] = ['auth', 'config']

/**
 * What a story that has come to its end breaks of the promises about deliveries, one sentence
 * each; empty when they are kept. Whatever failed on the way, a repeat is only allowed where
 * nobody could know: a request without a usable answer, or one whose worker was lost before the
 * answer was written down.
 */
export function brokenPromises(story: DeliveryStory, witnesses: Witnesses): string[] {
  const faults: string[] = []
  for (const thread of threadsOf(story)) {
    const { delivery } = thread
    const add = (fault: string) => faults.push(`${delivery.eventId} (${delivery.status}): ${fault}`)
    checkMoves(thread, witnesses, add)
    checkEnd(thread, story, add)
    checkRepeats(thread, story, add)
    for (const receipt of thread.receipts) checkReceipt(delivery, receipt, add)
  }
  return [...faults, ...unknownReceipts(story), ...forgottenAnswers(story, witnesses)]
}

function threadsOf({ deliveries, moves, receipts }: DeliveryStory): Thread[] {
  const movesOf = Map.groupBy(moves, move => `${move.trackerId} ${move.eventId} ${move.id}`)
  const receiptsOf = Map.groupBy(receipts, platformKey)
  return deliveries.map(delivery => ({
    delivery,
    moves: movesOf.get(`${delivery.trackerId} ${delivery.eventId} ${delivery.id}`) ?? [],
    receipts: receiptsOf.get(platformKey(delivery)) ?? [],
    takenUp: 0,
  }))
}

type AddFault = (fault: string) => void

/** The table of moves, and that a claimed delivery belongs to one worker alone. */
function checkMoves(thread: Thread, { lostWorkers }: Witnesses, add: AddFault): void {
  let holder: string | null = null
  for (const { from, to, worker, isClaim, isTooEarly } of thread.moves) {
    const allowed = from === null ? INITIAL_STATUSES : nextStatuses(from)
    if (!allowed.includes(to)) add(`moved from ${from} to ${to}`)
    if (isTooEarly) add(`${worker} claimed it while the lease of ${holder} was running`)
    if (isClaim && holder !== null) {
      thread.takenUp += 1
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
function checkEnd({ delivery, receipts }: Thread, { attempts }: DeliveryStory, add: AddFault) {
  const { status, isWaiting, attemptIds, attemptCount } = delivery
  const isFinal = nextStatuses(status).length === 0 || FAILED_STATUSES.includes(status)
  if (!isFinal || isWaiting) add('is stuck')
  const named = attemptIds.map(id => attempts.get(id))
  const burnt = named.filter(attempt => attempt && !UNBURNT.includes(attempt.outcome))
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
function checkRepeats(thread: Thread, { attempts }: DeliveryStory, add: AddFault): void {
  const { delivery, receipts, takenUp } = thread
  const unknown = delivery.attemptIds.filter(id => attempts.get(id)?.outcome === 'unknown').length
  const accepted = delivery.status === 'accepted' ? 1 : 0
  if (receipts.length <= unknown + takenUp + accepted) return
  add(`received ${receipts.length} times: ${unknown} unknown, ${takenUp} taken up`)
}

/** The same event each time, under the same id and time: that is how the platform knows it. */
function checkReceipt(delivery: ToldDelivery, receipt: ToldReceipt, add: AddFault): void {
  const seconds = Math.floor(delivery.eventTime.getTime() / 1_000)
  if (receipt.eventName !== delivery.eventName) add(`was received as ${receipt.eventName}`)
  if (receipt.eventTimeSeconds !== seconds) add('was received with another time')
  if ((receipt.testEventCode !== null) !== delivery.isTest) add('left in a request of another kind')
  if (plain(receipt.value) !== plain(delivery.valueAmount)) {
    add(`is worth ${delivery.valueAmount} and was received with ${receipt.value}`)
  }
  if (receipt.currency !== delivery.valueCurrency) add(`was received in ${receipt.currency}`)
}

function unknownReceipts({ deliveries, receipts }: DeliveryStory): string[] {
  const known = new Set(deliveries.map(platformKey))
  const strangers = receipts.filter(receipt => !known.has(platformKey(receipt)))
  return strangers.map(({ eventId }) => `${eventId}: received, and not in the ledger`)
}

/**
 * An answer that a living worker heard is written down: all that it accepted is accepted, and by
 * it. Of a lost worker one answer at most may be missing.
 */
function forgottenAnswers(story: DeliveryStory, { heard = [], lostWorkers }: Witnesses): string[] {
  const deliveries = Map.groupBy(story.deliveries, platformKey)
  const isWritten = ({ datasetId, eventIds, traceId }: HeardAnswer) =>
    eventIds.every(eventId => {
      const [delivery] = deliveries.get(platformKey({ datasetId, eventId })) ?? []
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

function platformKey({ datasetId, eventId }: { datasetId: string; eventId: string }): string {
  return `${datasetId} ${eventId}`
}

/** 19.90 and 19.9 are the same money; no digit gets lost on the way to this. */
function plain(amount: string | null): string | null {
  return amount?.includes('.') ? amount.replace(/\.?0+$/, '') : amount
}
