interface ResponseText {
  text: string
  /** False when the body is longer than the limit; the text is its beginning then. */
  isComplete: boolean
}

/** Reads the body of an answer up to `bytesMax`: a proxy's page may be anything. */
export async function readResponseText(
  response: Response,
  bytesMax: number,
): Promise<ResponseText> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > bytesMax) break
  }
  return { text: Buffer.concat(chunks).toString('utf8'), isComplete: bytes <= bytesMax }
}

/** A destination is tried again within a day, even when a header asks for more. */
export const WAIT_SECONDS_MAX = 86_400

const SECONDS = /^\d{1,15}$/
/** The three forms of an HTTP date begin with a weekday (RFC 9110 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*(\d| GMT)$/

/**
 * How long `Retry-After` asks the client to wait, in seconds (RFC 9110 10.2.3); 0 without one, or
 * with one that cannot be read. A date is compared with the answer's own `Date`, so that clocks
 * need not agree; without a `Date` it is ignored.
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
