import { isRecognized, storedText } from '@signalbox/contract/closed-set.ts'
import { reasonOf } from '@signalbox/contract/reasons.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { readPlatformDecisions } from '../consent/platform-decisions.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { PageWithdrawal } from '../events/page-withdrawal-store.ts'
import type { StoredDelivery } from './delivery-store.ts'
import type { ExplanationContext } from './waiting-explanation.ts'

/** Explains a delivery that consent, a withdrawal or an erasure stopped. */
export function consentSentence(
  delivery: StoredDelivery,
  event: StoredEvent,
  { pageWithdrawals = [] }: ExplanationContext,
): string {
  const { statusReason } = delivery
  const reason = reasonOf('skipped:consent', statusReason)
  const notSent = notSentWords(delivery)
  switch (isRecognized(reason) ? reason : 'no_signal') {
    case 'erased':
      return (
        `${notSent}: the person's data was erased on request. ` +
        'The event stays in the ledger, without identity.'
      )
    case 'consent_withdrawn':
      return (
        `${notSent}: the visitor withdrew consent, and ${withdrawalClause(event)}. ` +
        'It stays in the ledger.'
      )
    case 'withdrawn_by_page': {
      const named = describePageWithdrawal(findPageWithdrawal(pageWithdrawals, delivery))
      return (
        `${notSent}: the visitor withdrew consent on a page (${named}), and ` +
        `${withdrawalClause(event)}. It stays in the ledger. Anyone can copy the key of a page: ` +
        'if the visitor did not withdraw, list the withdrawals and lift theirs.'
      )
    }
    case 'purchase_withdrawn':
      return (
        `${notSent}: the person of the purchase withdrew consent, so this platform is not told ` +
        'its new value. The order has it in the ledger.'
      )
    case 'purchase_erased':
      return (
        `${notSent}: the data of the person of the purchase was erased on request, and the ` +
        'platform takes a new value only with it. The order has it in the ledger.'
      )
    case 'possible_refusal':
      return (
        `${notSent}: ${listPossibleRefusals(event)} refuses advertising by its words, though it ` +
        'is not a form that is known (possible_refusal). It stays in the ledger.'
      )
    case 'consent_refused_for_platform':
      return (
        `${notSent}: ${describePlatformRefusal(delivery, event)} refuses this platform ` +
        '(consent_refused_for_platform). Other platforms are decided for themselves.'
      )
    case 'consent_not_decided':
      return (
        `${notSent}: the destination was connected while the event was received, so no consent ` +
        'was decided for its platform. Events from after that have a decision.'
      )
    case 'no_signal':
      return (
        `${notSent}: consent signals came with the event, but none of them could be read as ` +
        `granted (${storedText(statusReason)}). It stays in the ledger.`
      )
  }
}

/** One in force says more than a lifted one, and one for every platform more than one for this. */
function findPageWithdrawal(
  withdrawals: readonly PageWithdrawal[],
  { platform }: StoredDelivery,
): PageWithdrawal | undefined {
  const own = withdrawals.filter(one => one.platform === null || one.platform === platform)
  return own.find(({ liftedAt }) => liftedAt === null) ?? own[0]
}

function describePageWithdrawal(withdrawal: PageWithdrawal | undefined): string {
  if (!withdrawal) return 'by a page, for a visitor with the same identifiers'
  const { id, withdrawnAt, liftedAt, platform } = withdrawal
  return (
    `page withdrawal ${id} of ${withdrawnAt.toISOString()}` +
    (platform === null ? '' : `, for ${platform} only`) +
    (liftedAt ? ', which has been lifted since' : '')
  )
}

function withdrawalClause({ consentCapturedAt }: StoredEvent): string {
  return consentCapturedAt
    ? `the consent of ${consentCapturedAt.toISOString()} does not overrule that: it ` +
        'would have to be captured more than 5 minutes after the withdrawal, and no later than ' +
        'the receipt of the event'
    : 'no later consent is known'
}

function describePlatformRefusal({ platform }: StoredDelivery, { consent }: StoredEvent): string {
  const decisions = readPlatformDecisions(consent)
  return (platform !== null && decisions[platform]?.field) || 'a consent member'
}

function listPossibleRefusals({ consent }: StoredEvent): string {
  const decision = isObject(consent?.decision) ? consent.decision : {}
  const fields = decision.possible_refusals
  return Array.isArray(fields) && fields.length > 0 ? fields.join(', ') : 'a consent member'
}

/** A retry or a replay may end unsent after earlier attempts. */
export function notSentWords({ attemptCount }: StoredDelivery): string {
  if (attemptCount === 0) return 'Not sent'
  return `Not sent again after ${attemptCount === 1 ? 'one attempt' : `${attemptCount} attempts`}`
}
