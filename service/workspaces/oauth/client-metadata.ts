import { parseWebhookUrl } from '../../runtime/webhooks/client.ts'
import { parseDisplayName } from '../users/user-input.ts'
import type { OauthClient } from './client-store.ts'

const REDIRECT_CHARACTERS_MAX = 2_000

const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]', 'localhost']
/** A domain name of letters, digits and hyphens with at least one dot, or an IPv4 address. */
const PLAIN_HOST = /^(?!.*--)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/
/** White space, characters that browsers turn into a slash, and wildcards. */
const FORBIDDEN_CHARACTERS = /[^\x21-\x7e]|[\\*<>"`{}|^]/

/**
 * Explains why a redirect URI cannot be registered; null when it can. Allowed are `https` URLs,
 * `http` on loopback with any port (RFC 8252, 7.3), and the schemes of approved native clients.
 * URIs that a user could misread on the consent page, or that two programs could parse
 * differently, are rejected.
 */
export function findRedirectUriError(uri: string, nativeSchemes: readonly string[]): string | null {
  if (uri.length > REDIRECT_CHARACTERS_MAX)
    return 'A redirect URI can have at most 2,000 characters.'
  if (FORBIDDEN_CHARACTERS.test(uri)) {
    return 'Write a redirect URI in plain ASCII, without wildcards, spaces and backslashes.'
  }
  if (!URL.canParse(uri)) return 'A redirect URI must be an absolute URL.'
  const url = new URL(uri)
  if (uri.includes('#')) return 'A redirect URI must not have a fragment.'
  if (url.username !== '' || url.password !== '' || hasUserinfo(uri)) {
    return 'A redirect URI must not contain a user name.'
  }
  if (url.protocol === 'http:') return findLoopbackError(uri, url)
  if (url.protocol === 'https:') return findWebError(uri, url)
  const scheme = url.protocol.slice(0, -1)
  if (!nativeSchemes.includes(scheme)) {
    return 'Use https, http on the loopback address, or the scheme of an approved native client.'
  }
  return isNormalized(uri, url) ? null : NOT_NORMALIZED
}

/** True for a program on the same computer. */
export function isLoopbackRedirect(redirectUri: string): boolean {
  return isLoopback(new URL(redirectUri))
}

function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && LOOPBACK_HOSTS.includes(url.hostname)
}

function findLoopbackError(uri: string, url: URL): string | null {
  if (!isLoopback(url)) {
    return 'Use http only for 127.0.0.1, [::1] or localhost; elsewhere use https.'
  }
  return isNormalized(uri, url) ? null : NOT_NORMALIZED
}

function findWebError(uri: string, url: URL): string | null {
  const { hostname } = url
  if (hostname.endsWith('.')) return 'The host of a redirect URI must not end with a dot.'
  if (LOOPBACK_HOSTS.includes(hostname)) return 'Use http for the loopback address.'
  if (!PLAIN_HOST.test(hostname)) {
    return 'The host of a redirect URI must be a domain name of ASCII letters, digits and hyphens.'
  }
  return isNormalized(uri, url) ? null : NOT_NORMALIZED
}

const NOT_NORMALIZED =
  'Write the redirect URI as browsers do: lower-case scheme and host, no default port, no dot ' +
  'segments.'

/** URIs are compared as text, so each needs a single spelling. */
function isNormalized(uri: string, url: URL): boolean {
  return url.href === uri || url.href === `${uri}/`
}

/** Includes an empty one, `https://@host`, which the URL parser drops silently. */
function hasUserinfo(uri: string): boolean {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?]*)/i.exec(uri)?.[1] ?? ''
  return authority.includes('@')
}

/** Describes the target of a redirect URI to a user. */
export function describeRedirectUri(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (isLoopback(url)) return `a program on this computer (${url.host})`
  if (url.protocol === 'https:') return url.host
  return `a program on this device that opens ${url.protocol} links`
}

/** The target as a source of `form-action`: an origin or a scheme. */
export function formActionSource(redirectUri: string): string {
  const url = new URL(redirectUri)
  return ['http:', 'https:'].includes(url.protocol) ? url.origin : url.protocol
}

