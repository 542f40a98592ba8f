/** Where codes may be sent to: longer addresses are no addresses of programs. */
const REDIRECT_CHARACTERS_MAX = 2_000

const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]', 'localhost']
/** A name of letters, digits and hyphens with at least one dot, or an IPv4 address. */
const PLAIN_HOST = /^(?!.*--)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/
/** Neither white space, nor what a browser turns into a slash, nor a wildcard. */
const FORBIDDEN_CHARACTERS = /[^\x21-\x7e]|[\\*<>"`{}|^]/

/**
 * Why a redirect URI may not be registered, as a sentence; null when it may. Callbacks are `https`
 * addresses, `http` on this machine's loopback with any port (RFC 8252, 7.3), and the schemes of
 * native clients that this installation approves (spec: OAuth 2.1 flow, step 2). What a person
 * could misread on the approval page, or two programs could read differently, is refused.
 */
export function findRedirectUriError(uri: string, nativeSchemes: readonly string[]): string | null {
  if (uri.length > REDIRECT_CHARACTERS_MAX) return 'A redirect URI has at most 2,000 characters.'
  if (FORBIDDEN_CHARACTERS.test(uri)) {
    return 'Write a redirect URI in plain ASCII, without wildcards, spaces and backslashes.'
  }
  if (!URL.canParse(uri)) return 'A redirect URI is a whole URL.'
  const url = new URL(uri)
  if (uri.includes('#')) return 'A redirect URI has no fragment.'
  if (url.username !== '' || url.password !== '' || hasUserinfo(uri)) {
    return 'A redirect URI names no user.'
  }
  if (url.protocol === 'http:') return findLoopbackError(uri, url)
  if (url.protocol === 'https:') return findWebError(uri, url)
  const scheme = url.protocol.slice(0, -1)
  if (!nativeSchemes.includes(scheme)) {
    return 'Use https, http on the loopback address, or the scheme of an approved native client.'
  }
  return isNormalized(uri, url) ? null : NOT_NORMALIZED
}

/** Whether a redirect URI leads to this machine's loopback. */
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
  if (hostname.endsWith('.')) return 'The host of a redirect URI ends without a dot.'
  if (LOOPBACK_HOSTS.includes(hostname)) return 'Use http for the loopback address.'
  if (!PLAIN_HOST.test(hostname)) {
    return 'The host of a redirect URI is a domain name in plain letters, digits and hyphens.'
  }
  return isNormalized(uri, url) ? null : NOT_NORMALIZED
}

const NOT_NORMALIZED =
  'Write the redirect URI as browsers do: lower-case scheme and host, no default port, no dot ' +
  'segments.'

/** Compared as text later, so there is one way to write it. */
function isNormalized(uri: string, url: URL): boolean {
  return url.href === uri || url.href === `${uri}/`
}

/** Also an empty one, `https://@host`, which the parser drops without a word. */
function hasUserinfo(uri: string): boolean {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?]*)/i.exec(uri)?.[1] ?? ''
  return authority.includes('@')
}

/** Where a redirect URI leads, as a person can judge it. */
export function describeRedirectUri(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (isLoopback(url)) return `a program on this computer (${url.host})`
  if (url.protocol === 'https:') return url.host
  return `a program on this device that opens ${url.protocol} links`
}

/** The same as a source of `form-action`: an origin, or a scheme of its own. */
export function formActionSource(redirectUri: string): string {
  const url = new URL(redirectUri)
  return ['http:', 'https:'].includes(url.protocol) ? url.origin : url.protocol
}
