import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import type { CodedForm } from './consent-names.ts'
import type { Member, Place } from './consent-place.ts'
import type { ConsentMeaning, ConsentStatements } from './consent-statement.ts'
import { parseCookieText } from './cookie-text.ts'
import { decodeGppString, parseUsPrivacyString, US_PRIVACY_STRING } from './gpp-string.ts'
import { addCode, addGppString, isScalar, readGpp, readNumber, type Said } from './iab-codes.ts'
import { isPlausibleTcString } from './tc-string.ts'
import {
  addNumberedPurposes,
  findNumberedPurposes,
  isPurposeConsents,
  PURPOSE_BITS,
  readTcfPurposes,
} from './tcf-purposes.ts'

/**
 * Reads a value whose name says that it is a code of the IAB, Google or Apple. True if nothing more
 * is in it.
 */
export function readCoded(statements: ConsentStatements, place: Place, member: Member): boolean {
  const { value, name } = member
  const coded = findCodedForm(place, member)
  if (coded !== null) return readForm(statements, place, { ...member, coded })
  if (name.toLowerCase() === 'lat' && hasLongitude(member.owner)) {
    statements.withOthers.add(place.source)
    return true
  }
  if (/^iabgpp[-_]?\d{1,2}[-_]?string$/i.test(name)) return readGpp(statements, place, member)
  const found = findNumberedPurposes(place, member)
  if (found !== null) {
    addNumberedPurposes(statements, place, { member, found })
    return true
  }
  const isOfPurposes = typeof value === 'object' || PURPOSE_BITS.test(String(value))
  const mayHavePurposes = isOfPurposes && PURPOSES_NAME.test(name)
  if (!mayHavePurposes || !isPurposeConsents(place, name, value)) return false
  return readTcfPurposes(statements, member)
}

const PURPOSES_NAME = /^(purposes?|consents?)$/i

/** Beside these, `lat` is a latitude and not Android's limit on ad tracking. */
const LONGITUDE = /^(lon|lng|long|longitude)$/i

function hasLongitude(owner: UntrustedObject): boolean {
  return Object.keys(owner).some(name => LONGITUDE.test(name))
}

function findCodedForm(place: Place, { meaning, name }: Member): CodedForm | null {
  // The documented name of the TC string; elsewhere `string` says nothing.
  if (name === 'string' && place.path === 'tcf') return 'tc_string'
  // `att: {authorization_status: 2}`
  const isStatus = meaning.coded === null && STATUS_NAME.test(name) && ATT_PATH.test(place.path)
  return isStatus ? 'att' : meaning.coded
}

const STATUS_NAME = /status|state|authori[sz]ation|value/i
const ATT_PATH = /(?:^|\.)(?:att|app_?tracking_?transparency)$/i

const NO_CONSENT_STRING: Said = { subject: 'advertising', meaning: 'refused', isForm: false }

type CodedMember = Member & { coded: CodedForm }

function readForm(statements: ConsentStatements, place: Place, member: CodedMember): boolean {
  const { coded, value, field } = member
  switch (coded) {
    case 'tc_string':
      // Some call the text of a cookie so.
      if (place.source === 'consent' && isCookieText(value)) return false
      // `gdpr_consent_string: "0"`, as AdColony has it.
      if (typeof value === 'string' && readAnswer(value).answer === 'no') {
        return addCode(statements, place, { field, said: NO_CONSENT_STRING })
      }
      statements.tcStrings.push({ field, text: value })
      return true
    case 'additional_consent':
      statements.additionalConsents.push({ field, text: value })
      return true
    case 'gdpr_applies':
      if ((typeof value === 'object' && value !== null) || isCookieText(value)) return false
      // `gdpr: "rejected"` is an answer.
      if (readAnswer(value).isRefusal) return false
      statements.withOthers.add(place.source)
      if (readAnswer(value).answer === 'no') {
        statements.isOutsideGdpr = true
        if (place.source === 'tcf') statements.gdprApplies = false
      }
      return true
    case 'tcf_purposes':
      return readTcfPurposes(statements, member)
    case 'gpp':
      return readGpp(statements, place, member)
    case 'us_privacy':
      return readUsPrivacy(statements, place, member)
    case 'gcs':
    case 'gcd':
      return readGoogleParameter(statements, place, member)
    case 'att':
    case 'gpp_opt_out':
    case 'purpose_status':
      return readNumber(statements, place, member)
    case 'trustarc_level':
      return readTrustArcLevel(statements, place, member)
    case 'provenance':
      if (!isPlainLabel(value)) statements.withOthers.add(place.source)
      return true
  }
}

