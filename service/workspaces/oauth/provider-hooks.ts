import { errors, Provider } from 'oidc-provider'
import type { Database } from '../../runtime/db/database.ts'
import type { RateLimit } from '../../runtime/http/rate-limit.ts'
import { recordDevicePoll } from './artifact-store.ts'
import { isLoopbackRedirect } from './client-metadata.ts'
import { artifactDigest } from './provider-adapter.ts'
import { type ProviderPages, USER_CODE_LIMITED } from './provider-pages.ts'

/** How often a device may poll (RFC 8628, section 3.2). */
const POLL_INTERVAL_SECONDS = 5

/**
 * Adds the polling interval, which the library leaves to us: the response names it, and a device
 * that polls sooner gets `slow_down` and must wait longer each time.
 */
export function enforcePollInterval(
  provider: Provider,
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

/**
 * Limits how often one user code can be entered, from any address and by any user: a code that
 * many people enter was sent to them by someone else (RFC 8628, section 5.4). Addresses and people
 * have the same limit (authorization-page-routes.ts).
 */
export function limitUserCodes(limit: RateLimit | null): (digest: string) => void {
  return digest => {
    const waitSeconds = limit?.limiter.take(`user code ${digest}`).waitSeconds ?? 0
    if (waitSeconds === 0) return
    limit?.onRefused()
    Provider.ctx?.set('retry-after', String(Math.max(1, Math.ceil(waitSeconds))))
    const error = new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many attempts')
    throw Object.assign(error, { name: USER_CODE_LIMITED, status: 429, statusCode: 429 })
  }
}

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: `wait ${POLL_INTERVAL_SECONDS} more seconds between requests from now on`,
}

/** The failure of an authorization request, as the library reports it. */
interface AuthorizationError {
  error?: string
  error_description?: string
  /** False if the library already shows a page, because it does not trust the client. */
  allow_redirect?: boolean
}

/**
 * Shows a page where the library would redirect with an error, because anyone can register a
 * client: the authorization endpoint would redirect visitors who neither signed in nor decided to
 * any address (RFC 9700, section 4.11.2). The user can follow a link instead. Programs on the
 * same computer still learn of an error by a redirect.
 */
export function confirmErrorRedirects(provider: Provider, pages: ProviderPages): void {
  const failures = new WeakMap<object, AuthorizationError>()
  const record = (ctx: object, error: object) => void failures.set(ctx, error)
  provider.on('authorization.error', record)
  provider.on('server_error', record)
  provider.use(async (ctx, next) => {
    await next()
    const failure = failures.get(ctx)
    if (!failure || failure.allow_redirect === false || ctx.oidc?.route !== 'authorization') return
    const { client, params } = ctx.oidc
    const redirectUri = params?.redirect_uri
    if (!client || typeof redirectUri !== 'string') return
    if (!client.redirectUriAllowed(redirectUri) || isLoopbackRedirect(redirectUri)) return
    const target = new URL(redirectUri)
    const { error = 'server_error', error_description: description } = failure
    const state = params?.state
    target.searchParams.set('error', error)
    if (description !== undefined) target.searchParams.set('error_description', description)
    if (typeof state === 'string') target.searchParams.set('state', state)
    target.searchParams.set('iss', provider.issuer)
    ctx.remove('location')
    ctx.status = 400
    pages.renderErrorLink(ctx, { error, href: target.href })
  })
}
