/** Enough for one site and its test environments. */
export const ORIGINS_MAX = 20

const ORIGIN_CHARACTERS_MAX = 300
const ORIGIN = /^https?:\/\/[^/?#@\\\s]+$/i
const ANY_LOOPBACK_PORT = /^(https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\*$/i
const ANY_SUBDOMAIN = /^https:\/\/\*\.(?=[^:]*\.)(?![\d.]+(:|$))/i

/**
 * Returns the stored form of an origin pattern, or null when it is not allowed. An origin is a
 * scheme, a host and a port, as browsers send it (RFC 6454). Two wildcards exist: any port of a
 * loopback host, because tests use free ports (`http://127.0.0.1:*`), and the subdomains of a
 * domain at any depth, without the domain itself (`https://*.shop.example`). An origin is neither a
 * secret nor a proof; it stops a key that was copied from one site from working on another.
 */
export function normalizeOriginPattern(text: string): string | null {
  if (ANY_LOOPBACK_PORT.test(text)) return text.toLowerCase()
  if (!ANY_SUBDOMAIN.test(text)) return text.includes('*') ? null : canonicalizeOrigin(text)
  const domain = canonicalizeOrigin(text.replace('*.', ''))
  return domain && !domain.includes('*') ? domain.replace('https://', 'https://*.') : null
}

/** Whether one of the patterns matches the Origin header of a browser. */
export function matchesOrigin(patterns: readonly string[], origin: string): boolean {
  const canonical = canonicalizeOrigin(origin)
  return canonical !== null && patterns.some(pattern => matchesPattern(pattern, canonical))
}

function matchesPattern(pattern: string, origin: string): boolean {
  if (pattern.endsWith(':*')) {
    const anyPort = pattern.slice(0, -':*'.length)
    return origin === anyPort || origin.startsWith(`${anyPort}:`)
  }
  if (pattern.startsWith('https://*.')) {
    return origin.startsWith('https://') && origin.endsWith(pattern.slice('https://*'.length))
  }
  return origin === pattern
}

/** Lower case, ASCII, without the default port of the scheme: equal origins become equal texts. */
function canonicalizeOrigin(text: string): string | null {
  if (text.length > ORIGIN_CHARACTERS_MAX || !ORIGIN.test(text) || !URL.canParse(text)) return null
  return new URL(text).origin
}
