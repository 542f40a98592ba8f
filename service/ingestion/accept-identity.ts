import type { EdgeClient } from '../access/authenticate-browser.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { AcceptedIdentity, Platform, SubmittedIdentity } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'

/** What acceptance needs of the registry. */
export type Platforms = Pick<PlatformRegistry, 'all' | 'default'>

interface IdentityInput extends SubmittedIdentity {
  /** What a trusted edge saw of the browser. */
  edge: EdgeClient | null
}

/** Identity as the default platform has it, with that of the other platforms by name. */
interface DraftIdentity extends AcceptedIdentity {
  platforms: Record<string, PlatformIdentity>
}

/**
 * Makes the identity of an event for every platform, while the raw values are there. The plan of
 * the event keeps those of the tracker's destinations, which are known only then: to look them up
 * here would cost a request a query, and could find other destinations than the plan. The digests
 * of the default platform are always kept, because erasure and withdrawal find people by them.
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
  const seen = normalizeEdgeIdentity(platform, submitted, edge)
  return {
    ...accepted,
    plain: { ...accepted.plain, ...seen.plain },
    dropped: accepted.dropped.concat(seen.dropped),
  }
}

/** What a trusted edge saw, by the same rules as what a caller with a secret may send. */
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
