import type { EdgeClient } from '../access/authenticate-browser.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { AcceptedIdentity, Platform, SubmittedIdentity } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'

/** The part of the registry that acceptance needs. */
export type Platforms = Pick<PlatformRegistry, 'all' | 'default'>

interface IdentityInput extends SubmittedIdentity {
  /** The browser as a trusted edge saw it. */
  edge: EdgeClient | null
}

/** Identity for the default platform, plus that of the other platforms by name. */
interface DraftIdentity extends AcceptedIdentity {
  platforms: Record<string, PlatformIdentity>
}

/**
 * Normalizes the identity of an event for every platform while the raw values are in memory. The
 * plan of the event keeps only the identity for the tracker's destinations. They are not looked up
 * here: that would cost one query per request and could differ from the plan. The digests for the
 * default platform are always stored, because erasures and withdrawals find people by them.
 */
export function acceptIdentity(
  { all, default: defaultPlatform }: Platforms,
  input: IdentityInput,
): DraftIdentity {
  const accepted = acceptForPlatform(defaultPlatform, input)
  const platforms: Record<string, PlatformIdentity> = {}
  let { clickIds } = accepted
  for (const platform of all) {
    if (platform.name === defaultPlatform.name) continue
    const other = acceptForPlatform(platform, { ...input, clickIds })
    clickIds = other.clickIds
    platforms[platform.name] = { digests: other.digests, plain: other.plain }
  }
  return { ...accepted, clickIds, platforms }
}

function acceptForPlatform(platform: Platform, { edge, ...submitted }: IdentityInput) {
  const accepted = platform.normalizeIdentity(submitted)
  if (edge === null) return accepted
  const edgeIdentity = normalizeEdgeIdentity(platform, submitted, edge)
  return {
    ...accepted,
    plain: { ...accepted.plain, ...edgeIdentity.plain },
    dropped: accepted.dropped.concat(edgeIdentity.dropped),
  }
}

/** Applies the rules for identity from a caller with a secret. */
function normalizeEdgeIdentity(
  platform: Platform,
  { observedAt }: SubmittedIdentity,
  edge: EdgeClient,
): Pick<AcceptedIdentity, 'plain' | 'dropped'> {
  const { plain, dropped } = platform.normalizeIdentity({
    userData: { client_ip_address: edge.ipAddress, client_user_agent: edge.userAgent },
    clickIds: {},
    eventSource: undefined,
    observedAt,
  })
  const fieldOf = (field: string) => `${field.replace('user_data.', '')} (edge)`
  return { plain, dropped: dropped.map(({ field, reason }) => ({ field: fieldOf(field), reason })) }
}
