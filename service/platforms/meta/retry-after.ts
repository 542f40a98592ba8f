/** Whatever an answer says, a lane is looked at again within a day. */
const WAIT_SECONDS_MAX = 86_400

const SECONDS = /^\d{1,15}$/
/** The three forms of an HTTP date begin with a weekday (RFC 9110 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*(\d| GMT)$/

/**
 * How long `Retry-After` asks us to stay away, in seconds (RFC 9110 10.2.3); 0 without one, or
 * with one that cannot be read. Meta does not document it, but whoever stands in between may send
 * it. A date is compared with the answer's own `Date`, so that no clock of ours has to agree with
 * theirs; without a `Date` it says nothing.
 */
export function retryAfterSeconds(header: (name: string) => string | null): number {
  const text = header('retry-after')?.trim() ?? ''
  const seconds = SECONDS.test(text) ? Number(text) : secondsBetween(header('date'), text)
  return Math.min(Math.max(seconds, 0), WAIT_SECONDS_MAX)
}

function secondsBetween(from: string | null, until: string): number {
  const milliseconds = readHttpDate(until) - readHttpDate(from?.trim() ?? '')
  return Number.isNaN(milliseconds) ? 0 : Math.ceil(milliseconds / 1_000)
}

/** NaN when the text is no HTTP date. The oldest of its forms leaves out that it means GMT. */
function readHttpDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Number.NaN
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
}
