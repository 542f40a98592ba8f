import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSignal,
  isCapturedAfterOptOut,
  isOlderThanDays,
  noSignal,
  parseCapturedAt,
  type SignalReason,
  toCredibleTime,
} from './consent-signal.ts'
import type {
  ConsentSource,
  ConsentStatement,
  ConsentStatements,
  ConsentSubject,
  PlatformConsentNeeds,
} from './consent-statement.ts'
import { SOCIAL_VENDORS, UNNAMED_VENDOR } from './consent-vocabulary.ts'
import { decodeTcString } from './tc-string.ts'

export interface SourceContext {
  needs: PlatformConsentNeeds
  /** Of the `consent` object; `credibleTime` is what `toCredibleTime` makes of it. */
  captured: CapturedAt
  credibleTime: string | null
  receivedAt: Date
}

/** The statements of one object that are about the platform. */
export interface RelevantChoices {
  choices: ConsentStatement[]
  /** Whether the object has other members, or statements about others. */
  hasOther: boolean
}

export function selectRelevant(
  { choices, withOthers }: ConsentStatements,
  source: ConsentSource,
  needs: PlatformConsentNeeds,
): RelevantChoices {
  const own = choices.filter(choice => choice.source === source)
  const relevant = own.filter(choice => isRelevant(choice, needs))
  return {
    choices: relevant,
    hasOther: withOthers.has(source) || relevant.length < own.length,
  }
}

/**
 * The vendors that are refused by name, or maybe refused, and those of social media where that is.
 * A later grant beside a refusal takes nothing back.
 */
export function findRefusedVendors({ choices }: ConsentStatements): ReadonlySet<string> {
  const refused = new Set<string>()
  for (const { subject, vendor, meaning } of choices) {
    if (subject === 'other' || !(meaning === 'refused' || meaning === 'unclear')) continue
    if (vendor !== null) refused.add(vendor)
    else if (subject === 'social_media') for (const one of SOCIAL_VENDORS) refused.add(one)
  }
  return refused
}

function isRelevant(
  { subject, vendor, meaning }: ConsentStatement,
  { vendor: own, isSocialMedia, tcfPurposes, personalization }: PlatformConsentNeeds,
): boolean {
  if (vendor !== null && vendor !== (own ?? UNNAMED_VENDOR)) return false
  if (subject === 'social_media') return isSocialMedia
  if (subject === 'ad_personalization' && meaning !== 'granted') {
    return personalization.refusal === 'refuses'
  }
  const purpose = readTcfPurpose(subject)
  return purpose === null || tcfPurposes.includes(purpose)
}

/**
 * Whether the platform may use a granted event for personalized ads. Only asked of platforms that
 * take an event without it; Consent Mode without an answer about it gives none.
 */
export function isPersonalizationGranted(
  { choices, tcStrings, tcPurposes }: ConsentStatements,
  { vendor: own, personalization }: PlatformConsentNeeds,
  grantedBy: readonly ConsentSource[],
): boolean {
  if (personalization.refusal === 'refuses') return true
  const isAbout = ({ subject, vendor }: ConsentStatement) => {
    if (vendor !== null && vendor !== own) return false
    const purpose = readTcfPurpose(subject)
    return purpose === null
      ? subject === 'ad_personalization'
      : personalization.tcfPurposes.includes(purpose)
  }
  const about = choices.filter(isAbout)
  if (about.some(({ meaning }) => meaning !== 'granted')) return false
  const decoded = tcStrings.flatMap(({ text }) => {
    return (typeof text === 'string' && decodeTcString(text)?.purposesConsented) || []
  })
  const ofTcf = [...decoded, ...tcPurposes.map(({ consented }) => consented)]
  const isComplete = (consented: ReadonlySet<number>) =>
    personalization.tcfPurposes.every(each => consented.has(each))
  if (!ofTcf.every(isComplete)) return false
  const isOnlyConsentMode = grantedBy.length > 0 && grantedBy.every(one => one === 'consent_mode')
  return !isOnlyConsentMode || about.length > 0
}

function readTcfPurpose(subject: ConsentSubject): number | null {
  return subject.startsWith('tcf_') ? Number(subject.slice('tcf_'.length)) : null
}

