import { Refusal } from '../http/refusal.ts'

/** What a browser says of where a request comes from. */
export interface ArrivalHeaders {
  origin?: string | undefined
  'sec-fetch-site'?: string | string[] | undefined
}

/**
 * Refuses with 403 what a page of another site made the browser send. `Sec-Fetch-Site` is written
 * by the browser itself and cannot be forged by a page; older browsers send at least `Origin` with
 * every POST. A request that has neither comes from no browser and is refused too: nobody else has
 * a session's cookie. `publicOrigin` is ours; the Host header is never asked.
 */
export function requireSameOrigin(headers: ArrivalHeaders, publicOrigin: string): void {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  const isOriginOurs = origin === undefined ? site !== undefined : origin === publicOrigin
  const isSiteOurs = site === undefined || site === 'same-origin'
  if (isOriginOurs && isSiteOurs) return
  throw new Refusal(403, 'This request came from another site; open the page here and try again.')
}
