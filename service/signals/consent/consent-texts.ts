import { type AnswerText, readAnswer } from './consent-answers.ts'
import { readCodedText } from './consent-codes.ts'
import { findMeaning } from './consent-forms.ts'
import { addMissingAdvertising, readList } from './consent-lists.ts'
import {
  addChoice,
  addSubject,
  isRefusalOfAll,
  type Member,
  OWN_PREFERENCES,
  type Place,
  resolveSubject,
  type Subject,
  UNKNOWN_ITEM,
} from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'
import { isTime } from './consent-times.ts'
import { isNecessaryOnly } from './consent-words.ts'

/**
 * `consent_revoked: 1732000000` and `declined: {marketing: "2026-11-20"}` are when it was; for
 * names that end in `_at`, see `readTimeOfRefusal`.
 */
export function readMemberAnswer({ parent }: Place, { value, meaning }: Member): AnswerText {
  const mayBeTime = meaning.isNegative || parent?.isNegative === true
  return readAnswer(mayBeTime && isTime(value) ? true : value)
}

/**
 * Reads a text that says something as a whole, whatever its name: a code, the type of an event, a
 * signal, a list that is empty. False if it may still be an answer, a cookie or a list.
 */
export function readWholeText(
  statements: ConsentStatements,
  place: Place,
  member: Member & { answer: AnswerText },
): boolean {
  const { meaning, field, answer } = member
  const text = member.value as string
  if (readCodedText(statements, place, member)) return true
  if (isSignalName(text)) {
    const said = { ...member, meaning: { ...meaning, ...OPT_OUT_BY_SIGNAL } }
    addChoice(statements, place, { ...said, answer: readAnswer(true) })
    return true
  }
  if (readModeOfItem(statements, place, member)) return true
  const optOut = findOptOutName(member)
  if (optOut !== null) {
    addSubject(statements, place, { field, subject: optOut, meaning: 'refused' })
    return true
  }
  if (isRefusingType(member, answer, place)) {
    const named = { ...member, meaning: { ...meaning, isLabel: false, isSwitch: true } }
    addChoice(statements, place, { ...named, answer })
    return true
  }
  const isRefused = OWN_PREFERENCES.test(member.name) && answer.isRefusal && !isCategory(member)
  if (!isRefused && !isNothing(member) && !isNecessaryButton(member, answer)) return false
  addMissingAdvertising(statements, place, { field, isForm: false })
  return true
}

/** `wp_consent_preferences: "deny"` beside `wp_consent_statistics`. */
function isCategory({ name, owner }: Member): boolean {
  return Object.keys(owner).some(other => other !== name && findMeaning(other).subject === 'other')
}

/**
 * `privacy_flag: "do_not_sell"` and `data_processing_options: "LDU"` say it under any name that has
 * no meaning of its own, as they do in a list.
 */
function findOptOutName({ meaning, value }: Member): Subject | null {
  const text = value as string
  const isFree = meaning.subject === null && !meaning.isLabel && meaning.coded === null
  if (!isFree || text.length > OPT_OUT_NAME_LENGTH_MAX) return null
  const said = findMeaning(text)
  const isOptOut = said.isOptOut && said.isPlain && said.subject !== 'everything'
  return isOptOut ? { ...resolveSubject(said, null), isForm: false } : null
}

const OPT_OUT_NAME_LENGTH_MAX = 40

/**
 * Piano has the answer to a purpose as its mode, `consents: {AD: {mode: "opt-out"}}`. A mode beside
 * another answer is the model of the consent, and so is that of consent as a whole.
 */
function readModeOfItem(statements: ConsentStatements, place: Place, member: Member): boolean {
  const { name, owner, field } = member
  const isOfNumber = place.parent === null && /\.\d{1,3}$/.test(place.path)
  const parent = isOfNumber ? UNKNOWN_ITEM : place.parent
  if (parent === null || parent.isNegative || !/^mode$/i.test(name)) return false
  const { isForm } = findMeaning(place.path.split('.').at(-1) ?? '')
  const isOfWhole = parent.subject === 'everything' && !parent.isForm && !isForm
  const isOfOther = parent.subject === 'other' && (parent !== UNKNOWN_ITEM || place.isItem)
  const hasAnswer = Object.keys(owner).some(
    other => other !== name && ['yes', 'no'].includes(readAnswer(owner[other]).answer),
  )
  if (isOfWhole || isOfOther || hasAnswer) return false
  const { answer, isOptStatement } = readAnswer(member.value)
  const isRefused = (answer === 'no' && isOptStatement) || isNecessaryOnly(String(member.value))
  if (!isRefused && answer !== 'yes') return false
  const subject = parent === UNKNOWN_ITEM ? ({ ...parent, subject: 'everything' } as const) : parent
  addSubject(statements, place, { field, subject, meaning: isRefused ? 'refused' : 'permitted' })
  return true
}

