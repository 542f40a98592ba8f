export interface AnswerText {
  text: string
  /** False when the body went on beyond the limit; the text is its beginning then. */
  isWhole: boolean
}

/** Reads an answer's body as far as `bytesMax`: a proxy's page may be anything. */
export async function answerText(response: Response, bytesMax: number): Promise<AnswerText> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > bytesMax) break
  }
  return { text: Buffer.concat(chunks).toString('utf8'), isWhole: bytes <= bytesMax }
}
