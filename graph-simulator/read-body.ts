import type { IncomingMessage } from 'node:http'

/** A sender that goes on this far beyond the limit is cut off instead of being answered. */
const OVERRUN_FACTOR = 4

/**
 * The whole body of a request. A body over the limit is read to its end but not kept, so that the
 * sender gets to see the answer; 'gone' means that the sender has left or was cut off.
 */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | 'too_large' | 'gone'> {
  let chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else chunks = []
      if (bytes > bytesMax * OVERRUN_FACTOR) return 'gone'
    }
  } catch {
    return 'gone'
  }
  return bytes > bytesMax ? 'too_large' : Buffer.concat(chunks, bytes)
}
