const FBC = /^fb\.\d\.\d{10,13}\.([\w~%=-]{1,500})(?:\.[\w-]{2,8})?$/
const FBP = /^fb\.\d\.\d{10,13}\.\d{1,20}(?:\.[\w-]{2,8})?$/
const FBCLID = /^[\w~%=-]{1,500}$/

/**
 * Meta's click cookie: `fb.<subdomain index>.<creation time, ms>.<fbclid>`, leniently, with the
 * optional fifth part that Meta's Parameter Builder appends ("ClickID and the fbp and fbc
 * Parameters"). Returns the fbclid inside, its case untouched, or null when it is not an fbc.
 */
export function fbclidOfFbc(text: string): string | null {
  return FBC.exec(text)?.[1] ?? null
}

/** Makes the click cookie of a click that has none yet. Index 1: made on a server, no cookie. */
export function makeFbc(fbclid: string, observedAt: Date): string {
  return `fb.1.${observedAt.getTime()}.${fbclid}`
}

/** Meta's browser cookie: `fb.<subdomain index>.<creation time, ms>.<random number>`. */
export function isFbp(text: string): boolean {
  return FBP.test(text)
}

/** A click identifier of Meta as it stands in a landing URL. */
export function isFbclid(text: string): boolean {
  return FBCLID.test(text)
}
