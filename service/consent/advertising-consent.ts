import { memberKind } from './advertising-members.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  credibleTime,
  isOlderThanDays,
} from './captured-at.ts'
import { type ConsentReading, silence } from './consent-reading.ts'
import { readConsentWord } from './consent-word.ts'
import type { FreeFormObject } from './free-form-object.ts'

/**
 * Reduces the free-form `consent` object (domain reference, section E). One refusal denies. All
 * readable and at least one granted grants: an unreadable word beside a grant may be a refusal in a
 * language that we do not know, so it makes the input unknown. Null is an answer not given: it
 * takes nothing from a grant beside it, but alone it is a signal that nobody can read, not silence.
 *
 * A consent captured more than 395 days ago speaks no more, whatever it says. A `captured_at`
 * without any member is no signal, however old (decisions, section 3).
 */
export function readAdvertisingConsent(
  consent: FreeFormObject | undefined,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentReading {
  if (consent === undefined) return silence('consent')
  const captured_at = credibleTime(captured, receivedAt)
  const { denied, unreadable, granted, unset } = spokenFields(consent)
  if (!denied && !unreadable && !granted && !unset) return silence('consent', captured_at)
  if (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  if (denied !== null) return { state: 'denied', why: 'words_denied', field: denied, captured_at }
  if (granted !== null && unreadable === null) {
    return { state: 'granted', why: 'words_granted', field: granted, captured_at }
  }
  const field = unreadable ?? unset ?? 'consent'
  return { state: 'unknown', why: 'words_unreadable', field, captured_at }
}

/** The first member that said each thing, as a dotted path. */
interface SpokenFields {
  denied: string | null
  granted: string | null
  unreadable: string | null
  unset: string | null
}

/** Walks the object and one level of purpose containers; the body's 64 KiB bound the walk. */
function spokenFields(consent: FreeFormObject): SpokenFields {
  const spoken: SpokenFields = { denied: null, granted: null, unreadable: null, unset: null }
  for (const name of Object.keys(consent)) {
    const value = consent[name]
    const kind = memberKind(name, value)
    if (kind === 'container') listenInside(spoken, `consent.${name}`, value as FreeFormObject)
    else if (kind !== 'other') listen(spoken, { kind, value, field: `consent.${name}` })
  }
  return spoken
}

function listenInside(spoken: SpokenFields, path: string, container: FreeFormObject): void {
  for (const name of Object.keys(container)) {
    const value = container[name]
    // A whole-record member inside a container would speak of the container's other purposes too.
    if (memberKind(name, value) === 'advertising') {
      listen(spoken, { kind: 'advertising', value, field: `${path}.${name}` })
    }
  }
}

interface Statement {
  kind: 'advertising' | 'whole'
  value: unknown
  field: string
}

function listen(spoken: SpokenFields, { kind, value, field }: Statement): void {
  const state = readConsentWord(value)
  if (state === 'denied') spoken.denied ??= field
  else if (kind === 'whole') return
  else if (state === 'granted') spoken.granted ??= field
  else if (value === null || value === undefined) spoken.unset ??= field
  else spoken.unreadable ??= field
}
