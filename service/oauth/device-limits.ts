import type { Database } from '../db/database.ts'
import { recordDevicePoll } from './artifact-store.ts'
import type { AuthorizationServer } from './provider.ts'
import { artifactDigest } from './provider-adapter.ts'

/** How often a device may poll (RFC 8628, section 3.2). */
const POLL_INTERVAL_SECONDS = 5

/**
 * Adds the polling interval, which the library leaves to us: the response names it, and a device
 * that polls sooner gets `slow_down` and must wait longer each time.
 */
export function enforcePollInterval(
  provider: AuthorizationServer,
  { database, now }: { database: Database; now: () => Date },
): void {
  provider.use(async (ctx, next) => {
    await next()
    const { oidc } = ctx
    if (!oidc) return
    if (oidc.route === 'device_authorization' && ctx.status === 200) {
      ctx.body = { ...(ctx.body as object), interval: POLL_INTERVAL_SECONDS }
    }
    const response = ctx.body as { error?: string } | undefined
    const code = oidc.params?.device_code
    if (oidc.route !== 'token' || response?.error !== 'authorization_pending') return
    if (typeof code !== 'string') return
    const poll = { id: artifactDigest(code), at: now(), intervalSeconds: POLL_INTERVAL_SECONDS }
    const { isTooEarly } = await recordDevicePoll(database, poll)
    if (isTooEarly) ctx.body = SLOW_DOWN
  })
}

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: `wait ${POLL_INTERVAL_SECONDS} more seconds between requests from now on`,
}
