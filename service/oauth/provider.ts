import { generateKeyPairSync } from 'node:crypto'
import { type AdapterFactory, type Configuration, errors, Provider } from 'oidc-provider'
import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../db/database.ts'
import { type consumeArtifact, recordDevicePoll } from './artifact-store.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import {
  findAudienceByResource,
  findAudienceByScope,
  RESOURCES,
  resourceUri,
} from './permissions.ts'
import { artifactDigest, createProviderAdapter } from './provider-adapter.ts'
import type { ProviderPages } from './provider-pages.ts'

/** How long each thing works, in seconds (decisions, section 10). */
const LIFETIME_SECONDS = {
  accessToken: 3_600,
  refreshToken: 30 * 86_400,
  authorizationCode: 60,
  deviceCode: 600,
  interaction: 1_800,
} as const

/** The library's server, as the routes of this room use it. */
export type AuthorizationServer = Provider

interface OauthProviderOptions {
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
export function createOauthProvider(options: OauthProviderOptions): Provider {
  const { database, now, origin } = options
  const provider = new Provider(origin, configuration(options))
  provider.proxy = true
  enforcePollInterval(provider, { database, now })
  discardSessions(provider)
  return provider
}

/** Whether the library found no half-finished request of this browser. */
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
      reuseError: () => new errors.InvalidGrant('it was used before'),
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
    jwks: { keys: [placeholderKey()] },
    cookies: cookieSettings(options),
    ttl: {
      AccessToken: LIFETIME_SECONDS.accessToken,
      RefreshToken: LIFETIME_SECONDS.refreshToken,
      AuthorizationCode: LIFETIME_SECONDS.authorizationCode,
      DeviceCode: LIFETIME_SECONDS.deviceCode,
      Interaction: LIFETIME_SECONDS.interaction,
      Session: LIFETIME_SECONDS.interaction,
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
    features: featureSettings(origin, options.pages),
  }
}

const GRANT_SECONDS = 10 * 365 * 86_400

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
      // The address and the program of the device would only be kept to be guessed about.
      deviceInfo: () => ({}),
      userCodeInputSource: pages.userCodeInput,
      userCodeConfirmSource: pages.userCodeConfirm,
      successSource: pages.deviceSuccess,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, _client, oneOf) =>
        oneOf ?? resourceUri(origin, findAudienceByScope(requestedScope(ctx)) ?? 'mcp'),
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => {
        const audience = findAudienceByResource(origin, resource)
        if (audience === null) throw new errors.InvalidTarget('this resource is not served here')
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

function requestedScope(ctx: OidcContext): string {
  return String(ctx.oidc.params?.scope ?? '')
}

const REQUEST_ROUTES = ['authorization', 'device_authorization']

/**
 * One resource and its one scope a request: a token never opens both doors. A client that names no
 * scope means the scope of its resource; the library would refuse it only after a person approved.
 */
function requireResourceScope(ctx: OidcContext, scope: string): void {
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
function cookieSettings({ origin, cookieKeys }: OauthProviderOptions): Configuration['cookies'] {
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

/** The library wants a key for ID tokens, of which it makes none here. */
function placeholderKey() {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as never
}

/** How often a device may ask whether it was approved (RFC 8628, section 3.2). */
const POLL_INTERVAL_SECONDS = 5

/**
 * The pace of devices, which the library leaves to its user: the interval stands in the answer, and
 * whoever asks sooner is told `slow_down` and has to wait longer each time.
 */
function enforcePollInterval(
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
    const answer = ctx.body as { error?: string } | undefined
    const code = oidc.params?.device_code
    if (oidc.route !== 'token' || answer?.error !== 'authorization_pending') return
    if (typeof code !== 'string') return
    const poll = { id: artifactDigest(code), at: now(), intervalSeconds: POLL_INTERVAL_SECONDS }
    const { isTooEarly } = await recordDevicePoll(database, poll)
    if (isTooEarly) ctx.body = SLOW_DOWN
  })
}

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: `wait ${POLL_INTERVAL_SECONDS} seconds longer between two requests from now on`,
}
