import type { SandboxEventResult } from '@signalbox/contract/sandbox.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { ConsentSettings } from '../consent/consent-signal.ts'
import { describeRedactedMembers } from '../events/free-text.ts'
import { draftDryRun } from '../ingestion/check-event.ts'
import type { EventDraft } from '../ingestion/event-draft.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'

interface SandboxEventInput {
  platforms: SelectedPlatforms
  settings?: ConsentSettings
  body: unknown
  idempotencyKey: string | undefined
  receivedAt: Date
}

/**
 * Validates a submission as createEvent does, without storing it, and describes the result. Throws
 * the same 422 refusal.
 */
export function validateEvent({
  platforms,
  settings = {},
  body,
  idempotencyKey,
  receivedAt,
}: SandboxEventInput): SandboxEventResult {
  const isBasisAssumed = isBasisMissing(body)
  const completed = isBasisAssumed ? { ...body, consent_basis: 'consent' } : body
  const received = { platforms, idempotencyKey, receivedAt, settings }
  const { draft } = draftDryRun(completed, received)
  return {
    sandbox: true,
    accepted: true,
    event_id: draft.eventId,
    status: 'validated',
    persisted: false,
    provider_delivery: false,
    message: buildEventMessage(draft, { platforms, isBasisAssumed }),
  }
}

/** The sandbox accepts a body without a consent basis. */
function isBasisMissing(body: unknown): body is object | null | undefined {
  if (body === undefined || body === null) return true
  return isObject(body) && !Object.hasOwn(body, 'consent_basis')
}

const DROPPED_NAMED_MAX = 5

interface EventMessageOptions {
  platforms: SelectedPlatforms
  /** The body has no `consent_basis`, so `consent` is assumed. */
  isBasisAssumed: boolean
}

/**
 * Describes what production would do with a valid event, and why. It names fields and reasons,
 * never submitted values.
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
    describeRedacted(draft),
    describeDropped(draft),
    describeUnknown(draft),
    ...draft.decision.warnings.map(({ message }) => `Warning: ${message}`),
    'Nothing was stored or sent.',
  ]
    .filter(text => text !== '')
    .join(' ')
}

const BASIS_ASSUMED =
  'Valid, assuming consent_basis "consent": production rejects an event without it.'

function describeDelivery(draft: EventDraft, platforms: SelectedPlatforms): string {
  const { decision } = draft
  switch (decision.outcome) {
    case 'granted':
      return platforms.default.canMatchPerson(draft, draft.clickIds)
        ? "Production would store it and deliver it to the tracker's destinations" +
            `${describeRefusedPlatforms(draft)}.`
        : 'Production would store it, but a platform would reject it: its user_data is too weak ' +
            'to match a person. Add an email, phone, or external_id.'
    case 'withheld':
      if (decision.possible_refusals.length > 0) {
        return (
          'Production would store it but not deliver it: ' +
          `${decision.possible_refusals.join(', ')} refuses advertising by its words.`
        )
      }
      return (
        'Production would store it but not deliver it: none of its consent signals ' +
        `(${listSignals(draft)}) can be read as granted.`
      )
    case 'ledger_only':
      return 'Production would store it but not deliver it.'
  }
}

function describeRefusedPlatforms({ platformDecisions }: EventDraft): string {
  const refused = [...platformDecisions].filter(([, { outcome }]) => outcome !== 'granted')
  if (refused.length === 0) return ''
  return `, except those of ${refused.map(([name]) => name).join(' and ')}`
}

function listSignals({ decision }: EventDraft): string {
  return Object.values(decision.inputs)
    .filter(({ why }) => why !== 'no_signal')
    .map(({ field }) => field)
    .join(', ')
}

/** The age limit depends on the platform, which the sandbox does not know. */
function describeAge({ decision, eventTime, receivedAt }: EventDraft): string {
  const days = Math.floor((receivedAt.getTime() - eventTime.getTime()) / DAY_MILLISECONDS)
  if (decision.outcome !== 'granted' || days < 1) return ''
  return (
    `Its event_time is ${formatCount(days, 'day')} old: if a platform does not accept events of ` +
    'that age, the delivery expires.'
  )
}

function describeHashed({ digests }: EventDraft): string {
  const count = Object.values(digests).flat().length
  return count === 0 ? '' : `${formatCount(count, 'identifier')} would be hashed.`
}

function describeRedacted({ notes: { redacted } }: EventDraft): string {
  return redacted.length === 0 ? '' : describeRedactedMembers(redacted)
}

function describeDropped({ notes: { dropped } }: EventDraft): string {
  if (dropped.length === 0) return ''
  const named = dropped
    .slice(0, DROPPED_NAMED_MAX)
    .map(({ field, reason }) => `${field} (${reason.replace(/\.$/, '')})`)
  const rest = dropped.length - named.length
  return `Dropped: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`
}

function describeUnknown({ notes: { unknownMembers } }: EventDraft): string {
  return unknownMembers.length === 0 ? '' : `Ignored: ${unknownMembers.join(', ')}.`
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
