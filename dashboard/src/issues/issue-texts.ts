import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import type { FailureClass, IssueReason } from '@signalbox/contract/reasons.ts'
import type { DeliveryIssue } from '@signalbox/contract/session/issues.ts'

interface IssueText {
  title: string
  /** What to do. */
  advice: string
}

const CLASS_TEXTS: Record<FailureClass, IssueText> = {
  auth: {
    title: 'The platform refused the access token',
    advice:
      'Replace the credential of the destination. Waiting events are then sent without a replay.',
  },
  config: {
    title: 'The platform refused the target or the permissions',
    advice:
      'Check the target of the destination and the permissions of its token. Waiting events are ' +
      'then sent without a replay.',
  },
  permanent: {
    title: 'The platform refused the content of the events',
    advice:
      'Open an event below for the answer of the platform. Correct the sender, and replay the ' +
      'events that need no correction.',
  },
  retry: {
    title: 'The platform had a temporary error',
    advice: 'Nothing to do: deliveries are retried until the platform accepts them.',
  },
  throttle: {
    title: 'The platform asked for fewer requests',
    advice: 'Nothing to do: sending slows down by itself.',
  },
  unknown: {
    title: 'The platform gave no usable answer',
    advice:
      'Deliveries are retried with the same ID. If this goes on, check the network to the ' +
      'platform.',
  },
  local: {
    title: 'Not sent',
    advice: 'Open an event below for the explanation.',
  },
}

/** Null where the class of the answer says it. */
const REASON_TEXTS: Record<IssueReason, IssueText | null> = {
  destination_refused: null,
  refused_by_platform: null,
  request_failed: null,
  handed_back: null,
  single_attempt: null,
  not_deduplicated: {
    title: 'Not sent again: the platform may have the event',
    advice: 'It would count a copy, so compare with its own numbers before you send another event.',
  },
  payload_expired: {
    title: 'Not sent: the identity payload was deleted',
    advice: 'These events can no longer be sent. Fix failures before the payload expires.',
  },
  no_test_code: {
    title: 'Not sent: the destination has no test event code',
    advice: 'Switch test mode on with a code, then send new test events.',
  },
  purchase_failed: {
    title: 'Not sent: the purchase of the refund failed',
    advice: 'Correct what failed the purchase, then replay both.',
  },
  no_platform_identity: {
    title: 'Not sent: received before the destination was connected',
    advice: 'Identity is prepared for a platform on receipt. Later events are delivered.',
  },
  refused_before_sending: {
    title: 'Not sent: the platform would refuse the events',
    advice: 'Open an event below for the member that is missing, and correct the sender.',
  },
  credential_unreadable: {
    title: 'Not sent: the credential cannot be read',
    advice: 'Enter the credential again, or give this process the key that sealed it.',
  },
  page_sent_first: {
    title: 'Accepted, but perhaps dropped as a duplicate',
    advice:
      'A page sent the same name and ID with another value first. Let the back end report ' +
      'sooner, or switch off the sharing of event IDs on the page Keys.',
  },
  page_click_ignored: {
    title: 'Accepted; another click ID of a page was ignored',
    advice:
      'Pages named several clicks for one visitor ID. If customers share no visitor IDs, ' +
      'a page may try to claim purchases: use the visitor ID that the tag makes.',
  },
  time_used_up: {
    title: 'Retried until the events were too old',
    advice: 'The window of the platform is over, so these events cannot be sent anymore.',
  },
}

const REASONS = keysOf(REASON_TEXTS)

/** The cause of an issue and what to do about it, in plain words. */
export function describeIssue({ class: name, reason }: DeliveryIssue): IssueText {
  const own = reason !== null && isMember(REASONS, reason) ? REASON_TEXTS[reason] : null
  return own ?? CLASS_TEXTS[name]
}

/** For example "code 100, subcode 2804048". */
export function describeCode({ code, subcode }: DeliveryIssue): string | null {
  if (code === null) return null
  return subcode === null ? `code ${code}` : `code ${code}, subcode ${subcode}`
}
