/** Where Meta is, and how long to wait for it. */
export interface MetaOptions {
  /** The Graph API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v26.0`. */
  version: string
  timeoutMilliseconds: number
  /** Tells how far back the counts reach: a day out of reach looks like one without events. */
  now: () => Date
}

interface ResponseText {
  text: string
  /** False when the body went on beyond the limit; the text is its beginning then. */
  isComplete: boolean
}

/** Reads an answer's body as far as `bytesMax`: a proxy's page may be anything. */
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
