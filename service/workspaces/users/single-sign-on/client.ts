import type { ClientAuth, Configuration } from 'openid-client'
import { TtlCache } from '../../../runtime/util/load-cache.ts'

const METADATA_CACHE = { ttlMilliseconds: 600_000, entriesMax: 1 }
const TIMEOUT_SECONDS = 10
const SCOPE = 'openid email profile'
/** Clocks of two machines differ. */
export const TOLERANCE_SECONDS = 30

export interface ProviderOptions {
  /** Set by the operator, so it may be an internal address; no redirect is followed. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Where the provider sends the browser back to. */
  redirectUri: () => string
  now: () => Date
}

/** What a sign-in at the provider leaves in the browser until its answer comes. */
export interface SignInSecrets {
  state: string
  nonce: string
  codeVerifier: string
}

/** A person, as the provider vouches for them. */
export interface ProviderIdentity {
  /** Never reassigned at this issuer; the address may be. */
  subject: string
  /** As the provider wrote it; empty without one. */
  email: string
  isEmailVerified: boolean
  name: string
  /** When the person proved to the provider who they are; null when it does not say. */
  authenticatedAt: Date | null
}

export interface IdentityProvider {
  issuer: string
  /** The address at the provider to send the browser to, and what its answer is checked with. */
  begin(options: { isFresh: boolean; loginHint?: string }): Promise<{
    url: string
    secrets: SignInSecrets
  }>
  /** Exchanges the answer in a callback URL. Throws when any check of the protocol fails. */
  finish(callbackUrl: string, secrets: SignInSecrets, isFresh: boolean): Promise<ProviderIdentity>
}

/**
 * The OpenID provider of a company: authorization code with PKCE, state, nonce, and the issuer,
 * audience, times and signature of the ID token. The library compares times by the machine's clock;
 * `now` shifts that for tests.
 */
export function createIdentityProvider(options: ProviderOptions): IdentityProvider {
  const metadata = new TtlCache(() => readMetadata(options), METADATA_CACHE)
  return {
    issuer: options.issuer,
    begin: async ({ isFresh, loginHint }) => {
      const config = await metadata.get(options.issuer)
      const library = await import('openid-client')
      const secrets = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        codeVerifier: library.randomPKCECodeVerifier(),
      }
      const url = library.buildAuthorizationUrl(config, {
        redirect_uri: options.redirectUri(),
        scope: SCOPE,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(secrets.codeVerifier),
        code_challenge_method: 'S256',
        ...(isFresh && { prompt: 'login', max_age: '0' }),
        ...(loginHint && { login_hint: loginHint }),
      })
      return { url: url.href, secrets }
    },
    finish: async (callbackUrl, { state, nonce, codeVerifier }, isFresh) => {
      const config = await metadata.get(options.issuer)
      const library = await import('openid-client')
      const tokens = await library.authorizationCodeGrant(config, new URL(callbackUrl), {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
        // Without this claim nobody says that the person was asked again.
        ...(isFresh && { maxAge: FRESH_SECONDS }),
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('the provider sent no ID token')
      if (typeof claims.email === 'string') return toIdentity(claims)
      const { sub, auth_time } = claims
      const profile = await library.fetchUserInfo(config, tokens.access_token, sub)
      return toIdentity({ ...profile, sub, auth_time })
    },
  }
}

/** How old the sign-in may be at the exchange; it must be later than the request anyway. */
const FRESH_SECONDS = 600

/** Reads and checks the provider's metadata. Throws when its issuer is another one. */
export async function readMetadata({
  issuer,
  clientId,
  clientSecret,
  now,
}: Pick<ProviderOptions, 'issuer' | 'clientId' | 'clientSecret' | 'now'>): Promise<Configuration> {
  const library = await import('openid-client')
  const execute = [library.enableNonRepudiationChecks]
  // Only a provider on this machine may do without TLS (read-settings.ts).
  if (issuer.startsWith('http:')) execute.push(library.allowInsecureRequests)
  const client = {
    [library.clockSkew]: Math.round((now().getTime() - Date.now()) / 1_000),
    [library.clockTolerance]: TOLERANCE_SECONDS,
  }
  const options = { execute, timeout: TIMEOUT_SECONDS }
  // OpenID Connect Discovery 1.0: a provider that names no method takes the secret by HTTP Basic.
  const authenticate: ClientAuth = (server, ...rest) => {
    const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    const method = takesPost ? library.ClientSecretPost : library.ClientSecretBasic
    return method(clientSecret)(server, ...rest)
  }
  return library.discovery(new URL(issuer), clientId, client, authenticate, options)
}

/** Why an answer or the metadata of a provider was refused: a code, never a claim or a token. */
export function providerErrorCode(error: unknown): string {
  const answered = (error as { error?: unknown }).error
  if (typeof answered === 'string' && /^[a-z_]{1,40}$/.test(answered)) return answered
  // `fetch` wraps the reason, and the library wraps what `fetch` throws.
  const causes = [error, causeOf(error), causeOf(causeOf(error))]
  const codes = causes.map(each => (each as { code?: unknown } | undefined)?.code)
  const known = codes.find(code => typeof code === 'string')
  return String(known ?? (error as Error).name).toLowerCase()
}

function causeOf(error: unknown): unknown {
  return (error as { cause?: unknown } | undefined)?.cause
}

interface Claims {
  sub: string
  email?: unknown
  email_verified?: unknown
  xms_edov?: unknown
  name?: unknown
  auth_time?: unknown
}

/**
 * The claims that we use. Some providers send booleans as text. Entra ID sends no
 * `email_verified`, because anyone can set an address there; its `xms_edov` says that the tenant
 * owns the domain of the address.
 */
export function toIdentity(claims: Claims): ProviderIdentity {
  const { sub, email, name, auth_time } = claims
  return {
    subject: sub,
    email: typeof email === 'string' ? email : '',
    isEmailVerified: [claims.email_verified, claims.xms_edov].some(isTrue),
    name: typeof name === 'string' ? name : '',
    authenticatedAt: typeof auth_time === 'number' ? new Date(auth_time * 1_000) : null,
  }
}

function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true' || claim === 1 || claim === '1'
}
