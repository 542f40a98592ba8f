import type { EdgeClient } from '../access/authenticate-publishable-key.ts'
import type { PlatformDecisions } from '../consent/platform-decisions.ts'
import { DROP_REASONS, type DroppedField } from '../identity/dropped-fields.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { AcceptedIdentity, Platform, SubmittedIdentity } from '../platforms/platform.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import { containsIdentifier } from './redact-submission.ts'

/** The platforms that may get the event, for which identity is made; all if none may. */
export function selectGranted(
  platforms: SelectedPlatforms,
  decisions: PlatformDecisions,
): SelectedPlatforms {
  const granted = platforms.all.filter(({ name }) => decisions.get(name)?.outcome === 'granted')
  const [first] = granted
  if (first === undefined || granted.length === platforms.all.length) return platforms
  const isDefaultGranted = granted.includes(platforms.default)
  const own = isDefaultGranted ? platforms.default : first
  return { all: granted, default: own, names: platforms.names }
}

interface IdentityInput extends SubmittedIdentity {
  /** The browser as a trusted edge saw it. */
  edge: EdgeClient | null
}

/** Identity for the first platform, plus that of the other platforms by name. */
interface DraftIdentity extends AcceptedIdentity {
  identityMark: string
  platforms: Record<string, PlatformIdentity>
}

/**
 * Normalizes the identity of an event for the platforms that may get it, while the raw values are
 * in memory. Reads show the digests for the default one. The plan keeps what its destinations need,
 * which may have changed since.
 */
export function acceptIdentity(
  { all, default: defaultPlatform }: SelectedPlatforms,
  { edge, ...submitted }: IdentityInput,
): DraftIdentity {
  // One object for every platform, so that its values are read once.
  const browser = edge && {
    client_ip_address: edge.ipAddress,
    client_user_agent: edge.userAgent,
  }
  const accepted = acceptForPlatform(defaultPlatform, { submitted, browser })
  const platforms: Record<string, PlatformIdentity> = {}
  let { clickIds, dropped } = accepted
  for (const platform of all) {
    if (platform.name === defaultPlatform.name) continue
    const input = { submitted: { ...submitted, clickIds }, browser }
    const other = acceptForPlatform(platform, input, accepted.plain)
    clickIds = other.clickIds
    if (other.dropped.length > 0) {
      dropped = dropped.concat(other.dropped.filter(one => !isNamed(dropped, one)))
    }
    platforms[platform.name] = { digests: other.digests, plain: other.plain }
  }
  const { identityMark } = defaultPlatform
  return { ...accepted, identityMark, clickIds, dropped, platforms }
}

function isNamed(dropped: readonly DroppedField[], { field }: DroppedField): boolean {
  return dropped.some(one => one.field === field)
}

interface PlatformInput {
  submitted: SubmittedIdentity
  /** What a trusted edge knows, as members of `user_data`; null without an edge. */
  browser: Record<string, unknown> | null
}

/** `checked` has values of another platform that hold no identifier. */
function acceptForPlatform(
  platform: Platform,
  { submitted, browser }: PlatformInput,
  checked: Readonly<Record<string, string>> = {},
): AcceptedIdentity {
  const accepted = dropPlainIdentifiers(platform.normalizeIdentity(submitted), checked)
  if (browser === null) return accepted
  const normalized = normalizeEdgeIdentity(platform, submitted, browser)
  const edgeIdentity = dropPlainIdentifiers(normalized, checked)
  return {
    ...accepted,
    plain: { ...accepted.plain, ...edgeIdentity.plain },
    dropped: accepted.dropped.concat(edgeIdentity.dropped),
  }
}

/** User agents of robots and apps may name an email address; these values are sent as they are. */
function dropPlainIdentifiers<Identity extends Pick<AcceptedIdentity, 'plain' | 'dropped'>>(
  identity: Identity,
  checked: Readonly<Record<string, string>> = {},
): Identity {
  const names = Object.keys(identity.plain).filter(name => {
    const value = identity.plain[name] ?? ''
    return value !== checked[name] && containsIdentifier(value)
  })
  if (names.length === 0) return identity
  const plain = Object.entries(identity.plain).filter(([name]) => !names.includes(name))
  const fields = names.map(name => `user_data.${name}`)
  const dropped = toDroppedFields(fields, DROP_REASONS.identifier)
  return {
    ...identity,
    plain: Object.fromEntries(plain),
    dropped: identity.dropped.concat(dropped),
  }
}

/** Applies the rules for identity from a caller with a secret. */
function normalizeEdgeIdentity(
  platform: Platform,
  { eventTime, observedAt }: SubmittedIdentity,
  userData: Record<string, unknown>,
): Pick<AcceptedIdentity, 'plain' | 'dropped'> {
  const { plain, dropped } = platform.normalizeIdentity({
    userData,
    clickIds: {},
    eventSource: undefined,
    eventTime,
    observedAt,
  })
  const fieldOf = (field: string) => `${field.replace('user_data.', '')} (edge)`
  return { plain, dropped: dropped.map(({ field, reason }) => ({ field: fieldOf(field), reason })) }
}

/** The same reason for several fields. */
export function toDroppedFields(fields: readonly string[], reason: string): DroppedField[] {
  return fields.map(field => ({ field, reason }))
}