/**
 * `ads_opt_in: 2`: a number of a list of answers that we do not know is no yes. Systems that number
 * their answers often begin with 1 for yes and 2 for no.
 */
export function readChoiceNumber(
  statements: ConsentStatements,
  place: Place,
  { value, meaning, field }: Member,
): boolean {
  const isNumber = typeof value === 'number' && value >= 2 && value <= 9
  if (!isNumber || meaning.subject !== 'advertising' || !meaning.canAsk) return false
  const subject = resolveSubject(meaning, place.parent)
  addSubject(statements, place, { field, subject, meaning: 'refused' })
  return true
}

/** A name alone, not a cookie such as `isGpcEnabled=0`. */
const SIGNAL = /^[\w\s.-]{3,39}$/

const OPT_OUT_BY_SIGNAL = { subject: 'everything', isNegative: true, isForm: false } as const

/** `signal: "gpc"` and `privacy_signals: ["gpc"]` say that an opt-out was made by the browser. */
export function isSignalName(text: unknown): boolean {
  return typeof text === 'string' && SIGNAL.test(text) && findMeaning(text).subject === 'gpc'
}

/**
 * The type of an event or a transaction may be `DENY_ALL`, that of a consent `NO_CONSENT`, and that
 * of an item about advertising `REVOKE`. `consent_type: "opt-out"` is the model of a consent.
 */
function isRefusingType(
  { name, field, meaning, value }: Member,
  answer: AnswerText,
  place: Place,
): boolean {
  if (!answer.isRefusal) return false
  if (answer.isAboutConsent && /(?:type|mode|status|state|result)$/i.test(name)) return true
  if (/transaction[-_ ]?type$/i.test(name) || MODE_OF_PERSON.test(name)) return true
  if (/event[-_ ]?type$/i.test(name) || EVENT_NAME.test(field)) return !answer.isOptStatement
  if (meaning.isConsent && /(?:button|click|clicked)$/i.test(name)) return true
  if (CLICKED_NAME.test(name)) return BANNER_REFUSAL.test(String(value))
  if (BANNER_NAME.test(name)) return BANNER_REFUSAL.test(String(value))
  if (!meaning.isLabel || !/(type|mode|method|button|clicks?|clicked)$/i.test(name)) return false
  if (name === 'type' && CHOICE_PATH.test(place.path) && !answer.isOptStatement) return true
  const { parent } = place
  const isItem = parent !== null && parent.subject !== 'other' && !answer.isOptStatement
  return isItem || isRefusalOfAll(answer)
}

/** `visitor_mode: "optout"` is about the person; another mode is the model of the consent. */
const MODE_OF_PERSON = /^(?:visitor|user|person|customer)(?:[-_ ]?(?:privacy|consent))?[-_ ]?mode$/i

/** `user_choice: {type: "reject"}` */
const CHOICE_PATH = /\.[\w-]*(?:choice|decision|answer|response|selection|interaction)$/i

/** `cookie_banner: "rejected"`; "disabled" is about the banner. */
const BANNER_NAME = /(?:banner|popup|prompt|dialog|modal|notice)$/i
const BANNER_REFUSAL = /reject|den(?:y|ied)|declin|refus|disagre|withdr|revok/i

/** `clicked_button: "decline"`, of a button that nothing else is known about. */
const CLICKED_NAME =
  /^(?:clicked[-_ ]?(?:button|action|option)?|(?:button|action|option)[-_ ]?click(?:ed)?)$/i

const EVENT_NAME = /(?:^|[._])(?:event[-_ ]?name|event\.name|topic|trigger)$/i