/** A refusal that the table of forms has, or one that only the words of a name say. */
export function findRefusal({ choices }: RelevantChoices): {
  denied: { why: SignalReason; field: string } | null
  possible: string | null
} {
  // Global Privacy Control denies by `readGlobalPrivacyControl`, which knows what overrules it.
  const refused = choices.filter(
    ({ meaning, subject }) => meaning === 'refused' && subject !== 'gpc',
  )
  const denied = refused.find(({ isForm }) => isForm)
  return {
    denied: denied ? { why: denied.why, field: denied.field } : null,
    possible: refused[0]?.field ?? null,
  }
}

/** The fields that may refuse by their words, of all objects. The first ones are enough. */
export function listPossibleRefusals(
  { choices }: ConsentStatements,
  needs: PlatformConsentNeeds,
): string[] {
  const fields = choices
    .filter(({ meaning, isForm, subject }) => meaning === 'refused' && !isForm && subject !== 'gpc')
    .filter(choice => isRelevant(choice, needs))
    .map(({ field }) => field)
  return [...new Set(fields)].slice(0, POSSIBLE_REFUSALS_MAX)
}

const POSSIBLE_REFUSALS_MAX = 10

/**
 * Reduces the statements of the `consent` object, and of GPP strings beside it. One refusal denies.
 * A refusal that only words say, and an answer that is not readable, leave it unknown. It grants if
 * advertising, this platform, or all purposes of the TCF that it needs are granted. An opt-out that
 * was not made and an answer that is missing do not affect a grant.
 *
 * Only an object without any statement is no signal: an empty one, or one that says when, how and
 * where consent was asked. A grant captured more than 395 days ago is expired; a denial never is.
 */
