import type { Provider } from 'oidc-provider'
import type { ProviderPages } from './provider-pages.ts'
import { isLoopbackRedirect } from './redirect-uri.ts'

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
