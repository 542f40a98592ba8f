/** Where codes may be sent to: longer addresses are no addresses of programs. */
export const REDIRECT_CHARACTERS_MAX = 2_000

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
export function redirectFault(uri: string, nativeSchemes: readonly string[]): string | null {
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
  if (url.protocol === 'http:') return loopbackFault(uri, url)
  if (url.protocol === 'https:') return webFault(uri, url)
  const scheme = url.protocol.slice(0, -1)
  if (!nativeSchemes.includes(scheme)) {
    return 'Use https, http on the loopback address, or the scheme of an approved native client.'
  }
  return isAsWritten(uri, url) ? null : AS_WRITTEN
}

/** Whether a redirect URI leads to this machine's loopback. */
export function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && LOOPBACK_HOSTS.includes(url.hostname)
}

function loopbackFault(uri: string, url: URL): string | null {
  if (!isLoopback(url)) {
    return 'Use http only for 127.0.0.1, [::1] or localhost; elsewhere use https.'
  }
  return isAsWritten(uri, url) ? null : AS_WRITTEN
}

function webFault(uri: string, url: URL): string | null {
  const { hostname } = url
  if (hostname.endsWith('.')) return 'The host of a redirect URI ends without a dot.'
  if (LOOPBACK_HOSTS.includes(hostname)) return 'Use http for the loopback address.'
  if (!PLAIN_HOST.test(hostname)) {
    return 'The host of a redirect URI is a domain name in plain letters, digits and hyphens.'
  }
  return isAsWritten(uri, url) ? null : AS_WRITTEN
}

const AS_WRITTEN =
  'Write the redirect URI as browsers do: lower-case scheme and host, no default port, no dot ' +
  'segments.'

/** Compared as text later, so there is one way to write it. */
function isAsWritten(uri: string, url: URL): boolean {
  return url.href === uri || url.href === `${uri}/`
}

/** Also an empty one, `https://@host`, which the parser drops without a word. */
function hasUserinfo(uri: string): boolean {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?]*)/i.exec(uri)?.[1] ?? ''
  return authority.includes('@')
}