function isCookieText(value: unknown): boolean {
  if (typeof value !== 'string') return isObject(value)
  return !isPlausibleTcString(value) && parseCookieText(value) !== null
}

/** A refusal in a label (`method: "opt_out"`) is more than provenance. */
function isPlainLabel(value: unknown): boolean {
  if (value === null || typeof value === 'number') return true
  return typeof value === 'string' && readAnswer(value).answer !== 'no'
}

const CONSENT_STATE = /(?:^|\.)consent[-_ ]?state$/i
const CCPA_STATE = /ccpa[-_ ]?consent[-_ ]?state$/i

/**
 * `ccpa: true` says that the law applies, and an object has the string or the choices inside. In
 * mParticle's state, consent of the CCPA is the opt-out.
 */
function readUsPrivacy(statements: ConsentStatements, place: Place, member: CodedMember): boolean {
  const { field, value, name } = member
  const isState = CONSENT_STATE.test(place.path) || CCPA_STATE.test(name)
  const consented =
    isObject(value) && isState && Object.keys(value).find(key => /^consented$/i.test(key))
  if (isObject(value) && consented) {
    const meaning = readAnswer(value[consented]).answer === 'no' ? 'permitted' : 'refused'
    const said: Said = { subject: 'sale', meaning, why: 'opted_out' }
    return addCode(statements, place, { field: `${field}.${consented}`, said })
  }
  if (isObject(value) || Array.isArray(value)) return false
  if (/^ccpa$/i.test(name) && /^(?:true|false|[01])$/i.test(`${value}`)) {
    statements.withOthers.add(place.source)
    return true
  }
  if (typeof value === 'string' && parseCookieText(value) !== null) return false
  const parsed = parseUsPrivacyString(value)
  if (parsed === 'unclear' && readAnswer(value).answer === 'no' && typeof value === 'string') {
    return addCode(statements, place, { field, said: { subject: 'sale', meaning: 'refused' } })
  }
  const said: Said = { subject: 'sale', meaning: parsed, why: 'opted_out' }
  return addCode(statements, place, { field, said })
}

export const GCS = /^G1[01-][01-]$/i

/** Letters of ad_storage, analytics_storage, ad_user_data and ad_personalization. */
const GCD = /^1\d([a-z])\d([a-z])\d([a-z])\d([a-z])\d/i
const GCD_REFUSED = /[mpqu]/i
const GCD_GRANTED = /[nrtv]/i

/**
 * Google's parameters: `gcs` has ad_storage as `G1` and a digit, and `gcd` a letter for each
 * signal. Google does not document `gcd`; a letter that we do not know says nothing.
 */
function readGoogleParameter(
  statements: ConsentStatements,
  place: Place,
  { coded, field, value }: CodedMember,
): true {
  if (coded === 'gcs') {
    const meaning = parseGcs(value, place)
    return addCode(statements, place, { field, said: { subject: 'ad_storage', meaning } })
  }
  statements.withOthers.add(place.source)
  const [, storage = '', , userData = '', personalization = ''] =
    GCD.exec(isScalar(value) ? `${value}` : '') ?? []
  for (const [subject, letter] of [
    ['ad_storage', storage],
    ['ad_user_data', userData],
    ['ad_personalization', personalization],
  ] as const) {
    const meaning = GCD_REFUSED.test(letter) ? 'refused' : 'granted'
    if (meaning === 'refused' || GCD_GRANTED.test(letter)) {
      addCode(statements, place, { field, said: { subject, meaning } })
    }
  }
  return true
}

