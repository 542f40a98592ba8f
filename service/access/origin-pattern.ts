/** A key names the origins of one site and of its tests, not the whole web. */
export const ORIGINS_MAX = 20

const ORIGIN_CHARACTERS_MAX = 300
const ORIGIN = /^https?:\/\/[^/?#@\\\s]+$/i
const ANY_LOOPBACK_PORT = /^(https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\*$/i
const ANY_SUBDOMAIN = /^https:\/\/\*\.(?=[^:]*\.)(?![\d.]+(:|$))/i

/**
 * The form in which a registered origin is kept, or null when nothing of the kind may be
 * registered. An origin is a scheme, a host and a port, as browsers send it (RFC 6454). There are
 * two wildcards: the port of a loopback host, since tests take any free one
 * (`http://127.0.0.1:*`), and the subdomains of a domain, at any depth and without the domain
 * itself (`https://*.shop.example`). The origin is no secret and no proof; it keeps a key that was
 * copied from one site from working on another.
 */
export function normalizeOriginPattern(text: string): string | null {
  if (ANY_LOOPBACK_PORT.test(text)) return text.toLowerCase()
  if (!ANY_SUBDOMAIN.test(text)) return text.includes('*') ? null : canonicalOrigin(text)
  const domain = canonicalOrigin(text.replace('*.', ''))
  return domain && !domain.includes('*') ? domain.replace('https://', 'https://*.') : null
}

/** Whether one of the patterns covers the origin that a browser named. */
export function matchesOrigin(patterns: readonly string[], origin: string): boolean {
  const found = canonicalOrigin(origin)
  return found !== null && patterns.some(pattern => covers(pattern, found))
}

function covers(pattern: string, origin: string): boolean {
  if (pattern.endsWith(':*')) {
    const anyPort = pattern.slice(0, -':*'.length)
    return origin === anyPort || origin.startsWith(`${anyPort}:`)
  }
  if (pattern.startsWith('https://*.')) {
    return origin.startsWith('https://') && origin.endsWith(pattern.slice('https://*'.length))
  }
  return origin === pattern
}

/** Lower case, ASCII, without the port that the scheme implies: equal origins are equal texts. */
function canonicalOrigin(text: string): string | null {
  if (text.length > ORIGIN_CHARACTERS_MAX || !ORIGIN.test(text) || !URL.canParse(text)) return null
  return new URL(text).origin
}
