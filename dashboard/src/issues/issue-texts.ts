import type { DeliveryIssue } from '@signalbox/contract/session/issues.ts'

interface IssueText {
  title: string
  /** What to do. */
  advice: string
}

const CLASS_TEXTS: Record<DeliveryIssue['class'], IssueText> = {
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

const REASON_TEXTS: Record<string, IssueText> = {
  payload_expired: {
    title: 'Not sent: the identity payload was deleted',
    advice: 'These events can no longer be sent. Fix failures before the payload expires.',
  },
  no_test_code: {
    title: 'Not sent: the destination has no test event code',
    advice: 'Switch test mode on with a code, then send new test events.',
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
  time_used_up: {
    title: 'Retried until the events were too old',
    advice: 'The window of the platform is over, so these events cannot be sent anymore.',
  },
}

/** The cause of an issue and what to do about it, in plain words. */
export function describeIssue({ class: name, reason }: DeliveryIssue): IssueText {
  return REASON_TEXTS[reason ?? ''] ?? CLASS_TEXTS[name]
}

/** For example "code 100, subcode 2804048". */
export function describeCode({ code, subcode }: DeliveryIssue): string | null {
  if (code === null) return null
  return subcode === null ? `code ${code}` : `code ${code}, subcode ${subcode}`
}