/** Outside of `consent_mode`, ad_storage alone is no grant of advertising. */
function parseGcs(value: unknown, { source }: Place): ConsentMeaning {
  if (value === null || value === undefined || value === '') return 'unset'
  if (typeof value !== 'string' || !GCS.test(value)) return 'unclear'
  const adStorage = value.charAt(2)
  if (adStorage === '-') return 'unset'
  if (adStorage === '0') return 'refused'
  return source === 'consent_mode' ? 'granted' : 'permitted'
}

/**
 * TrustArc's decision is the highest accepted category of three, or a list of them; the last one is
 * advertising, and 0 is none yet. It is TrustArc's only with the source beside it.
 */
function readTrustArcLevel(
  statements: ConsentStatements,
  place: Place,
  { field, value, owner }: CodedMember,
): boolean {
  const listed: unknown[] = Array.isArray(value) ? value : [value]
  const levels = listed.map(level => (isScalar(level) ? Number(level) : -1))
  const isTrustArc = /^(?:asserted|implied)$/i.test(`${readSource(owner)}`)
  if (!isTrustArc || !levels.every(level => level >= 0 && level <= 3)) return false
  const highest = Math.max(0, ...levels)
  const meaning = highest === 0 ? 'unset' : highest === 3 ? 'granted' : 'refused'
  return addCode(statements, place, { field, said: { subject: 'advertising', meaning } })
}

/** `source` or `SOURCE`. */
function readSource(owner: UntrustedObject): unknown {
  const name = Object.keys(owner).find(each => /^source$/i.test(each))
  const source = name === undefined ? null : owner[name]
  return isScalar(source) ? source : null
}

/** The device has no advertising ID, because its person limits ad tracking. */
const ZERO_ID = /^0{8}-(?:0{4}-){3}0{12}$/
/** `TC_PRIVACY` of Commanders Act: 1 is an opt-out. A site can choose another separator. */
const COMMANDERS_ACT = /^([01])@\d{3}/
const COMMANDERS_ACT_NAME = /(?:^|[^a-z])tc[-_. ]?privacy/i
/** Of US Privacy strings, `TC_PRIVACY`, gcs, GPP and TC strings. */
const CODE_START = /^(1[yn-]|[01][@!|*]|0{8}-|G1|D[A-Z]|C[A-Z])/i
const ID_NAME = /(id|uuid|guid|hash|token|stamp)$/i

/** Recognizes a code by its own form, under any name. */
export function readCodedText(
  statements: ConsentStatements,
  place: Place,
  member: Member,
): boolean {
  const { field, meaning, name } = member
  const text = member.value as string
  if (!CODE_START.test(text)) return false
  if (US_PRIVACY_STRING.test(text)) {
    const said: Said = { subject: 'sale', meaning: parseUsPrivacyString(text), why: 'opted_out' }
    return addCode(statements, place, { field, said })
  }
  if (GCS.test(text)) {
    const said: Said = { subject: 'ad_storage', meaning: parseGcs(text, place) }
    return addCode(statements, place, { field, said })
  }
  const isOptOut =
    COMMANDERS_ACT.exec(text)?.[1] === '1' ||
    (COMMANDERS_ACT_NAME.test(name) && text.startsWith('1'))
  const isLimited = ZERO_ID.test(text) && meaning.subject !== null
  if (isOptOut || isLimited) {
    const said: Said = {
      subject: 'tracking',
      meaning: 'refused',
      why: 'opted_out',
      isForm: isOptOut,
    }
    return addCode(statements, place, { field, said })
  }
  if (/^D[A-Za-z0-9_-]+~/.test(text) && decodeGppString(text) !== null) {
    addGppString(statements, place, { field, text })
    return true
  }
  if (!isPlausibleTcString(text) || ID_NAME.test(name)) return false
  statements.tcStrings.push({ field, text })
  return true
}
