import { LRUCache } from 'lru-cache'
import type { ConsentMeaning } from './consent-statement.ts'
import {
  GRANT_STEM,
  PERSONALIZING_WORDS,
  REFUSAL_STEM,
  withoutMarks,
} from './consent-vocabulary.ts'
import { splitWords } from './consent-words.ts'

/**
 * What a value answers. `unset` is no answer: null, empty text, or a word such as `pending`.
 * `unclear` is a value that may be an answer in words that we do not know.
 */
export type Answer = 'yes' | 'no' | 'unset' | 'unclear'

export interface AnswerText {
  answer: Answer
  /** It speaks of everything: `rejectedAll`. */
  isAboutAll: boolean
  /** It says "no" in a word of refusal, not only by `false`, `0` or `off`. */
  isRefusal: boolean
  /** It says whether an opt-out was made: `opted_out`, `opted_in`. */
  isOptStatement: boolean
  /** `granted` and `denied`: in a member such as `opt_out` they may be meant either way. */
  isParticiple: boolean
  /** It restricts in its own words, so it says the same in `restricted_data_use`. */
  isRestriction: boolean
  /** It names consent (`NO_CONSENT`), so it refuses under any name. */
  isAboutConsent: boolean
  /** It says that a signal was there (`detected`), which is a yes of a signal alone. */
  isPresence: boolean
  /** It says that a signal was not there (`not_detected`), which is a no of a signal alone. */
  isAbsence: boolean
}

const YES = `granted grant grants allow allowed allows accept accepted acceptance yes y true on
  enable enabled active activated agree agreed approve approved permit permitted authorize
  authorized authorise authorised given 1 oui ja si sim tak da evet kylla ano igen ok okay
  aktiv aktivt actief attivo activo ativo checked selected accepter aceptar accetta akzeptieren
  acceptera aceitar accepteren accepte
  acceptee autorise akzeptiert zugestimmt erlaubt aceptado aceptada
  aceito accettato geaccepteerd toegestaan godkand akceptovano prijato zgoda 同意 許可 许可 はい 是 да
  dy vi так accord כן erteilt confirmed bewilligt gegeben donne donnee otorgado otorgada
  concesso concessa
  udzielona gegeven verleend givet gitt annettu udeleno`
const YES_ALONE = 'consent consented in g t an aan'
const NO = `denied deny denies no n false off disable disabled inactive deactivated reject
  rejected rejects rejection refuse refused refusal decline declined declines withdraw
  withdrawn withdrawal revoke revoked disallow disallowed block blocked prohibit prohibited
  forbid forbidden restricted limited objected disagree disagreed dissent dissented unauthorized
  unauthorised
  unchecked deselected nothing 0 nope non nein nie niet nej nei nee ei ne hayir hayır nem nao
  necessaryonly minimal minimum restrict limit notarget notrack noads nomarketing
  d f aus uit nu retire retires retirees οχι 不可
  いいえ 否 нет ні לא ไม่ नहीं না khong tidak tolak optout optedout
  optouts dn`
const NO_ALONE = 'out none never not'
const FLIPS = `not no non never without none nicht kein keine niet ikke inte pas не 不 sans ohne
  senza sin zonder uden utan`
const OPTS_IN = 'optin optedin'
/** `not_set` is read before `not` flips. To have obtained an answer says nothing about it. */
const UNSET = `unset unspecified undefined unknown undetermined null nil pending unanswered
  notset notdetermined determined obtained unavailable na nan noanswer nopreference default u p`
const FILLERS = `explicit explicitly thanks thank you gerne edildi danke merci gracias grazie
  bedankt tack takk
  i do did we she he consent status state all any everything every full user users
  visitor visitors vendors vendor purposes purpose categories cookies cookie on to has was is of
  the my continue continuer continua continuar weiter fortfahren choice click clicked notice
  button event tracking track sell share ads data by via banner switch services
  service partners type
  tout tous toutes alle alles todos todas tutti`