/** `purposes: "none"` is an empty list, and a choice may be "only what is necessary". */
function isNothing({ name, value, meaning }: Member): boolean {
  const isChoice = meaning.isSwitch || meaning.mayAnswer || meaning.isConsent
  const text = String(value)
  if (isChoice && !meaning.isLabel && (isNecessaryOnly(text) || BASIC.test(text))) return true
  // `m_c: "accept_only_necessary"` and `cookie_banner: "essential"`, of any "m_c".
  const isAnswer = !meaning.isLabel && ONLY.test(text)
  if ((isAnswer || (meaning.isConsent && BANNER_NAME.test(name))) && isNecessaryOnly(text)) {
    return true
  }
  return meaning.subject === null && NOTHING.test(String(value)) && PURPOSES.test(name)
}

/** Levels of consent. Elsewhere, such as in a mode, they are plain words. */
const BASIC = /^(?:basics?|basis|base|needed|technical|mandatory)$/i
const ONLY = /(?:^|[^a-z])(?:only|nur|seulement|uniquement|solo|alleen|tylko|bara|kun)(?:[^a-z]|$)/i

const NOTHING = /^(none|nothing)$/i
const PURPOSES = /(purposes|categories|consents)$/i

/** Real Cookie Banner: `buttonClicked: "main_essential"`. */
function isNecessaryButton({ name, value }: Member, { isAboutAll }: AnswerText): boolean {
  return /(button|clicks?|clicked)$/i.test(name) && NECESSARY.test(String(value)) && !isAboutAll
}

const NECESSARY = /(?:^|[_\s-])(?:essentials?|necessary|required)(?:[_\s-]|$)/i

/** A TC or GPP string in a list of codes, such as Ethyca's `fides_string`. */
const CODE_IN_TEXT = /[,;|\s](D[\w-]+~|C[\w-]{20})/

export function readCodesInText(
  statements: ConsentStatements,
  place: Place,
  member: Member,
): boolean {
  const text = `,${member.value}`
  if (text.length > LIST_LENGTH_MAX || !CODE_IN_TEXT.test(text)) return false
  const parts = text.split(/[,;|\s]+/, ITEMS_MAX)
  const read = parts.map(value => readCodedText(statements, place, { ...member, value }))
  return read.includes(true)
}

const ITEMS_MAX = 200
const LIST_LENGTH_MAX = 4_096

/** `necessary,marketing` and `permit 1,2,3`. */
export function readTextList(statements: ConsentStatements, place: Place, member: Member): boolean {
  const { meaning } = member
  const text = member.value as string
  const mayList = meaning.list !== null || meaning.codes !== null || meaning.subject !== null
  if (!mayList || text.length > LIST_LENGTH_MAX) return false
  const separator = meaning.codes === null ? /[,|;\n]+/ : /[^A-Za-z0-9_]+|_(?=\d)/
  const items = text.split(separator, ITEMS_MAX).map(item => item.trim())
  const value = items.filter(item => item !== '')
  place.budget.members -= value.length
  if (place.budget.members < 0) {
    addUnread(statements, place)
    return true
  }
  // `event: "preference_not_needed"` is the name of an event, and no list.
  if (value.length < 2 && EVENT_NAME_MEMBER.test(member.name)) return false
  const isEmptyList = value.length === 0 && meaning.list === 'accepted'
  return (isEmptyList || value.length > 0) && readList(statements, place, { ...member, value })
}

const EVENT_NAME_MEMBER = /(?:event|command)(?:[-_ ]?(?:name|type))?$/i

/** What is not read may refuse. */
export function addUnread({ choices }: ConsentStatements, { source, path }: Place): void {
  choices.push({
    source,
    field: path,
    subject: 'advertising',
    vendor: null,
    meaning: 'unclear',
    isForm: true,
    why: 'words_denied',
  })
}

/** `["ad_storage=denied", "C0004:0"]` */
export function isTextPair(item: unknown): boolean {
  const [, answer] = typeof item === 'string' ? (TEXT_PAIR.exec(item) ?? []) : []
  return answer !== undefined && ['yes', 'no'].includes(readAnswer(answer).answer)
}

const TEXT_PAIR = /^[\p{L}\p{N}_ .-]{1,60}[=:]\s*([\p{L}\p{N}_-]{1,20})$/u
