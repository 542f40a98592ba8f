import { isRecognized } from '@signalbox/contract/closed-set.ts'
import type { ReceiptCount } from '../platforms/platform.ts'
import type { StoredDelivery } from './delivery-store.ts'
import type { StoredReceipt } from './receipt-store.ts'

/**
 * What is known about an event whose platform tells the result later, by request and in counts. It
 * never names an event, so an explanation does not either.
 */
export function explainReceipt(
  delivery: Pick<StoredDelivery, 'attemptIds'>,
  receipts: readonly StoredReceipt[],
): string[] {
  const receipt = findLast(delivery, receipts)
  if (!receipt) return []
  return [`It was received in the request ${receipt.receiptId}.`, ...resultSentences(receipt)]
}

/** What happens next to an accepted delivery. */
export function explainRest(
  delivery: Pick<StoredDelivery, 'attemptIds'>,
  receipts: readonly StoredReceipt[],
): string {
  const { state, nextPollAt } = findLast(delivery, receipts) ?? {}
  if (state !== 'processing' || !nextPollAt) return 'Nothing more happens.'
  return (
    `The result is read at ${nextPollAt.toISOString()}: if the platform processed nothing of the ` +
    'request, the event fails.'
  )
}

function findLast(
  { attemptIds }: Pick<StoredDelivery, 'attemptIds'>,
  receipts: readonly StoredReceipt[],
): StoredReceipt | undefined {
  return receipts.findLast(({ id }) => attemptIds.includes(id))
}

function resultSentences(receipt: StoredReceipt): string[] {
  const { state, eventCount, warnings } = receipt
  if (!isRecognized(state)) return [`Another version stored its result: ${state.unrecognized}.`]
  switch (state) {
    case 'processing':
      return ['The platform has not told the result of the request yet.']
    case 'unknown':
      return ['The platform told no result of the request within a day.']
    case 'succeeded':
      return [
        eventCount === 1
          ? 'The platform processed it.'
          : `The platform processed all ${eventCount} events of it.`,
        ...warningOf(warnings),
      ]
    case 'partially_succeeded':
      return [partialSentence(receipt), ...warningOf(warnings)]
    case 'failed':
      return [
        `The platform processed none of its ${eventCount} events${reasonsOf(receipt.errors)}.`,
      ]
  }
}

function partialSentence({ eventCount, recordCount, errors }: StoredReceipt): string {
  const processed = recordCount === null ? 'a part' : `${recordCount} of the ${eventCount} events`
  const silence = eventCount === 1 ? '' : '; it does not say which'
  return `The platform processed ${processed} of it${reasonsOf(errors)}${silence}.`
}

function warningOf(warnings: readonly ReceiptCount[]): string[] {
  return warnings.length === 0 ? [] : [`It has warnings${reasonsOf(warnings)}.`]
}

/** The platform's own codes, with how many events have each. */
function reasonsOf(counts: readonly ReceiptCount[]): string {
  const parts = counts.map(({ reason, count }) => `${count} ${reason}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}
