import type { SandboxEventResult } from '@signalbox/contract/sandbox.ts'
import type { Platforms } from '../ingestion/accept-identity.ts'
import { draftEvent, type EventDraft } from '../ingestion/event-draft.ts'
import { validateSubmission } from '../ingestion/validate-submission.ts'

interface SandboxEventInput {
  platforms: Platforms
  body: unknown
  idempotencyKey: string | undefined
  receivedAt: Date
}

/** A draft belongs to a tracker; this one is thrown away. */
const SANDBOX_TRACKER_ID = 'sandbox'

/**
 * Does with a submission what createEvent does before it stores anything, and says what would come
 * of it. Throws the same 422 refusal.
 */
export function validateEvent({
  platforms,
  body,
  idempotencyKey,
  receivedAt,
}: SandboxEventInput): SandboxEventResult {
  const isBasisAssumed = isBasisMissing(body)
  const given = isBasisAssumed ? { ...body, consent_basis: 'consent' } : body
  const { submission, ...checked } = validateSubmission(given, { idempotencyKey, receivedAt })
  const draft = draftEvent(submission, {
    trackerId: SANDBOX_TRACKER_ID,
    platforms,
    receivedAt,
    ...checked,
  })
  return {
    sandbox: true,
    accepted: true,
    event_id: checked.eventId,
    status: 'validated',
    persisted: false,
    provider_delivery: false,
    message: buildEventMessage(draft, { platforms, isBasisAssumed }),
  }
}

/** The sandbox may be tried with a body that does not speak of consent (spec: Endpoints). */
function isBasisMissing(body: unknown): body is object | null | undefined {
  if (body === undefined || body === null) return true
  return typeof body === 'object' && !Array.isArray(body) && !Object.hasOwn(body, 'consent_basis')
}

const DROPPED_NAMED_MAX = 5
const DAY_MILLISECONDS = 86_400_000

interface EventMessageOptions {
  platforms: Platforms
  /** The body had no `consent_basis`, and consent was taken for it. */
  isBasisAssumed: boolean
}

/**
 * What production would do with a valid event, and why: for whoever wires up a shop. It names
 * places and reasons, never a value that was sent.
 */
function buildEventMessage(
  draft: EventDraft,
  { platforms, isBasisAssumed }: EventMessageOptions,
): string {
  return [
    isBasisAssumed ? BASIS_ASSUMED : 'Valid.',
    describeDelivery(draft, platforms),
    describeAge(draft),
    describeHashed(draft),
    describeDropped(draft),
    describeUnknown(draft),
    ...draft.decision.warnings.map(({ message }) => `Warning: ${message}`),
    'Nothing was stored or sent.',
  ]
    .filter(text => text !== '')
    .join(' ')
}

const BASIS_ASSUMED =
  'Valid, with consent_basis "consent" assumed: production refuses an event without it.'

function describeDelivery(draft: EventDraft, platforms: Platforms): string {
  const { decision } = draft
  switch (decision.outcome) {
    case 'granted':
      return platforms.default.canMatchPerson(draft, draft.clickIds)
        ? "Production would store it and deliver it to the tracker's destinations."
        : 'Production would store it, but as it stands a platform would refuse it: its user_data ' +
            'holds too little to match a person, so add an e-mail, phone or external_id.'
    case 'withheld':
      return (
        'Production would store it and deliver it nowhere: of its consent signals ' +
        `(${listSignals(draft)}) none can be read as granted.`
      )
    case 'ledger_only':
      return 'Production would keep it in the ledger and deliver it nowhere.'
    // Refused before there is a draft.
    case 'denied':
      return ''
  }
}

function listSignals({ decision }: EventDraft): string {
  return Object.values(decision.inputs)
    .filter(({ why }) => why !== 'no_signal')
    .map(({ field }) => field)
    .join(', ')
}

/** How old an event may be is the platform's to say, and no platform is asked here. */
function describeAge({ decision, eventTime, receivedAt }: EventDraft): string {
  const days = Math.floor((receivedAt.getTime() - eventTime.getTime()) / DAY_MILLISECONDS)
  if (decision.outcome !== 'granted' || days < 1) return ''
  return (
    `Its event_time is ${formatCount(days, 'day')} back: where a platform takes no event of that ` +
    'age, the delivery expires.'
  )
}

function describeHashed({ digests }: EventDraft): string {
  const count = Object.values(digests).flat().length
  return count === 0 ? '' : `${formatCount(count, 'identifier')} would be hashed.`
}

function describeDropped({ notes: { dropped } }: EventDraft): string {
  if (dropped.length === 0) return ''
  const named = dropped
    .slice(0, DROPPED_NAMED_MAX)
    .map(({ field, reason }) => `${field} (${reason.replace(/\.$/, '')})`)
  const rest = dropped.length - named.length
  return `Left out: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`
}

function describeUnknown({ notes: { unknownMembers } }: EventDraft): string {
  return unknownMembers.length === 0 ? '' : `Ignored: ${unknownMembers.join(', ')}.`
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
