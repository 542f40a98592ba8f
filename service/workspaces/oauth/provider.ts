import { generateKeyPairSync } from 'node:crypto'
import { type AdapterFactory, type Configuration, errors, Provider } from 'oidc-provider'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { RateLimit } from '../../runtime/http/rate-limit.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import type { consumeArtifact } from './artifact-store.ts'
import type { FindDocumentClient } from './client.ts'
import { ENDPOINT_PATHS, INTERACTION_PATH } from './metadata.ts'
import {
  APPROVAL_DAYS,
  AUDIENCES,
  type Audience,
  findAudienceByResource,
  findAudienceByScope,
  RESOURCES,
  resourceUri,
} from './permissions.ts'
import { createProviderAdapter } from './provider-adapter.ts'
import { confirmErrorRedirects, enforcePollInterval, limitUserCodes } from './provider-hooks.ts'
import type { ProviderPages } from './provider-pages.ts'

const LIFETIME_SECONDS = {
  accessToken: 3_600,
  refreshToken: 30 * DAY_SECONDS,
  refreshChain: APPROVAL_DAYS * DAY_SECONDS,
  authorizationCode: 60,
  deviceCode: 600,
  interaction: 1_800,
} as const

/** The library's server, as the routes use it. */
export type AuthorizationServer = Provider

interface OauthProviderOptions {
  database: Database
  now: () => Date
  audit: AuditTrail
  /** The public origin, which is the issuer. */
  origin: string
  /** The keys that sign cookies, current one first. */
  cookieKeys: readonly string[]
  pages: ProviderPages
  /** How often a user code can be entered; null for no limit. */
  userCodeLimit: RateLimit | null
  /** Left out where clients must register. The request is the one that names the URL. */
  findDocumentClient?: (url: string, request: object | undefined) => ReturnType<FindDocumentClient>
  /** For tests: replaces the marking of used codes. */
  consume?: typeof consumeArtifact
}

/**
 * The authorization server: the part of OAuth 2.1 that agents need, by oidc-provider. It builds
 * URLs for `origin`; callers must overwrite the Host header (authorization-server.ts).
 */
export function createOauthProvider(options: OauthProviderOptions): Provider {
  const { database, now, origin } = options
  const provider = new Provider(origin, configuration(options))
  provider.proxy = true
  enforcePollInterval(provider, { database, now })
  discardSessions(provider)
  confirmErrorRedirects(provider, options.pages)
  return provider
}

/** True when the library found no pending request of this browser. */
export function isInteractionNotFound(error: unknown): boolean {
  return error instanceof errors.SessionNotFound
}

function configuration(options: OauthProviderOptions): Configuration {
  const { database, now, audit, origin, consume } = options
  return {
    adapter: createProviderAdapter({
      database,
      now,
      audit,
      limitUserCode: limitUserCodes(options.userCodeLimit),
      requestedResource: () => Provider.ctx?.oidc?.params?.resource,
      rotatedToken: () => Provider.ctx?.oidc?.entities.RotatedRefreshToken?.jti,
      errors: {
        reuse: () => new errors.InvalidGrant('it was used before'),
        target: () => new errors.InvalidTarget('the token is for another resource'),
        text: () => new errors.InvalidRequest('a parameter contains a character that is no text'),
      },
      isDeviceResuming: () => Provider.ctx?.oidc?.route === 'device_resume',
      isRequesting: () => Provider.ctx?.oidc?.route === 'authorization',
      findDocumentClient: async url =>
        (await options.findDocumentClient?.(url, Provider.ctx?.req)) ?? null,
      isRevoking: () => Provider.ctx?.oidc?.route === 'revocation',
      ...(consume && { consume }),
    }) as AdapterFactory,
    routes: ENDPOINT_PATHS,
    // mcp:use belongs to a resource; listed here, the library would request consent in a loop.
    scopes: [],
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    clientDefaults: {
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'Ed25519',
    },
    jwks: { keys: [placeholderKey()] },
    cookies: cookieSettings(options),
    ttl: {
      AccessToken: LIFETIME_SECONDS.accessToken,
      RefreshToken: (_ctx, { iiat }) => refreshTokenSeconds(iiat, now()),
      AuthorizationCode: LIFETIME_SECONDS.authorizationCode,
      DeviceCode: LIFETIME_SECONDS.deviceCode,
      Interaction: LIFETIME_SECONDS.interaction,
      Session: LIFETIME_SECONDS.interaction,
      // A grant ends with its connection, not by its own lifetime.
      Grant: GRANT_SECONDS,
    },
    // Each approval creates a grant of its own, and so a connection.
    loadExistingGrant: async ctx => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    // Public clients use no cookies here, so a page of any origin may be one.
    clientBasedCORS: () => true,
    renderError: options.pages.renderError,
    interactions: { url: (_ctx, { uid }) => `${INTERACTION_PATH}/${uid}` },
    features: featureSettings(origin, options.pages),
  }
}

