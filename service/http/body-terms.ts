declare module 'fastify' {
  interface FastifyRequest {
    /** How the body of this request is to be read, where it is not as usual. */
    bodyTerms: BodyTerms | null
    /** How long the body was, once it is read. */
    bodyBytes: number
  }
}

export interface BodyTerms {
  /** JSON may come as text/plain: the only kind that a page can send while it goes away. */
  mayBeText: boolean
  /**
   * Asked of the exact bytes before anybody reads them; of none when there is no body. Throws a
   * Refusal. Null when nobody asks, or when it was answered.
   */
  inspect: ((bytes: Buffer) => Promise<void>) | null
}

/** Has the bytes inspected, once. */
export async function inspectBody(
  { bodyTerms }: { bodyTerms: BodyTerms | null },
  bytes: Buffer,
): Promise<void> {
  if (!bodyTerms?.inspect) return
  const { inspect } = bodyTerms
  bodyTerms.inspect = null
  await inspect(bytes)
}
