import { retryAfterSeconds, usageWaitSeconds } from './rate-limit-headers.ts'

/** Where the Graph API is, and how long to wait for it. */
export interface MetaOptions {
  /** The Graph API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v26.0`. */
  version: string
  timeoutMilliseconds: number
  /** Decides which days Meta still counts: a day beyond that looks like one without events. */
  now: () => Date
}

export const UNWRITABLE_MESSAGE =
  'The access token or the dataset id holds characters that no request can carry: enter it again.'

/** Null when no URL can carry the path. The error would quote it. */
export function buildGraphUrl(
  { baseUrl, version }: MetaOptions,
  path: readonly string[],
  query: Record<string, string> = {},
): URL | null {
  try {
    const url = new URL(`${baseUrl}/${[version, ...path.map(encodeURIComponent)].join('/')}`)
    url.search = new URLSearchParams(query).toString()
    return url
  } catch {
    return null
  }
}

/** Null when no request can carry the token. The error would quote it. */
export function buildGraphHeaders(accessToken: string): Headers | null {
  try {
    return new Headers({ authorization: `Bearer ${accessToken}` })
  } catch {
    return null
  }
}

/** How long the headers of an answer ask the client to wait, in seconds; 0 without a request. */
export function readWaitSeconds({ headers }: Response): number {
  const header = (name: string) => headers.get(name)
  return Math.max(usageWaitSeconds(header), retryAfterSeconds(header))
}

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

/** Meta repeats a malformed token in its message, and answers are stored and shown. */
export function redactToken(text: string, token: string): string {
  return token === '' ? text : text.replaceAll(token, '[redacted]')
}
