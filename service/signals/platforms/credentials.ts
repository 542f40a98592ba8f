import { createHash, createPrivateKey } from 'node:crypto'
import { isObject, parseJsonObject } from '../../runtime/util/is-object.ts'
import { isPlatformToken } from '../../runtime/util/sealed-credential.ts'

/** What a destination's credential may be. A platform names the kinds that it takes. */
export const CREDENTIAL_KINDS = ['bearer_token', 'service_account_key', 'refresh_token'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/** A credential in memory, from the one text under which a destination stores it sealed. */
export type Credential = BearerToken | ServiceAccountKey | RefreshToken

/** Sent with each request as it is. */
export interface BearerToken {
  kind: 'bearer_token'
  accessToken: string
}

/** A key file of Google Cloud. Its own `token_uri` is ignored. */
export interface ServiceAccountKey {
  kind: 'service_account_key'
  clientEmail: string
  /** PKCS#8 in PEM. */
  privateKey: string
  privateKeyId: string | null
  projectId: string | null
}

/** An OAuth client and a refresh token that a person granted to it. */
export interface RefreshToken {
  kind: 'refresh_token'
  clientId: string
  clientSecret: string
  refreshToken: string
}

/** What a person may enter as the credential of a destination. */
export interface CredentialForm {
  kind: CredentialKind
  label: string
  /** Where to find it at the platform. */
  hint: string
}

/** For a platform whose plug-in is not installed. */
export const TAKES_ANY_CREDENTIAL = {
  credentialForms: CREDENTIAL_KINDS.map(
    (kind): CredentialForm => ({ kind, label: kind, hint: '' }),
  ),
}

/** Where access tokens are minted from a key or a refresh token, and for what. */
export interface TokenGrant {
  url: string
  scope: string
}

/**
 * Reads the sealed text of a destination: a bearer token as it is, Google's key file as it is, a
 * refresh token as JSON with its `kind`. Null for JSON that is none of these.
 */
export function parseCredential(text: string): Credential | null {
  if (!text.trimStart().startsWith('{')) {
    return text === '' ? null : { kind: 'bearer_token', accessToken: text }
  }
  const members = parseJsonObject(text)
  if (!isObject(members)) return null
  if (members.type === 'service_account') return readServiceAccountKey(members)
  return members.kind === 'refresh_token' ? readRefreshToken(members) : null
}

function readServiceAccountKey(members: Record<string, unknown>): ServiceAccountKey | null {
  const clientEmail = textMember(members, 'client_email')
  const privateKey = textMember(members, 'private_key')
  if (clientEmail === null || privateKey === null) return null
  return {
    kind: 'service_account_key',
    clientEmail,
    privateKey,
    privateKeyId: textMember(members, 'private_key_id'),
    projectId: textMember(members, 'project_id'),
  }
}

function readRefreshToken(members: Record<string, unknown>): RefreshToken | null {
  const clientId = textMember(members, 'client_id')
  const clientSecret = textMember(members, 'client_secret')
  const refreshToken = textMember(members, 'refresh_token')
  if (clientId === null || clientSecret === null || refreshToken === null) return null
  return { kind: 'refresh_token', clientId, clientSecret, refreshToken }
}

function textMember(members: Record<string, unknown>, name: string): string | null {
  const value = members[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** The credential that a platform takes; null for text of another kind. */
export function readCredential(
  { credentialForms }: { credentialForms: readonly Pick<CredentialForm, 'kind'>[] },
  text: string,
): Credential | null {
  const credential = parseCredential(text)
  return credentialForms.some(({ kind }) => kind === credential?.kind) ? credential : null
}

/** A key file of Google has 2,400 characters. */
export const CREDENTIAL_CHARACTERS_MAX = 8_000

/**
 * Reads what a person entered or a file holds, without the white space around it: the text to seal,
 * or why the platform does not take it. The reason never repeats the text.
 */
export function parseCredentialInput(
  { credentialForms }: { credentialForms: readonly CredentialForm[] },
  input: string,
): { text: string } | { problem: string } {
  const text = input.trim()
  const isJson = text.startsWith('{')
  const isValid = isJson ? text.length <= CREDENTIAL_CHARACTERS_MAX : isPlatformToken(text)
  const credential = isValid ? readCredential({ credentialForms }, text) : null
  if (credential !== null && canSign(credential)) return { text }
  const kinds = credentialForms.map(({ kind }) => CREDENTIAL_REQUIREMENTS[kind])
  return { problem: `must contain only ${kinds.join(', or ')}` }
}

const RS256_BITS_MIN = 2_048

/** Whether a key can sign: one that cannot would pause its destination with the first event. */
function canSign(credential: Credential): boolean {
  if (credential.kind !== 'service_account_key') return true
  const { privateKey } = credential
  if (!privateKey.trimStart().startsWith('-----BEGIN PRIVATE KEY-----')) return false
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(privateKey)
    const bits = asymmetricKeyDetails?.modulusLength ?? 0
    return asymmetricKeyType === 'rsa' && bits >= RS256_BITS_MIN
  } catch {
    return false
  }
}

/** Completes "The field must contain only ...". */
const CREDENTIAL_REQUIREMENTS: Record<CredentialKind, string> = {
  bearer_token: 'the token, 1 to 2,000 printable ASCII characters without spaces',
  service_account_key:
    'the JSON key file of a service account, whose private_key is an RSA key of at least ' +
    '2048 bits in PKCS#8',
  refresh_token:
    'a JSON object with kind "refresh_token", client_id, client_secret and refresh_token',
}

/**
 * Why the platform does not take what a person entered, with where to find the right value. Never
 * repeats the text. A text that is meant as one kind is compared with that kind only.
 */
export function describeCredentialProblem(
  { credentialForms }: { credentialForms: readonly CredentialForm[] },
  input: string,
): string {
  const meant = credentialForms.filter(({ kind }) => kind === guessKind(input.trim()))
  const forms = meant.length > 0 ? meant : credentialForms
  return forms
    .map(({ kind, label, hint }) => `The ${label} must be ${FORM_REQUIREMENTS[kind]}. ${hint}`)
    .join(' Or: ')
    .trim()
}

function guessKind(text: string): CredentialKind {
  if (!text.startsWith('{')) return 'bearer_token'
  const members = parseJsonObject(text)
  const isRefreshToken = isObject(members) && members.kind === 'refresh_token'
  return isRefreshToken ? 'refresh_token' : 'service_account_key'
}

const FORM_REQUIREMENTS: Record<CredentialKind, string> = {
  bearer_token: 'one text of at most 2,000 letters, digits and signs, without spaces',
  service_account_key:
    'the whole JSON key file as Google made it, with its client_email and its private_key (RSA, ' +
    'at least 2048 bits, PKCS#8)',
  refresh_token:
    'entered with its client ID and client secret, 8,000 characters in all (in JSON: kind ' +
    '"refresh_token", client_id, client_secret, refresh_token)',
}

/** Names a sealed text in caches, without revealing it. */
export function digestCredential(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
