import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'

export const SCOPE = 'https://www.googleapis.com/auth/datamanager'
const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token'
const JWT_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_SECONDS = 3_599
const ASSERTION_SECONDS_MAX = 3_600
const CLOCK_SECONDS_APART_MAX = 300
const TOKENS_MAX = 10_000

/** What an access token stands for. */
interface MintedToken {
  project: string
  expiresAt: number
  scope: string
}

/** The access tokens that the token endpoint gave out, and the service accounts it knows. */
export class MintedTokens {
  readonly #tokens = new Map<string, MintedToken>()
  readonly serviceAccounts = new Map<string, KeyObject>()

  mint(token: MintedToken): string {
    const [oldest] = this.#tokens.keys()
    if (this.#tokens.size >= TOKENS_MAX && oldest !== undefined) this.#tokens.delete(oldest)
    const text = `ya29.simulator-${randomBytes(24).toString('base64url')}`
    this.#tokens.set(text, token)
    return text
  }

  find(token: string): MintedToken | undefined {
    return this.#tokens.get(token)
  }
}

interface TokenRequest {
  body: string
  /** The address under which the sender reached this endpoint. */
  url: string
  at: Date
  tokens: MintedTokens
  revoked: ReadonlySet<string>
}

/** POST /token: the two grants by which a server gets an access token of Google. */
export function answerTokenRequest(request: TokenRequest): HttpResponse {
  const form = new URLSearchParams(request.body)
  switch (form.get('grant_type')) {
    case JWT_GRANT:
      return grantForAssertion(request, form.get('assertion') ?? '')
    case 'refresh_token':
      return grantForRefreshToken(request, form)
    default:
      return oauthError(400, 'unsupported_grant_type', 'Invalid grant_type.')
  }
}

function grantForAssertion(request: TokenRequest, assertion: string): HttpResponse {
  const claims = readAssertion(assertion, request.tokens)
  if (claims === undefined) return oauthError(400, 'invalid_grant', 'Invalid JWT Signature.')
  const { iss, aud, iat, exp, scope } = claims
  const now = request.at.getTime() / 1_000
  const isInTime =
    typeof iat === 'number' &&
    typeof exp === 'number' &&
    exp > now &&
    iat <= now + CLOCK_SECONDS_APART_MAX &&
    exp - iat <= ASSERTION_SECONDS_MAX
  if (!isInTime) return oauthError(400, 'invalid_grant', 'Invalid JWT: iat and exp.')
  if (aud !== request.url && aud !== GOOGLE_TOKEN_URL)
    return oauthError(400, 'invalid_grant', 'Invalid JWT: aud.')
  if (typeof scope !== 'string' || scope === '')
    return oauthError(400, 'invalid_scope', 'Empty or missing scope.')
  return tokenResponse(request, { project: projectOf(String(iss)), scope })
}

/** The claims of an assertion that a known service account signed with RS256. */
function readAssertion(
  assertion: string,
  tokens: MintedTokens,
): Record<string, unknown> | undefined {
  const [header = '', payload = '', signature = ''] = assertion.split('.')
  const claims = parseSegment(payload)
  const key = tokens.serviceAccounts.get(String(claims?.iss))
  if (parseSegment(header)?.alg !== 'RS256' || key === undefined) return undefined
  const signed = Buffer.from(`${header}.${payload}`)
  const isSigned = verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))
  return isSigned ? claims : undefined
}

function parseSegment(segment: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(Buffer.from(segment, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** `name@project.iam.gserviceaccount.com` is of the project. */
function projectOf(email: string): string {
  return /@([a-z0-9-]+)\.iam\.gserviceaccount\.com$/.exec(email)?.[1] ?? email
}

function grantForRefreshToken(request: TokenRequest, form: URLSearchParams): HttpResponse {
  const refreshToken = form.get('refresh_token') ?? ''
  const clientId = form.get('client_id') ?? ''
  if (clientId === '' || (form.get('client_secret') ?? '') === '')
    return oauthError(401, 'invalid_client', 'The OAuth client was not found.')
  if (refreshToken === '' || request.revoked.has(refreshToken))
    return oauthError(400, 'invalid_grant', 'Token has been expired or revoked.')
  return tokenResponse(request, { project: clientId, scope: SCOPE })
}

function tokenResponse(
  { tokens, at }: TokenRequest,
  granted: Pick<MintedToken, 'project' | 'scope'>,
): HttpResponse {
  const expiresAt = at.getTime() + TOKEN_SECONDS * 1_000
  const accessToken = tokens.mint({ ...granted, expiresAt })
  return jsonResponse(200, {
    access_token: accessToken,
    expires_in: TOKEN_SECONDS,
    scope: granted.scope,
    token_type: 'Bearer',
  })
}

function oauthError(status: number, error: string, description: string): HttpResponse {
  return jsonResponse(status, { error, error_description: description })
}

/** Registers the public key of a service account, or says what is wrong with it. */
export function addServiceAccount(
  tokens: MintedTokens,
  { client_email, public_key }: { client_email: string; public_key: string },
): string | undefined {
  try {
    tokens.serviceAccounts.set(client_email, createPublicKey(public_key))
    return undefined
  } catch {
    return 'Must be a public key in PEM.'
  }
}
