import type { EventSubmission, IngestionNotice } from '@signalbox/contract/submissions.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { CategoryMeanings } from '../consent/consent-names.ts'
import type { ConsentSettings } from '../consent/consent-signal.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import { buildNotices } from './ingestion-notices.ts'
import { redactSubmission } from './redact-submission.ts'
import { validateSubmission } from './validate-submission.ts'

/** What the service would do with an event. */
export interface EventCheck {
  isValid: boolean
  /** What is wrong, by dotted path. */
  errors: Record<string, string[]>
  /** Stored, and too old for the platform: its delivery expires. */
  isPastWindow: boolean
  /** Stored, and kept from the platform for the sake of consent. */
  isWithheld: boolean
  /** Members that the service would accept without their full effect. */
  notices: IngestionNotice[]
}

/** A draft needs a tracker; nothing of it is kept. */
const DRY_RUN_TRACKER_ID = 'dry-run'
/** The service makes tokens. */
const makeToken = () => 'redacted'
const TOKENS = { order: makeToken, text: makeToken }

/** An event as acceptance would draft it, of which nothing is stored. Throws the same refusals. */
export function draftDryRun(
  body: unknown,
  input: Parameters<typeof validateSubmission>[1],
): { draft: EventDraft; submission: EventSubmission } {
  const { platforms, receivedAt } = input
  const { submission, ...validated } = validateSubmission(body, input)
  const { submission: redacted, ...found } = redactSubmission(submission, TOKENS)
  const bodyDigest = Buffer.alloc(0)
  const draft = draftEvent(redacted, {
    ...validated,
    freeText: { ...found, lookup: {}, bodyDigest, earlierBodyDigest: null },
    trackerId: DRY_RUN_TRACKER_ID,
    platforms,
    receivedAt,
  })
  return { draft, submission }
}

interface CheckInput {
  platforms: SelectedPlatforms
  now: Date
  /** Those of the service. A command that cannot ask it leaves them and the categories out. */
  settings?: ConsentSettings
  /** What the tracker's own consent categories mean. */
  categories?: CategoryMeanings | undefined
}

/**
 * Applies the service's own rules, so that a dry run and the real one differ by nothing but what
 * the store knows: duplicates, and people who withdrew.
 */
export function checkEvent(
  event: Record<string, unknown>,
  { platforms, now, settings = {}, categories = undefined }: CheckInput,
): EventCheck {
  try {
    const consent = { settings, categories: categories ?? null }
    const received = { platforms, idempotencyKey: undefined, receivedAt: now, ...consent }
    const { draft, submission } = draftDryRun(event, received)
    const source = (submission.action_source ?? 'website').toLowerCase()
    const ageSeconds = (now.getTime() - draft.eventTime.getTime()) / 1_000
    const isWithheld = draft.decision.outcome !== 'granted'
    const isPastWindow = !isWithheld && ageSeconds > platforms.default.windowSeconds(source)
    return { isValid: true, errors: {}, isPastWindow, isWithheld, notices: buildNotices(draft) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const errors = error.errors ?? { '': [error.message] }
    return { isValid: false, errors, isPastWindow: false, isWithheld: false, notices: [] }
  }
}
