import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import {
  classifyMember,
  type MemberKind,
  parseGcs,
  parseOptOut,
  parsePermission,
  parseUsPrivacyString,
  type Restriction,
} from './consent-members.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSignal,
  isOlderThanDays,
  noSignal,
  parseConsentValue,
  type SignalReason,
  toCredibleTime,
} from './consent-signal.ts'
import type { GppReading } from './gpp-consent.ts'

/**
 * Reads the free-form `consent` object and the US sections of a GPP string. One denied member
 * denies, and so does one opt-out. It grants if every member about advertising is readable and at
 * least one is granted. An unreadable word beside a grant makes the input unknown, because it may
 * be a denial in another language; members about other purposes do not affect a grant. Null means
 * no answer: it does not affect a grant beside it, but alone it is unreadable.
 *
 * Only an object without any statement is no signal: an empty one, or one that says when, how and
 * where consent was asked. Every other object that grants nothing is unknown.
 *
 * A grant captured more than 395 days ago is expired; a denial never lapses.
 */
export function readAdvertisingConsent(
  consent: UntrustedObject | undefined,
  { captured, receivedAt, gpp = null }: AdvertisingConsentContext,
): ConsentSignal {
  if (consent === undefined && gpp === null) return noSignal('consent')
  const captured_at = toCredibleTime(captured, receivedAt)
  const fields = collectFields(consent ?? {})
  if (gpp !== null) {
    recordRestriction(fields, gpp.restriction, { why: 'gpp_opt_out', field: gpp.field })
  }
  const { denied, unreadable, granted, unset, allowed, hasOther } = fields
  if (denied !== null) return { state: 'denied', ...denied, captured_at }
  const isSilent = !granted && !unreadable && !unset && !allowed && !hasOther
  if (isSilent) return noSignal('consent', captured_at)
  if (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  if (granted !== null && unreadable === null) {
    return { state: 'granted', why: 'words_granted', field: granted, captured_at }
  }
  return { state: 'unknown', ...explainUnknown(fields), captured_at }
}

interface AdvertisingConsentContext {
  captured: CapturedAt
  receivedAt: Date
  /** What a GPP string says, which may be in this object or beside it. */
  gpp?: GppReading | null
}

/** The path is that of the input where the name of the member may be an identifier. */
function explainUnknown({ unreadable, unset, allowed }: FieldsByState): {
  why: SignalReason
  field: string
} {
  const field = unreadable ?? unset
  if (field !== null) return { why: 'words_unreadable', field }
  if (allowed !== null) return { why: 'opt_out_not_made', field: allowed }
  return { why: 'advertising_not_mentioned', field: 'consent' }
}

/** The dotted path of the first member in each state. */
interface FieldsByState {
  denied: { why: SignalReason; field: string } | null
  granted: string | null
  unreadable: string | null
  unset: string | null
  /** An opt-out that was not made: no denial, and no grant. */
  allowed: string | null
  /** Whether there are members about anything else. */
  hasOther: boolean
}

/** Walks the object and one level of containers. The body limit of 64 KiB bounds it. */
function collectFields(consent: UntrustedObject): FieldsByState {
  const fields: FieldsByState = {
    denied: null,
    granted: null,
    unreadable: null,
    unset: null,
    allowed: null,
    hasOther: false,
  }
  for (const name of Object.keys(consent)) {
    const value = consent[name]
    const kind = classifyMember(name, value)
    const field = `consent.${name}`
    if (kind === 'purposes' || kind === 'vendors') {
      recordContainer(fields, field, value as UntrustedObject)
    } else recordMember(fields, { kind, value, field })
  }
  return fields
}

function recordContainer(fields: FieldsByState, path: string, container: UntrustedObject): void {
  fields.hasOther = true
  for (const name of Object.keys(container)) {
    const value = container[name]
    const kind = classifyMember(name, value)
    const field = `${path}.${name}`
    // A general member inside a container would also cover the container's other purposes.
    if (kind !== 'general') recordMember(fields, { kind, value, field })
    if (hasDisabledAdvertising(name, value)) fields.denied ??= { why: 'words_denied', field }
  }
}

/** Didomi: `vendors: {consent: {enabled: [...], disabled: ["facebook"]}}`. */
function hasDisabledAdvertising(name: string, value: unknown): boolean {
  const isWrapped = (name === 'consent' || name === 'global') && isObject(value)
  const list = isWrapped ? value.disabled : name === 'disabled' ? value : null
  return Array.isArray(list) && list.some(isAboutAdvertising)
}

function isAboutAdvertising(name: unknown): boolean {
  const kind = typeof name === 'string' ? classifyMember(name, true) : 'other'
  return kind === 'advertising' || kind === 'platform'
}

interface ConsentMember {
  kind: MemberKind
  value: unknown
  field: string
}

function recordMember(fields: FieldsByState, { kind, value, field }: ConsentMember): void {
  switch (kind) {
    case 'advertising':
    case 'general':
      recordWord(fields, { kind, value, field })
      return
    case 'opt_out':
    case 'us_privacy':
      recordRestriction(fields, readRestriction(kind, value), { why: 'opted_out', field })
      return
    case 'sale':
    case 'platform':
    case 'gcs':
    case 'gpc':
      recordRestriction(fields, readRestriction(kind, value), { why: 'words_denied', field })
      return
    case 'gpp': // Read by the caller, because it may also be beside this object.
    case 'provenance':
      return
    case 'purposes':
    case 'vendors':
    case 'other':
      fields.hasOther = true
  }
}

type RestrictingKind = 'opt_out' | 'us_privacy' | 'sale' | 'platform' | 'gcs' | 'gpc'

function readRestriction(kind: RestrictingKind, value: unknown): Restriction | null {
  switch (kind) {
    case 'opt_out':
      return parseOptOut(value)
    case 'us_privacy':
      return parseUsPrivacyString(value)
    case 'sale':
    case 'platform':
      return parsePermission(value)
    case 'gcs':
      return GCS_RESTRICTIONS[parseGcs(value)]
    case 'gpc': {
      // An opt-out denies by `readGlobalPrivacyControl`, which knows whether it was overruled.
      const restriction = parseOptOut(value)
      return restriction === 'refused' ? null : restriction
    }
  }
}

function recordWord(fields: FieldsByState, { kind, value, field }: ConsentMember): void {
  const state = parseConsentValue(value)
  if (state === 'denied') fields.denied ??= { why: 'words_denied', field }
  else if (kind === 'general') fields.hasOther = true
  else if (state === 'granted') fields.granted ??= field
  else if (value === null || value === undefined) fields.unset ??= field
  else fields.unreadable ??= field
}

const GCS_RESTRICTIONS = {
  granted: 'allowed',
  denied: 'refused',
  unset: 'unset',
  unclear: 'unclear',
} as const satisfies Record<string, Restriction>

function recordRestriction(
  fields: FieldsByState,
  restriction: Restriction | null,
  denial: { why: SignalReason; field: string },
): void {
  if (restriction === 'refused') fields.denied ??= denial
  else if (restriction === 'unclear') fields.unreadable ??= denial.field
  else if (restriction === 'unset') fields.unset ??= denial.field
  else if (restriction === 'allowed') fields.allowed ??= denial.field
}