export function readConsentObject(
  statements: ConsentStatements,
  { needs, captured, credibleTime: captured_at, receivedAt }: SourceContext,
): ConsentSignal {
  const relevant = selectRelevant(statements, 'consent', needs)
  const { denied, possible } = findRefusal(relevant)
  if (denied !== null) return { state: 'denied', ...denied, captured_at }
  if (possible !== null) {
    return { state: 'unknown', why: 'possible_refusal', field: possible, captured_at }
  }
  const isAnswer = ({ meaning, subject }: ConsentStatement) =>
    !(subject === 'gpc' && meaning === 'refused')
  const choices = relevant.choices.filter(isAnswer)
  if (choices.length === 0 && !relevant.hasOther) return noSignal('consent', captured_at)
  if (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  const unclear = choices.find(({ meaning }) => meaning === 'unclear')
  const granted = findGrant(choices, needs)
  if (granted !== null && unclear === undefined) {
    return { state: 'granted', why: 'words_granted', field: granted, captured_at }
  }
  return { state: 'unknown', ...explainUnknown(choices), captured_at }
}

const GRANTING_SUBJECTS: ReadonlySet<ConsentSubject> = new Set<ConsentSubject>([
  ...(['advertising', 'ad_storage', 'ad_user_data', 'ad_personalization', 'everything'] as const),
])

function findGrant(
  choices: readonly ConsentStatement[],
  { tcfPurposes }: PlatformConsentNeeds,
): string | null {
  const granted = choices.filter(({ meaning }) => meaning === 'granted')
  const direct = granted.find(({ subject }) => GRANTING_SUBJECTS.has(subject))
  if (direct !== undefined) return direct.field
  const purposes = granted.map(({ subject }) => readTcfPurpose(subject))
  const isComplete = tcfPurposes.every(purpose => purposes.includes(purpose))
  return isComplete ? (granted[0]?.field ?? null) : null
}

/** The path is that of the object where the name of the member may be an identifier. */
function explainUnknown(choices: readonly ConsentStatement[]): {
  why: SignalReason
  field: string
} {
  const find = (wanted: ConsentStatement['meaning']) =>
    choices.find(({ meaning }) => meaning === wanted)?.field
  const field = find('unclear') ?? find('unset')
  if (field !== undefined) return { why: 'words_unreadable', field }
  const permitted = find('permitted') ?? find('granted')
  if (permitted !== undefined) return { why: 'opt_out_not_made', field: permitted }
  return { why: 'advertising_not_mentioned', field: 'consent' }
}

/**
 * Reduces the `consent_mode` object: Google Consent Mode v2 as a proxy for the choice in the
 * banner. It denies if any of the three advertising signals is denied. It grants if ad_storage and
 * ad_user_data are granted and ad_personalization is granted or absent. A v1 object without
 * ad_user_data, an unreadable word, and an object with other signals alone are unknown.
 *
 * Consent Mode has no time of its own, so `consent.captured_at` dates it, unless the object has a
 * `captured_at`. Only its own time can expire a grant; a denial never lapses.
 */
export function readConsentMode(
  statements: ConsentStatements,
  ownCaptured: unknown,
  { needs, credibleTime, receivedAt }: SourceContext,
): ConsentSignal {
  const ownTime = parseCapturedAt(ownCaptured)
  const captured_at = ownTime === 'missing' ? credibleTime : toCredibleTime(ownTime, receivedAt)
  const relevant = selectRelevant(statements, 'consent_mode', needs)
  const { denied, possible } = findRefusal(relevant)
  if (denied !== null) return { state: 'denied', ...denied, captured_at }
  const unknown = (why: SignalReason, field: string): ConsentSignal => ({
    state: 'unknown',
    why,
    field,
    captured_at,
  })
  if (possible !== null) return unknown('possible_refusal', possible)
  const { choices, hasOther } = relevant
  const signals = choices.filter(({ subject }) => subject.startsWith('ad_'))
  const others = choices.filter(({ subject }) => subject !== 'gpc')
  if (others.length === 0 && !hasOther) return noSignal('consent_mode')
  if (ownTime instanceof Date && isOlderThanDays(ownTime, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    return unknown('consent_expired', 'consent_mode.captured_at')
  }
  const unclear = choices.find(({ meaning }) => meaning === 'unclear')
  if (unclear !== undefined) return unknown('words_unreadable', unclear.field)
  const [first] = signals
  if (first === undefined) return unknown('advertising_not_mentioned', 'consent_mode')
  const grants = (wanted: ConsentSubject) =>
    signals.find(({ subject, meaning }) => subject === wanted && meaning === 'granted')
  const userData = grants('ad_user_data')
  if (userData === undefined || grants('ad_storage') === undefined) {
    return unknown('ad_storage_or_ad_user_data_missing', first.field)
  }
  return { state: 'granted', why: 'words_granted', field: userData.field, captured_at }
}

/** The name of the request header, as 422 names it. */
const HEADER_FIELD = 'Sec-GPC'

interface GpcContext {
  /** Whether the browser sent `Sec-GPC: 1`. Only known for requests with a publishable key. */
  hasHeader?: boolean | undefined
  advertisingConsent: ConsentSignal
  receivedAt: Date
}

/**
 * Reads Global Privacy Control, as members of the submission and as the header of a browser. If it
 * is on, it is an opt-out and overrides every grant. Off is no signal, because the W3C draft
 * defines only "1".
 *
 * Only an explicit advertising grant in `consent` overrides it, if it is provably later
 * (`isCapturedAfterOptOut`) than the `gpc_captured_at` beside the signal. Browsers send GPC with
 * every request, so a signal without a time of its own, such as the header, is as recent as the
 * event. Consent Mode and TCF never override it: where an opt-out law applies, their defaults are
 * grants that no person made.
 */
export function readGlobalPrivacyControl(
  { choices }: Pick<ConsentStatements, 'choices'>,
  { hasHeader = false, advertisingConsent, receivedAt }: GpcContext,
): ConsentSignal {
  let overruled: ConsentSignal | null = null
  for (const { subject, meaning, field, gpcCapturedAt } of choices) {
    if (subject !== 'gpc' || meaning !== 'refused') continue
    const captured_at = toCredibleTime(parseCapturedAt(gpcCapturedAt), receivedAt)
    if (!isGrantedAfter(advertisingConsent, captured_at, receivedAt)) {
      return { state: 'denied', why: 'gpc_opt_out', field, captured_at }
    }
    overruled ??= { state: 'unknown', why: 'gpc_overruled_by_later_grant', field, captured_at }
  }
  if (hasHeader) {
    return { state: 'denied', why: 'gpc_opt_out', field: HEADER_FIELD, captured_at: null }
  }
  return overruled ?? noSignal('consent.gpc')
}

function isGrantedAfter(
  { state, captured_at }: ConsentSignal,
  gpcAt: string | null,
  receivedAt: Date,
): boolean {
  if (state !== 'granted' || captured_at === null || gpcAt === null) return false
  return isCapturedAfterOptOut(new Date(captured_at), { optedOutAt: new Date(gpcAt), receivedAt })
}
