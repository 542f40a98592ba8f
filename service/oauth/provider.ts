import { generateKeyPairSync } from 'node:crypto'
import { type AdapterFactory, type Configuration, errors, Provider } from 'oidc-provider'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import type { consumeArtifact } from './artifact-store.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import { providerAdapter } from './provider-adapter.ts'
import type { ProviderPages } from './provider-pages.ts'
import { audienceOf, audienceOfScope, RESOURCES, resourceUri } from './resources.ts'
import { keepPace } from './slow-down.ts'

/** How long each thing works, in seconds (decisions, section 10). */
export const LIFE_SECONDS = {
  accessToken: 3_600,
  refreshToken: 30 * 86_400,
  authorizationCode: 60,
  deviceCode: 600,
  interaction: 1_800,
} as const

/** The library's server, as the routes of this room use it. */
export type AuthorizationServer = Provider

export interface OauthProviderOptions {
  database: Database
  now: () => Date
  audit: AuditTrail
  /** The public origin, which is the issuer. */
  origin: string
  /** What cookies are signed with: the current key first. */
  cookieKeys: readonly string[]
  pages: ProviderPages
  /** For tests: another way to use things up. */
  consume?: typeof consumeArtifact
}

/** Where a person is asked, with the uid of the half-finished request. */
export const INTERACTION_PATH = '/oauth2/interaction'

/**
 * The authorization server: OAuth 2.1 by oidc-provider, in the part of it that agents need. Its
 * answers are made for `origin`; whoever calls it must not let a Host header through
 * (`call-provider.ts`).
 */
export function oauthProvider(options: OauthProviderOptions): Provider {
  const { database, now, origin } = options
  const provider = new Provider(origin, configuration(options))
  provider.proxy = true
  keepPace(provider, { database, now })
  forgetSessions(provider)
  return provider
}

/** Whether the library found no half-finished request of this browser. */
export function isLostInteraction(error: unknown): boolean {
  return error instanceof errors.SessionNotFound
}

function configuration(options: OauthProviderOptions): Configuration {
  const { database, now, audit, origin, consume } = options
  return {
    adapter: providerAdapter({
      database,
      now,
      audit,
      usedTwice: () => new errors.InvalidGrant('it was used before'),
      isDeviceResuming: () => Provider.ctx?.oidc?.route === 'device_resume',
      isRevoking: () => Provider.ctx?.oidc?.route === 'revocation',
      ...(consume && { consume }),
    }) as AdapterFactory,
    routes: ENDPOINT_PATHS,
    // mcp:use belongs to a resource; listed here, the library would ask for consent for ever.
    scopes: [],
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    clientDefaults: {
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'Ed25519',
    },
    jwks: { keys: [unusedKey()] },
    cookies: cookies(options),
    ttl: {
      AccessToken: LIFE_SECONDS.accessToken,
      RefreshToken: LIFE_SECONDS.refreshToken,
      AuthorizationCode: LIFE_SECONDS.authorizationCode,
      DeviceCode: LIFE_SECONDS.deviceCode,
      Interaction: LIFE_SECONDS.interaction,
      Session: LIFE_SECONDS.interaction,
      // A grant is over when its connection is; its own time never decides.
      Grant: GRANT_SECONDS,
    },
    // Each approval is a grant, and so a connection, of its own.
    loadExistingGrant: async ctx => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    // Public clients bring no cookie, so a page of any origin may be one.
    clientBasedCORS: () => true,
    renderError: options.pages.renderError,
    interactions: { url: (_ctx, { uid }) => `${INTERACTION_PATH}/${uid}` },
    features: features(origin, options.pages),
  }
}

const GRANT_SECONDS = 10 * 365 * 86_400

function features(origin: string, pages: ProviderPages): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
    },
    deviceFlow: {
      enabled: true,
      charset: 'base-20',
      mask: '****-****',
      // The address and the program of the device would only be kept to be guessed about.
      deviceInfo: () => ({}),
      userCodeInputSource: pages.userCodeInput,
      userCodeConfirmSource: pages.userCodeConfirm,
      successSource: pages.deviceSuccess,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, _client, oneOf) =>
        oneOf ?? resourceUri(origin, audienceOfScope(scopeOf(ctx)) ?? 'mcp'),
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => {
        const audience = audienceOf(origin, resource)
        if (audience === null) throw new errors.InvalidTarget('this resource is not served here')
        const { scope } = RESOURCES[audience]
        settleScope(ctx, scope)
        return {
          scope,
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: LIFE_SECONDS.accessToken,
        }
      },
    },
  }
}

type OidcContext = Parameters<ProviderPages['renderError']>[0]

function scopeOf(ctx: OidcContext): string {
  return String(ctx.oidc.params?.scope ?? '')
}

const REQUEST_ROUTES = ['authorization', 'device_authorization']

/**
 * One resource and its one scope a request: a token never opens both doors. A client that names no
 * scope means the scope of its resource; the library would refuse it only after a person approved.
 */
function settleScope(ctx: OidcContext, scope: string): void {
  const { params, route } = ctx.oidc
  if (!params || !REQUEST_ROUTES.includes(route)) return
  if (Array.isArray(params.resource) && params.resource.length > 1) {
    throw new errors.InvalidTarget('ask for one resource at a time')
  }
  params.scope ??= scope
  if (params.scope !== scope) {
    throw new errors.InvalidScope(`the scope of this resource is ${scope}`, String(params.scope))
  }
}

/** With https nobody but this host can set them: `__Host-` also binds the path, `__Secure-` not. */
function cookies({ origin, cookieKeys }: OauthProviderOptions): Configuration['cookies'] {
  const isSecure = origin.startsWith('https:')
  const options = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true } as const
  const [whole, below] = isSecure ? ['__Host-', '__Secure-'] : ['', '']
  return {
    keys: [...cookieKeys],
    names: {
      session: `${whole}signalbox_oauth`,
      interaction: `${below}signalbox_interaction`,
      resume: `${below}signalbox_resume`,
    },
    long: options,
    short: options,
  }
}

/**
 * The library remembers who approved last in this browser. Only the session of our own pages may
 * say who somebody is, so that it ends with signing out; what the library has is dropped each
 * time.
 */
function forgetSessions(provider: Provider): void {
  provider.use(async (ctx, next) => {
    try {
      await next()
    } finally {
      const { route = '', session } = ctx.oidc ?? {}
      if (session && route.endsWith('resume')) {
        await session.destroy()
        ctx.cookies.set(provider.cookieName('session'), null, { overwrite: true, path: '/' })
      }
    }
  })
}

/** The library wants a key for ID tokens, of which it makes none here. */
function unusedKey() {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as never
}
