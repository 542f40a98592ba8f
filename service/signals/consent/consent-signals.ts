import { LRUCache } from 'lru-cache'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import type { CategoryMeanings } from './consent-names.ts'
import {
  type CapturedAt,
  type ConsentContext,
  type ConsentSignal,
  type ConsentState,
  noSignal,
  parseCapturedAt,
} from './consent-signal.ts'
import type { ConsentSource, ConsentStatements, PlatformConsentNeeds } from './consent-statement.ts'
import { readConsentMode, readConsentObject, readGlobalPrivacyControl } from './platform-consent.ts'
import { type ConsentObjects, isPrivacyMember, readConsent } from './read-consent.ts'
import { readTcfConsent } from './tcf-consent.ts'

/**
 * What plain consents say. Most trackers send a few, which differ in their times alone, and reading
 * one takes 5 µs. No one changes statements after they are made.
 */
const plainConsents = new LRUCache<string, ConsentStatements>({ max: 1_000 })

/** As `readConsent`. */
export function readStatements(
  inputs: ConsentObjects,
  categories: CategoryMeanings | null,
): ConsentStatements {
  const plain = categories === null ? describePlainConsent(inputs) : null
  if (plain === null) return readConsent(inputs, categories)
  const known = plainConsents.get(plain)
  if (known !== undefined) return known
  const statements = readConsent(inputs)
  plainConsents.set(plain, statements)
  return statements
}

/** All that a consent of words and one time says, without its time. Null for any other consent. */
function describePlainConsent(inputs: ConsentObjects): string | null {
  const { consent, consent_mode } = inputs
  if (inputs.tcf !== undefined) return null
  for (const name of Object.keys(inputs)) if (isPrivacyMember(name)) return null
  const own = describePlainObject(consent)
  const mode = describePlainObject(consent_mode)
  return own === null || mode === null ? null : `${own}\n${mode}`
}

const PLAIN_MEMBERS_MAX = 16
const PLAIN_NAME = /^[A-Za-z_]{1,40}$/
const PLAIN_WORD = /^[A-Za-z_]{1,20}$/

function describePlainObject(value: unknown): string | null {
  if (value === undefined) return ''
  if (!isObject(value)) return null
  const names = Object.keys(value)
  if (names.length > PLAIN_MEMBERS_MAX) return null
  let described = '{'
  for (const name of names) {
    const member = value[name]
    const isTime = name === 'captured_at' && parseCapturedAt(member) instanceof Date
    const isPlain =
      typeof member === 'boolean' || (typeof member === 'string' && PLAIN_WORD.test(member))
    if (!PLAIN_NAME.test(name) || !(isTime || isPlain)) return null
    const said = isTime ? 'time' : typeof member === 'string' ? `"${member}` : member
    described += `${name}=${said};`
  }
  return described
}

/** The signal of each input. Global Privacy Control is read separately. */
export type ConsentSignals = Record<ConsentSource | 'gpc', ConsentSignal>

/** Of the `consent` object, as it was sent and as it may be used. */
interface CapturedTime {
  captured: CapturedAt
  credibleTime: string | null
}

/** The signal of each object for the platform. Most events have one of them. */
export function reduceSignals(
  statements: ConsentStatements,
  inputs: ConsentObjects,
  context: ConsentContext & CapturedTime & { needs: PlatformConsentNeeds },
): ConsentSignals {
  const { needs, captured, credibleTime, receivedAt, settings } = context
  const { choices, tcStrings, tcPurposes } = statements
  const source = { needs, captured, credibleTime, receivedAt }
  const hasConsent = inputs.consent !== undefined || choices.length > 0
  const consent = hasConsent ? readConsentObject(statements, source) : noSignal('consent')
  const hasTcf = inputs.tcf !== undefined || tcStrings.length + tcPurposes.length > 0
  return {
    consent,
    tcf: hasTcf
      ? readTcfConsent(statements, {
          needs,
          ownCaptured: toObject(inputs.tcf)?.captured_at,
          receivedAt,
          settings,
        })
      : noSignal('tcf'),
    consent_mode:
      inputs.consent_mode === undefined
        ? noSignal('consent_mode')
        : readConsentMode(statements, toObject(inputs.consent_mode)?.captured_at, source),
    gpc: readGlobalPrivacyControl(statements, {
      hasHeader: context.hasGpcHeader,
      advertisingConsent: consent,
      receivedAt,
    }),
  }
}

function toObject(value: unknown): UntrustedObject | undefined {
  return isObject(value) ? value : undefined
}

/** Global Privacy Control is not in the table of states: it denies before it. */
export function toStates({ consent, tcf, consent_mode }: ConsentSignals): ConsentStates {
  return { consent: consent.state, tcf: tcf.state, consent_mode: consent_mode.state }
}

/** Whether nothing at all was said. */
export function hasNoSignal(signals: ConsentSignals): boolean {
  return CONSENT_SOURCES.every(source => signals[source].why === 'no_signal')
}

/** The three inputs, in the order in which they determine the reason. */
const CONSENT_SOURCES: readonly ConsentSource[] = ['consent', 'tcf', 'consent_mode']

type ConsentStates = Record<ConsentSource, ConsentState>
export type GrantedBy = `granted_by_${ConsentSource}`
export type DeniedBy = `${ConsentSource}_denied`

/** The first input that denied, or `conflicting_signals` if another one granted. */
export type DenialReason = DeniedBy | 'conflicting_signals'

export type CombinedConsent =
  | { decision: 'granted'; reason: GrantedBy; detail: CombinedConsentDetail }
  | {
      decision: 'denied'
      reason: DenialReason
      denier: ConsentSource
      detail: CombinedConsentDetail
    }
  | { decision: 'denied'; reason: 'no_signal'; detail: CombinedConsentDetail }

interface CombinedConsentDetail {
  denied_by: DeniedBy[]
  granted_by: ConsentSource[]
}

/**
 * The decision table of 27 rows (vectors/consent-decision-table.json): any denied input denies, at
 * least one granted input is needed to grant, and unknown never grants.
 */
export function combineConsentStates(states: ConsentStates): CombinedConsent {
  const granted_by = CONSENT_SOURCES.filter(source => states[source] === 'granted')
  const deniers = CONSENT_SOURCES.filter(source => states[source] === 'denied')
  const detail = { denied_by: deniers.map(toDenialReason), granted_by }
  const [denier] = deniers
  const [granter] = granted_by
  if (denier !== undefined) {
    const reason = granter === undefined ? toDenialReason(denier) : 'conflicting_signals'
    return { decision: 'denied', reason, denier, detail }
  }
  if (granter === undefined) return { decision: 'denied', reason: 'no_signal', detail }
  return { decision: 'granted', reason: `granted_by_${granter}`, detail }
}

function toDenialReason(source: ConsentSource): DeniedBy {
  return `${source}_denied`
}
