import type { Database } from '../db/database.ts'
import { notePoll } from './artifact-store.ts'
import type { AuthorizationServer } from './provider.ts'
import { digestOf } from './provider-adapter.ts'

/** How often a device may ask whether it was approved (RFC 8628, section 3.2). */
export const POLL_SECONDS = 5

/**
 * The pace of devices, which the library leaves to its user: the interval stands in the answer, and
 * whoever asks sooner is told `slow_down` and has to wait longer each time.
 */
export function keepPace(
  provider: AuthorizationServer,
  { database, now }: { database: Database; now: () => Date },
): void {
  provider.use(async (ctx, next) => {
    await next()
    const { oidc } = ctx
    if (!oidc) return
    if (oidc.route === 'device_authorization' && ctx.status === 200) {
      ctx.body = { ...(ctx.body as object), interval: POLL_SECONDS }
    }
    const answer = ctx.body as { error?: string } | undefined
    const code = oidc.params?.device_code
    if (oidc.route !== 'token' || answer?.error !== 'authorization_pending') return
    if (typeof code !== 'string') return
    const poll = { id: digestOf(code), at: now(), intervalSeconds: POLL_SECONDS }
    const { isTooEarly } = await notePoll(database, poll)
    if (isTooEarly) ctx.body = SLOW_DOWN
  })
}

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: `wait ${POLL_SECONDS} seconds longer between two requests from now on`,
}
