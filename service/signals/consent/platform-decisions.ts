import { isObject } from '../../runtime/util/is-object.ts'
import { type ConsentDecision, type ConsentInputs, createDecider } from './consent-decision.ts'
import type { AcceptedDecision, StoredConsentOutcome } from './consent-record.ts'
import type { ConsentContext } from './consent-signal.ts'
import type { ConsentSignals } from './consent-signals.ts'
import type { PlatformConsentNeeds, PlatformNeeds } from './consent-statement.ts'

/** The decision about each platform of a tracker, by the name of its plug-in. */
export type PlatformDecisions = ReadonlyMap<string, ConsentDecision>

/** The decision about an event, and that about each platform of its tracker. */
export interface EventConsent {
  /** The one that lets the event go furthest: a refusal of one platform takes none from another. */
  decision: ConsentDecision
  /** Empty for a tracker without destinations. */
  platforms: PlatformDecisions
  /** The vendors whose click IDs are not kept: those that the person refuses, and maybe refuses. */
  refusedVendors: ReadonlySet<string>
}

/**
 * Decides for each platform of a tracker. Without platforms, only a refusal of advertising as a
 * whole denies, by the rules of `fallback`.
 */
export function decideForPlatforms(
  inputs: ConsentInputs,
  platforms: readonly PlatformNeeds[],
  { fallback, ...context }: ConsentContext & { fallback: PlatformConsentNeeds },
): EventConsent {
  const { decide, refusedVendors } = createDecider(inputs, context)
  const decisions = new Map(platforms.map(one => [one.name, decide(one.consentNeeds)]))
  const all = [...decisions.values()]
  const find = (outcome: ConsentDecision['outcome']) => all.find(one => one.outcome === outcome)
  const [first = decide({ ...fallback, vendor: null, isSocialMedia: false })] = all
  const decision = find('granted') ?? find('withheld') ?? first
  const refused = new Set(refusedVendors)
  for (const { name, consentNeeds } of platforms) {
    const isRefused = decision.outcome === 'granted' && decisions.get(name)?.outcome !== 'granted'
    if (isRefused && consentNeeds.vendor !== null) refused.add(consentNeeds.vendor)
  }
  return {
    decision: withOldestConsent(decision, all),
    platforms: decisions,
    refusedVendors: refused,
  }
}

/**
 * A later withdrawal is compared with the consent of the whole event, so that is as old as the
 * oldest consent of a platform that is granted.
 */
function withOldestConsent(
  decision: ConsentDecision,
  all: readonly ConsentDecision[],
): ConsentDecision {
  if (decision.outcome !== 'granted') return decision
  let oldest = decision.captured_at ?? ''
  for (const { outcome, captured_at } of all) {
    if (outcome === 'granted' && (captured_at ?? '') < oldest) oldest = captured_at ?? ''
  }
  if (oldest === (decision.captured_at ?? '')) return decision
  return { ...decision, captured_at: oldest === '' ? null : oldest }
}

/** What is stored about a platform whose decision differs from that about the event. */
export interface StoredPlatformDecision {
  outcome: ConsentDecision['outcome']
  reason: ConsentDecision['reason']
  /** Dotted path of the member that decided; null: the basis alone, or several. */
  field: string | null
  /** Stored where the platform may only count the event. */
  is_personalized?: false
}

/** The decision as it is stored with the event: plain JSON without text from the caller. */
export function toStoredDecision(
  decision: AcceptedDecision,
  decisions: PlatformDecisions,
): StoredConsentOutcome & Record<string, unknown> {
  const { outcome, reason, granted_by, denied_by, inputs, possible_refusals } = decision
  const platforms = describeOthers(decision, decisions)
  return {
    outcome,
    reason,
    granted_by,
    denied_by,
    inputs: omitAbsentSignals(inputs),
    ...(possible_refusals.length > 0 && { possible_refusals }),
    rules_version: decision.rules_version,
    captured_at: decision.captured_at,
    ...(isRestricted(decision) && { is_personalized: false }),
    ...(platforms !== null && { platforms }),
  }
}

function describeOthers(
  decision: AcceptedDecision,
  decisions: PlatformDecisions,
): Record<string, StoredPlatformDecision> | null {
  const different = [...decisions].filter(([, other]) => other !== decision)
  if (different.length === 0) return null
  const own = toPlatformDecision(decision)
  const others = different
    .map(([name, other]) => [name, toPlatformDecision(other)] as const)
    .filter(([, other]) => !isAlike(other, own))
  return others.length === 0 ? null : Object.fromEntries(others)
}

function isAlike(one: StoredPlatformDecision, other: StoredPlatformDecision): boolean {
  const isRestrictedAlike = one.is_personalized === other.is_personalized
  const isDecidedAlike = one.outcome === other.outcome && one.reason === other.reason
  return isRestrictedAlike && isDecidedAlike && one.field === other.field
}

function toPlatformDecision(decision: ConsentDecision): StoredPlatformDecision {
  const { outcome, reason } = decision
  const field = findDecidingField(decision)
  return { outcome, reason, field, ...(isRestricted(decision) && { is_personalized: false }) }
}

/** Dotted path of the member that decided. */
export function findDecidingField(decision: ConsentDecision): string | null {
  const { denied_field, granted_by, possible_refusals, inputs } = decision
  const [granter] = granted_by
  if (denied_field !== null) return denied_field
  if (granter !== undefined) return inputs[granter].field
  return possible_refusals[0] ?? null
}

function isRestricted(decision: ConsentDecision): boolean {
  return decision.outcome === 'granted' && !decision.is_personalized
}

/** Omits inputs without a signal. */
function omitAbsentSignals(inputs: ConsentSignals): Partial<ConsentSignals> {
  const said: Partial<ConsentSignals> = {}
  for (const name of Object.keys(inputs) as (keyof ConsentSignals)[]) {
    if (inputs[name].why !== 'no_signal') said[name] = inputs[name]
  }
  return said
}

/** The stored decisions about platforms that differ from that about the event. */
export function readPlatformDecisions(
  consent: Record<string, unknown> | null,
): Readonly<Record<string, StoredPlatformDecision>> {
  const decision = consent?.decision
  const platforms = isObject(decision) ? decision.platforms : null
  // Written by `toStoredDecision` only.
  return isObject(platforms) ? (platforms as Record<string, StoredPlatformDecision>) : {}
}

/** Whether a platform may use a stored event that is sent to it for personalized ads. */
export function isStoredPersonalized(
  consent: Record<string, unknown> | null,
  platform: string,
): boolean {
  const decision = isObject(consent?.decision) ? consent.decision : {}
  const platforms = readPlatformDecisions(consent)
  const own = Object.hasOwn(platforms, platform) ? platforms[platform] : decision
  return own?.is_personalized !== false
}
