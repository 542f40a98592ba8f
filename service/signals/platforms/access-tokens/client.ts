import { parseJsonObject } from '../../../runtime/util/is-object.ts'
import { isPlatformToken } from '../../../runtime/util/sealed-credential.ts'
import { readResponseText, redactSecrets, retryAfterSeconds } from '../client.ts'
import {
  type Credential,
  digestCredential,
  type RefreshToken,
  readCredential,
  type ServiceAccountKey,
  type TokenGrant,
} from '../credentials.ts'
import type { Platform } from '../platform.ts'
import { type SendAnswer, toSendError } from '../send-answer.ts'

/** An access token and the credential that it stands for, or why there is none. */
export type TokenResult =
  | { kind: 'token'; accessToken: string; credential: Credential }
  | { kind: 'no_token'; answer: SendAnswer }

export interface AccessTokenOptions {
  now: () => Date
  timeoutMilliseconds: number
}

/** A token is replaced this long before it expires, so that no request arrives with an old one. */
const EARLY_SECONDS = 300
/** A token that names no lifetime is used once. */
const LIFETIME_SECONDS_MAX = 86_400
const CACHED_MAX = 1_000

interface CachedToken {
  accessToken: string
  staleAt: Date
}

type Minted = { kind: 'minted'; accessToken: string; lifetimeSeconds: number } | NoToken
type NoToken = Extract<TokenResult, { kind: 'no_token' }>

/**
 * The access tokens of this process: minted from keys and refresh tokens, one request at a time for
 * each credential, and kept until shortly before they expire. A replaced credential has another
 * digest, so it never gets a token of the one before.
 */
export class AccessTokens {
  readonly #options: AccessTokenOptions
  readonly #cached = new Map<string, CachedToken>()
  readonly #minting = new Map<string, Promise<Minted>>()

  constructor(options: AccessTokenOptions) {
    this.#options = options
  }

  /** The token for a request of the platform with this credential. Never throws. */
  async find(
    platform: Pick<Platform, 'credentialForms' | 'tokenGrant'>,
    sealedText: string,
  ): Promise<TokenResult> {
    const credential = readCredential(platform, sealedText)
    if (!credential) return noToken('auth', 'The stored credential is of another kind.')
    if (credential.kind === 'bearer_token') {
      return { kind: 'token', accessToken: credential.accessToken, credential }
    }
    const { tokenGrant } = platform
    if (!tokenGrant) return noToken('config', 'The platform names no token endpoint.')
    const key = cacheKey(tokenGrant, sealedText)
    const cached = this.#cached.get(key)
    if (cached && this.#options.now() < cached.staleAt) {
      return { kind: 'token', accessToken: cached.accessToken, credential }
    }
    const minted = await this.#mintOnce(key, () => mint(this.#options, tokenGrant, credential))
    if (minted.kind === 'no_token') return minted
    return { kind: 'token', accessToken: minted.accessToken, credential }
  }

  /** The platform refused a token before its time: the next request gets a new one. */
  forget({ tokenGrant }: Pick<Platform, 'tokenGrant'>, sealedText: string): void {
    if (tokenGrant) this.#cached.delete(cacheKey(tokenGrant, sealedText))
  }

  #mintOnce(key: string, request: () => Promise<Minted>): Promise<Minted> {
    const current = this.#minting.get(key)
    if (current) return current
    const minting = request()
      .then(minted => {
        if (minted.kind === 'minted') this.#keep(key, minted)
        return minted
      })
      .finally(() => this.#minting.delete(key))
    this.#minting.set(key, minting)
    return minting
  }

