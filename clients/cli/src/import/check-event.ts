import type { IngestionNotice } from '@signalbox/contract/submissions.ts'
import { Refusal } from '../../../../service/runtime/http/refusal.ts'
import { draftEvent } from '../../../../service/signals/ingestion/event-draft.ts'
import { buildNotices } from '../../../../service/signals/ingestion/ingestion-notices.ts'
import { redactSubmission } from '../../../../service/signals/ingestion/redact-submission.ts'
import { validateSubmission } from '../../../../service/signals/ingestion/validate-submission.ts'
import { createOfflinePlatforms } from '../../../../service/signals/platforms/registry.ts'
import type { EventBody } from '../event-fields.ts'
import { printable, type Style } from '../output/style.ts'

/** What the service would do with an event. */
interface EventCheck {
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

const known = createOfflinePlatforms()
/** Which platforms the tracker sends to is not known here: most send to this one. */
const platforms = known.select([known.default.name])

/** Applies the service's own rules, so that a dry run and the real one never differ. */
export function checkEvent(event: EventBody, now: Date): EventCheck {
  try {
    const { submission, ...validated } = validateSubmission(event, {
      platforms,
      idempotencyKey: undefined,
      receivedAt: now,
    })
    const { eventTime, decision } = validated
    const source = (submission.action_source ?? 'website').toLowerCase()
    const ageSeconds = (now.getTime() - eventTime.getTime()) / 1_000
    const isWithheld = decision.outcome !== 'granted'
    const isPastWindow = !isWithheld && ageSeconds > platforms.default.windowSeconds(source)
    const { submission: stored, ...found } = redactSubmission(submission, TOKENS)
    const bodyDigest = Buffer.alloc(0)
    const draft = draftEvent(stored, {
      ...validated,
      freeText: { ...found, lookup: {}, bodyDigest, earlierBodyDigest: null },
      platforms,
      trackerId: DRY_RUN_TRACKER_ID,
      receivedAt: now,
    })
    return { isValid: true, errors: {}, isPastWindow, isWithheld, notices: buildNotices(draft) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const errors = error.errors ?? { '': [error.message] }
    return { isValid: false, errors, isPastWindow: false, isWithheld: false, notices: [] }
  }
}

export function formatEventCheck(check: EventCheck, style: Style): string {
  const { isValid, errors, isPastWindow, isWithheld, notices } = check
  if (!isValid) {
    const lines = Object.entries(errors).flatMap(([field, sentences]) =>
      sentences.map(sentence => `  ${style('bold', field)}  ${sentence}\n`),
    )
    return `${style('red', '✗')} The service would refuse it.\n${lines.join('')}`
  }
  const notes = [
    isPastWindow ? 'It is too old for the platform, so it would not be delivered.' : '',
    isWithheld ? 'Its consent does not allow a delivery.' : '',
  ].filter(text => text !== '')
  const dropped = notices.map(({ message }) => `${style('yellow', '!')} ${printable(message)}\n`)
  const summary = [`${style('green', '✓')} The service would store it.`, ...notes].join(' ')
  return `${summary}\n${dropped.join('')}`
}