const EVERYTHING = 'all everything every any full tout tous toutes alle alles todos todas tutti'

const toSet = (words: string): ReadonlySet<string> => new Set(withoutMarks(words).split(/\s+/))
const [YES_WORDS, NO_WORDS, FLIP_WORDS] = [toSet(YES), toSet(NO), toSet(FLIPS)]
const [YES_ALONE_WORDS, NO_ALONE_WORDS] = [toSet(YES_ALONE), toSet(NO_ALONE)]
const [OPT_IN_WORDS, UNSET_WORDS] = [toSet(OPTS_IN), toSet(UNSET)]
const [FILLER_WORDS, EVERYTHING_WORDS] = [
  toSet(`${FILLERS} ${PERSONALIZING_WORDS}`),
  toSet(EVERYTHING),
]
const NOT_A_REFUSAL = toSet(
  'no n false off 0 non nein nie niet nej nei nee ei ne hayir nem nao нет 否',
)
const PARTICIPLES = toSet('denied rejected refused declined revoked withdrawn disallowed')

/** "Disabled" is none of them: in an opt-out it means that the opt-out is off. */
const RESTRICTION = new RegExp(
  '^(?!(?:not?|non|never) (?:restrict|limit))(?=.*\\b(?:restrict|limit|block|prohibit|suppress|' +
    'non (?:personali[sz]ed|behaviou?ral|targeted)))',
)

/** Also Adobe's "in" and "out". */
const OPT_STATEMENT = /^opt|^(?:in|out)$/

