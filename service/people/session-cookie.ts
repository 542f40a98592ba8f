import { hash } from 'node:crypto'

/** How long a session lasts, however much it is used. Then the person signs in again. */
export const SESSION_DAYS = 14
const SECONDS_OF_DAY = 86_400

/** better-auth's tokens: 32 of 62 characters, 190 random bits. */
const TOKEN = /^[A-Za-z0-9]{32}$/

/**
 * The cookie's name. `__Host-` binds it to this host and to HTTPS (RFC 6265bis, 4.1.3.2), so that a
 * sibling domain cannot plant one; browsers refuse the prefix where there is no HTTPS.
 */
export function sessionCookieName(publicOrigin: string): string {
  return publicOrigin.startsWith('https:') ? '__Host-signalbox_session' : 'signalbox_session'
}

/** `Set-Cookie` for a new session. Lax: links of other sites may open our pages signed in. */
export function sessionCookie(publicOrigin: string, token: string): string {
  return cookie(publicOrigin, token, SESSION_DAYS * SECONDS_OF_DAY)
}

/** `Set-Cookie` that takes the cookie away. */
export function endedSessionCookie(publicOrigin: string): string {
  return cookie(publicOrigin, '', 0)
}

/** The token in a Cookie header; null without one, or when it cannot be one. */
export function sessionTokenOf(header: string | undefined, publicOrigin: string): string | null {
  const wanted = `${sessionCookieName(publicOrigin)}=`
  const found = header
    ?.split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(wanted))
    ?.slice(wanted.length)
  return found !== undefined && TOKEN.test(found) ? found : null
}

/** What is stored of a session's token. */
export function sessionTokenDigest(token: string): string {
  return hash('sha256', token, 'base64url')
}

function cookie(publicOrigin: string, value: string, secondsMax: number): string {
  const secure = publicOrigin.startsWith('https:') ? '; Secure' : ''
  const name = sessionCookieName(publicOrigin)
  return `${name}=${value}; Path=/; Max-Age=${secondsMax}; HttpOnly; SameSite=Lax${secure}`
}