  #keep(key: string, { accessToken, lifetimeSeconds }: Extract<Minted, { kind: 'minted' }>): void {
    const seconds = Math.min(lifetimeSeconds, LIFETIME_SECONDS_MAX) - EARLY_SECONDS
    this.#cached.delete(key)
    if (seconds <= 0) return
    const [oldest] = this.#cached.keys()
    if (this.#cached.size >= CACHED_MAX && oldest !== undefined) this.#cached.delete(oldest)
    const staleAt = new Date(this.#options.now().getTime() + seconds * 1_000)
    this.#cached.set(key, { accessToken, staleAt })
  }
}

function cacheKey({ url, scope }: TokenGrant, sealedText: string): string {
  return [digestCredential(sealedText), url, scope].join(' ')
}

type MintableCredential = ServiceAccountKey | RefreshToken

async function mint(
  options: AccessTokenOptions,
  grant: TokenGrant,
  credential: MintableCredential,
): Promise<Minted> {
  const form =
    credential.kind === 'refresh_token'
      ? refreshForm(credential)
      : await jwtForm(options, grant, credential)
  if (!form) return noToken('auth', 'The private key of the service account cannot be read.')
  try {
    const response = await fetch(grant.url, {
      method: 'POST',
      body: new URLSearchParams(form),
      // A redirect would send the credential to the address that the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMilliseconds),
    })
    const { text } = await readResponseText(response, ANSWER_BYTES_MAX)
    const minted = readTokenAnswer(response, text)
    if (minted.kind === 'minted') return minted
    const sent = 'assertion' in form ? [form.assertion] : [form.client_secret, form.refresh_token]
    // A secret of small letters would pass for a code.
    return redactSecrets(minted, sent)
  } catch {
    return noToken('retry', 'The token endpoint cannot be reached.')
  }
}

const ANSWER_BYTES_MAX = 65_536

/** RFC 6749, section 6. */
function refreshForm({ clientId, clientSecret, refreshToken }: RefreshToken) {
  return {
    grant_type: 'refresh_token',
    client_id: clientId,
    client_secret: clientSecret,
    refresh_token: refreshToken,
  }
}

const ASSERTION_SECONDS = 3_600

/**
 * RFC 7523: the key signs that it asks for a token. Null for a key that is none. The address is
 * that of the platform, whatever the key file names: it would lead a signature elsewhere.
 */
async function jwtForm(
  { now }: AccessTokenOptions,
  { url, scope }: TokenGrant,
  { clientEmail, privateKey, privateKeyId }: ServiceAccountKey,
) {
  // Most processes mint no token.
  const { importPKCS8, SignJWT } = await import('jose')
  const issuedAt = Math.floor(now().getTime() / 1_000)
  try {
    const assertion = await new SignJWT({ scope })
      .setProtectedHeader({
        alg: 'RS256',
        typ: 'JWT',
        ...(privateKeyId !== null && { kid: privateKeyId }),
      })
      .setIssuer(clientEmail)
      .setAudience(url)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + ASSERTION_SECONDS)
      .sign(await importPKCS8(privateKey, 'RS256'))
    return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
  } catch {
    return null
  }
}

function readTokenAnswer(response: Response, text: string): Minted {
  const body = parseJsonObject(text)
  const { status } = response
  const { access_token: accessToken, expires_in: seconds } = body ?? {}
  if (status === 200 && typeof accessToken === 'string' && isPlatformToken(accessToken)) {
    const lifetimeSeconds = typeof seconds === 'number' && seconds > 0 ? seconds : 0
    return { kind: 'minted', accessToken, lifetimeSeconds }
  }
  const reason = `${describeCode(body)}, HTTP ${status}`
  const waitSeconds = retryAfterSeconds(name => response.headers.get(name))
  if (status === 429) {
    const message = `The token endpoint has too many requests (${reason}).`
    return noToken('throttle', message, { status, waitSeconds: Math.max(waitSeconds, 1) })
  }
  if (status === 400 || status === 401 || status === 403) {
    return noToken('auth', `The token endpoint refuses the credential (${reason}).`, { status })
  }
  const message = `The token endpoint answered without a token (${reason}).`
  return noToken('retry', message, { status, waitSeconds })
}

/** Only the code of RFC 6749: a description may repeat what was sent. */
function describeCode(body: Record<string, unknown> | null): string {
  const { error } = body ?? {}
  return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'no reason given'
}

/** In the form of a platform's answer, so that deliveries wait, or their destination is paused. */
function noToken(
  outcome: 'auth' | 'config' | 'retry' | 'throttle',
  message: string,
  { status = null, waitSeconds = 0 }: { status?: number | null; waitSeconds?: number } = {},
): NoToken {
  const error = toSendError(outcome, { message, http_status: status })
  const answer = { outcome, waitSeconds, httpStatus: status, traceId: null, answer: null, error }
  return { kind: 'no_token', answer }
}