export const CLIENT_NAME_CHARACTERS_MAX = 100

/**
 * Returns a name that a client chose for itself; null when it could be taken for text of our own
 * pages: it has quotation marks like theirs, a check mark, a link, our name, or says that it is
 * verified.
 */
export function parseClientName(input: unknown): string | null {
  const name = parseDisplayName(input, CLIENT_NAME_CHARACTERS_MAX)
  return name === null || isMisleading(name) ? null : name
}

/** Typographic quotation marks, also as angles, primes and corner brackets. */
const QUOTATION_MARKS = /[«»‹›\u201c-\u201f\u2033\u2036\u300c-\u300f\u301d-\u301f\uff02]/u
const CHECK_MARKS = /[\u2611\u2705\u2713\u2714\u{1f5f8}\u{1f5f9}]/u
/** The name of this product too: an agent that has it would look like a part of it. */
const CLAIMS = /verif|official|certified|signal ?box|:\/\/|www\./
/** A word of look-alike letters, such as "verified" with a Cyrillic letter. */
const MIXED_SCRIPTS = new RegExp(
  '(?=\\p{L}*\\p{sc=Latn})(?=\\p{L}*' +
    '[\\p{sc=Cyrl}\\p{sc=Grek}\\p{sc=Armn}\\p{sc=Cher}\\p{sc=Lisu}])\\p{L}+',
  'u',
)
/** Small capitals and other letters of phonetics, of which no name consists. */
const PHONETIC_LETTERS = /[\u0250-\u02af\u1d00-\u1dbf\ua730-\ua731]/u

function isMisleading(name: string): boolean {
  const folded = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const plain = folded.replaceAll('\u0131', 'i')
  const patterns = [QUOTATION_MARKS, CHECK_MARKS, MIXED_SCRIPTS, PHONETIC_LETTERS]
  return CLAIMS.test(plain) || patterns.some(pattern => pattern.test(name))
}

/** The name of a stored client. Names from before a rule may break it. */
export function showClientName(name: string): string {
  return parseClientName(name) ?? 'Unnamed agent'
}

const DOCUMENT_URL_CHARACTERS_MAX = 500

/** Whether a client ID is the URL of its metadata document, valid or not. */
export function isDocumentUrl(clientId: string): boolean {
  return /^https?:\/\//i.test(clientId)
}

/** Explains why a URL cannot be the ID of a client; null when it can. */
export function findDocumentUrlError(clientId: string): string | null {
  if (clientId.length > DOCUMENT_URL_CHARACTERS_MAX) return 'The URL is too long.'
  if (FORBIDDEN_CHARACTERS.test(clientId)) return 'The URL has a character that it must not have.'
  if ('problem' in parseWebhookUrl(clientId)) return 'The URL must be a public https URL.'
  const url = new URL(clientId)
  if (clientId.includes('#') || hasUserinfo(clientId)) return 'The URL has a fragment or user name.'
  if (url.pathname === '/' || clientId.includes('?')) return 'The URL needs a path and no query.'
  return url.href === clientId ? null : NOT_NORMALIZED
}

const DOCUMENT_REDIRECTS_MAX = 50

/**
 * Returns the client that its metadata document describes; null if it is not accepted. Clients list
 * redirect URIs for every environment, so that those which could not be registered are left out.
 */
export function parseClientDocument(
  clientId: string,
  document: Record<string, unknown>,
  nativeSchemes: readonly string[],
): OauthClient | null {
  const { client_name: clientName, redirect_uris: given } = document
  const name = parseClientName(clientName)
  const { token_endpoint_auth_method: method = 'none', client_secret: secret } = document
  const isPublic = method === 'none' && secret === undefined
  if (document.client_id !== clientId || name === null || !isPublic) return null
  if (!Array.isArray(given) || given.length > DOCUMENT_REDIRECTS_MAX) return null
  const redirectUris = given
    .filter(uri => typeof uri === 'string')
    .filter(uri => findRedirectUriError(uri, nativeSchemes) === null)
  if (redirectUris.length === 0) return null
  return { clientId, kind: 'self_registered', name, redirectUris: [...new Set(redirectUris)] }
}