const TEXT_LENGTH_MAX = 48
const WORDS_MAX = 6
/** Only texts of letters are answers, and only they are cached: others may be identifiers. */
const ANSWER_TEXT = /^(?:[\p{L}\p{M}\s_.'’!-]|, )+$|^-?[01]$/u

const answers = new LRUCache<string, AnswerText>({ max: 1_000 })

/** Reads a text as an answer. */
function readAnswerText(text: string): AnswerText {
  const cached = answers.get(text)
  if (cached !== undefined) return cached
  if (text.length > TEXT_LENGTH_MAX || !ANSWER_TEXT.test(text)) {
    return text.trim() === '' ? toAnswer('unset') : toAnswer('unclear')
  }
  const read = text === '-1' ? toAnswer('no') : interpretAnswer(splitWords(text))
  answers.set(text, read)
  return read
}

/** Booleans, 1, 0 and -1 (Piwik PRO's "rejected"); other numbers are unclear. */
export function readAnswer(value: unknown): AnswerText {
  if (typeof value === 'string') return readAnswerText(value)
  if (value === true || value === 1) return PLAIN_YES
  if (value === false || value === 0 || value === -1) return PLAIN_NO
  return value === null || value === undefined ? toAnswer('unset') : toAnswer('unclear')
}

function toAnswer(answer: Answer): AnswerText {
  return {
    answer,
    isAboutAll: false,
    isRefusal: false,
    isOptStatement: false,
    isParticiple: false,
    isRestriction: false,
    isAboutConsent: false,
    isPresence: false,
    isAbsence: false,
  }
}

const PLAIN_YES = toAnswer('yes')
const PLAIN_NO = toAnswer('no')

function interpretAnswer(words: string[]): AnswerText {
  if (words.length === 0 || words.length > WORDS_MAX) {
    return toAnswer(words.length === 0 ? 'unset' : 'unclear')
  }
  const isAboutAll = words.some(word => EVERYTHING_WORDS.has(word))
  const told = words.filter(word => !FILLER_WORDS.has(word) || words.length === 1)
  const isOptStatement = told.some(word => OPT_STATEMENT.test(word))
  const answer = NO_CONSENT.test(words.join(' ')) ? 'no' : countOrFill(words, told, isAboutAll)
  return {
    answer,
    isAboutAll,
    isRefusal: answer === 'no' && (told.some(isRefusalWord) || words.length > 1),
    isOptStatement,
    isParticiple: told.some(word => PARTICIPLES.has(word)),
    isRestriction: answer === 'no' && RESTRICTION.test(words.join(' ')),
    isAboutConsent: words.includes('consent'),
    isPresence: PRESENCE.test(words.join(' ')),
    isAbsence: ABSENCE.test(words.join(' ')),
  }
}

const PRESENCE = /^(?:signal )?(?:detected|present|received|found|sent|asserted|honou?red)$/

const ABSENCE =
  /^(?:absent|missing|(?:signal )?not (?:detected|present|received|found|sent|asserted|honou?red))$/

/** `PA_CONSENT_TYPE_NO_CONSENT`: any words may stand before it. */
const NO_CONSENT = /(?:^| )(?:no|without) consent$/

function countOrFill(words: string[], told: string[], isAboutAll: boolean): Answer {
  return told.length === 0 ? toPlainAnswer(words, isAboutAll) : countAnswer(told)
}

function isGrantWord(word: string): boolean {
  return YES_WORDS.has(word) || OPT_IN_WORDS.has(word) || GRANT_STEM.test(word)
}

function isRefusalWord(word: string): boolean {
  return (NO_WORDS.has(word) && !NOT_A_REFUSAL.has(word)) || REFUSAL_STEM.test(word)
}

/** Fillers alone: "all" accepts everything. */
function toPlainAnswer(words: string[], isAboutAll: boolean): Answer {
  if (isAboutAll) return 'yes'
  return words.length === 1 && words[0] === 'consent' ? 'yes' : 'unclear'
}

/** `NOT_REQUIRED` and `NO_CHOICE`: the person was not asked, or did not answer. */
const NOT_ASKED = new RegExp(
  '\\bnot (set|required|needed|applicable|configured|asked|available|answered)\\b|' +
    '^(consent )?no (choice|interaction|decision|response)$',
)

function countAnswer(words: string[]): Answer {
  if (words.length === 1) return readSingleWord(words[0] as string)
  if (words.some(word => UNSET_WORDS.has(word)) || NOT_ASKED.test(words.join(' '))) return 'unset'
  let [flips, unknown, grants] = [0, 0, 0]
  for (const word of words) {
    if (FLIP_WORDS.has(word) || NO_WORDS.has(word) || REFUSAL_STEM.test(word)) flips += 1
    else if (isGrantWord(word) || word === 'consented') grants += 1
    else unknown += 1
  }
  // A refusal with words that we do not know is still one (`SOME_DENIED`); a grant is not.
  if (unknown > 0) {
    return grants === 0 && flips === 1 && words.some(isRefusalWord) ? 'no' : 'unclear'
  }
  return flips % 2 === 1 ? 'no' : 'yes'
}

function readSingleWord(word: string): Answer {
  if (UNSET_WORDS.has(word)) return 'unset'
  // A refusal first: in Japanese and Korean it ends the word that a grant begins.
  if (NO_WORDS.has(word) || NO_ALONE_WORDS.has(word) || REFUSAL_STEM.test(word)) return 'no'
  const isGrant = isGrantWord(word) || YES_ALONE_WORDS.has(word) || EVERYTHING_WORDS.has(word)
  return isGrant ? 'yes' : 'unclear'
}

/**
 * "Denied" in an opt-out may mean the opt-out or the consent; "deny", "no" and `false` are about
 * the opt-out.
 */
export function readOptOut(said: AnswerText): ConsentMeaning {
  const { answer, isOptStatement, isParticiple, isRestriction } = said
  if (answer === 'yes') return isOptStatement ? 'permitted' : 'refused'
  if (answer !== 'no') return answer
  if (isOptStatement || isRestriction) return 'refused'
  return isParticiple ? 'unclear' : 'permitted'
}
