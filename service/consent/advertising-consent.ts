import { isObject, type UntrustedObject } from '../util/is-object.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  isOlderThanDays,
  toCredibleTime,
} from './captured-at.ts'
import {
  type ConsentSignal,
  normalizeMemberName,
  noSignal,
  parseConsentValue,
} from './consent-signal.ts'

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
  consent: UntrustedObject | undefined,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentSignal {
  if (consent === undefined) return noSignal('consent')
  const captured_at = toCredibleTime(captured, receivedAt)
  const { denied, unreadable, granted, unset } = collectFields(consent)
  if (!denied && !unreadable && !granted && !unset) return noSignal('consent', captured_at)
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
interface FieldsByState {
  denied: string | null
  granted: string | null
  unreadable: string | null
  unset: string | null
}

/** Walks the object and one level of purpose containers; the body's 64 KiB bound the walk. */
function collectFields(consent: UntrustedObject): FieldsByState {
  const spoken: FieldsByState = { denied: null, granted: null, unreadable: null, unset: null }
  for (const name of Object.keys(consent)) {
    const value = consent[name]
    const kind = classifyMember(name, value)
    if (kind === 'container')
      recordContainerFields(spoken, `consent.${name}`, value as UntrustedObject)
    else if (kind !== 'other') recordField(spoken, { kind, value, field: `consent.${name}` })
  }
  return spoken
}

function recordContainerFields(
  spoken: FieldsByState,
  path: string,
  container: UntrustedObject,
): void {
  for (const name of Object.keys(container)) {
    const value = container[name]
    // A whole-record member inside a container would speak of the container's other purposes too.
    if (classifyMember(name, value) === 'advertising') {
      recordField(spoken, { kind: 'advertising', value, field: `${path}.${name}` })
    }
  }
}

interface ConsentField {
  kind: 'advertising' | 'whole'
  value: unknown
  field: string
}

function recordField(spoken: FieldsByState, { kind, value, field }: ConsentField): void {
  const state = parseConsentValue(value)
  if (state === 'denied') spoken.denied ??= field
  else if (kind === 'whole') return
  else if (state === 'granted') spoken.granted ??= field
  else if (value === null || value === undefined) spoken.unset ??= field
  else spoken.unreadable ??= field
}

/**
 * The members of `consent` that speak about advertising, folded (`ad_user_data` = `adUserData`).
 * Members of opposite polarity (`do_not_sell`, `sale_of_data`, `ads_opt_out`, `us_privacy`) are
 * left out: a "yes" there is a refusal in one product and a permission in the next. Purposes
 * beside advertising (analytics, functional, email, sms, content) never matter.
 */
const ADVERTISING_MEMBERS: ReadonlySet<string> = new Set([
  ...['adstorage', 'aduserdata', 'adpersonalization', 'adpersonalisation'],
  ...['ad', 'ads', 'adconsent', 'adsconsent', 'adtargeting', 'adtracking', 'adcookies'],
  ...['adspersonalization', 'adspersonalisation', 'personalizedads', 'personalisedads'],
  ...['advertising', 'advertisingconsent', 'advertisingstorage', 'advertisingcookies'],
  ...['advertisement', 'advertisements', 'targetedadvertising', 'personalizedadvertising'],
  ...['marketing', 'marketingconsent', 'marketingstorage', 'marketingcookies'],
  ...['targeting', 'targetingconsent', 'targetingcookies', 'retargeting', 'remarketing'],
])

/**
 * Members that speak of consent as a whole. A refusal of everything refuses advertising too; a
 * "yes" to something unnamed does not name advertising, so these can only deny.
 */
const GENERAL_MEMBERS: ReadonlySet<string> = new Set([
  ...['granted', 'given', 'consented', 'consent', 'status'],
])

/** Members that banners nest their purposes in, such as Segment's `categoryPreferences`. */
const PURPOSE_CONTAINERS: ReadonlySet<string> = new Set([
  ...['categories', 'categorypreferences', 'purposes', 'preferences', 'choices'],
])

type MemberKind = 'advertising' | 'whole' | 'container' | 'other'

/** What a member of the `consent` object is about, by its name and the shape of its value. */
export function classifyMember(name: string, value: unknown): MemberKind {
  const folded = normalizeMemberName(name)
  if (ADVERTISING_MEMBERS.has(folded)) return 'advertising'
  if (GENERAL_MEMBERS.has(folded)) return 'whole'
  return PURPOSE_CONTAINERS.has(folded) && isObject(value) ? 'container' : 'other'
}