const GRANT_SECONDS = 10 * 365 * DAY_SECONDS

/** Each refresh token lasts for the same time, but none outlives the chain that it belongs to. */
function refreshTokenSeconds(chainStartedAt: number | undefined, at: Date): number {
  const epochSeconds = Math.floor(at.getTime() / 1_000)
  const left = (chainStartedAt ?? epochSeconds) + LIFETIME_SECONDS.refreshChain - epochSeconds
  return Math.max(1, Math.min(LIFETIME_SECONDS.refreshToken, left))
}

function featureSettings(origin: string, pages: ProviderPages): Configuration['features'] {
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
      // The address and user agent of the device are not needed.
      deviceInfo: () => ({}),
      userCodeInputSource: pages.userCodeInput,
      userCodeConfirmSource: pages.userCodeConfirm,
      successSource: pages.deviceSuccess,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, _client, oneOf) =>
        oneOf ?? resourceUri(origin, requestedAudience(ctx)),
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => {
        const audience = findAudienceByResource(origin, resource)
        if (audience === null) throw new errors.InvalidTarget('this resource is not available here')
        const { scope } = RESOURCES[audience]
        requireResourceScope(ctx, scope)
        return {
          scope,
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: LIFETIME_SECONDS.accessToken,
        }
      },
    },
  }
}

type OidcContext = Parameters<ProviderPages['renderError']>[0]

/** The scopes of the request that mean something here. */
function requestedScopes(ctx: OidcContext): string[] {
  const scopes = String(ctx.oidc.params?.scope ?? '').split(' ')
  return scopes.filter(scope => scope !== '' && scope !== 'offline_access')
}

function requestedAudience(ctx: OidcContext): Audience {
  const scopes = requestedScopes(ctx)
  return AUDIENCES.find(audience => scopes.includes(RESOURCES[audience].scope)) ?? 'mcp'
}

const REQUEST_ROUTES = ['authorization', 'device_authorization']

/**
 * Requires one resource with its one scope per request, so that no token opens both resources. A
 * missing scope defaults to that of the resource; the library would only reject it after approval.
 * Some clients (Codex) request every advertised scope, or `offline_access` for the refresh token
 * that all get: what the resource lacks of these is dropped, and the response names the scope that
 * is granted. Anything else is an error.
 */
function requireResourceScope(ctx: OidcContext, scope: string): void {
  const { params, route } = ctx.oidc
  if (!params || !REQUEST_ROUTES.includes(route)) return
  if (Array.isArray(params.resource) && params.resource.length > 1) {
    throw new errors.InvalidTarget('request one resource at a time')
  }
  const unknown = requestedScopes(ctx).find(requested => findAudienceByScope(requested) === null)
  if (unknown !== undefined) {
    throw new errors.InvalidScope(`the scope of this resource is ${scope}`, unknown)
  }
  params.scope = scope
}

/** With HTTPS, only this host can set these cookies. `__Secure-` allows a path, `__Host-` none. */
function cookieSettings({ origin, cookieKeys }: OauthProviderOptions): Configuration['cookies'] {
  const isSecure = origin.startsWith('https:')
  const options = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true } as const
  const [hostPrefix, pathPrefix] = isSecure ? ['__Host-', '__Secure-'] : ['', '']
  return {
    keys: [...cookieKeys],
    names: {
      session: `${hostPrefix}signalbox_oauth`,
      interaction: `${pathPrefix}signalbox_interaction`,
      resume: `${pathPrefix}signalbox_resume`,
    },
    long: options,
    short: options,
  }
}

/**
 * The library remembers who approved last in this browser. Its session is discarded each time: only
 * the session of our own pages identifies a user, so that signing out ends it.
 */
function discardSessions(provider: Provider): void {
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

/** The library requires a key for ID tokens, which it never issues here. */
function placeholderKey() {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as never
}
