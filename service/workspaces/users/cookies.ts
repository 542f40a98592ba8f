/**
 * The name of a cookie. `__Host-` binds it to this host and to HTTPS (RFC 6265bis, 4.1.3.2), so
 * that a sibling domain cannot plant one; browsers refuse the prefix where there is no HTTPS.
 */
export function cookieName(publicOrigin: string, name: string): string {
  return publicOrigin.startsWith('https:') ? `__Host-${name}` : name
}

interface Cookie {
  /** Without the prefix. */
  name: string
  value: string
  /** 0 removes the cookie. */
  secondsMax: number
}

/** `Set-Cookie` that scripts cannot read. Lax: a link on another site opens our pages with it. */
export function serializeCookie(publicOrigin: string, cookie: Cookie): string {
  const { name, value, secondsMax } = cookie
  const secure = publicOrigin.startsWith('https:') ? '; Secure' : ''
  const pair = `${cookieName(publicOrigin, name)}=${value}`
  return `${pair}; Path=/; Max-Age=${secondsMax}; HttpOnly; SameSite=Lax${secure}`
}

/** Reads a cookie, by its name without the prefix, from a Cookie header. */
export function readCookie(
  header: string | undefined,
  publicOrigin: string,
  name: string,
): string | undefined {
  const wanted = `${cookieName(publicOrigin, name)}=`
  return header
    ?.split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(wanted))
    ?.slice(wanted.length)
}
