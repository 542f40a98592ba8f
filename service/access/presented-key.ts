import { bearerToken } from '../http/bearer.ts'
import { Refusal } from '../http/refusal.ts'
import { TOKEN_MARKS, tokenKind } from './token-format.ts'

/** Where a credential may stand. */
export interface Presentation {
  headers: { authorization?: string | undefined; origin?: string | undefined }
  query: unknown
}

/**
 * The publishable key that a request presents, known or not; null when it presents something else.
 * It may stand in the query, since a beacon carries no headers and the key is public. Anything else
 * there is 401, whatever the header says: a secret in a URL is in many logs by now.
 */
export function presentedKey({ headers, query }: Presentation): string | null {
  const { key } = query as { key?: unknown }
  if (key !== undefined && !isPublishable(key)) throw Refusal.unauthenticated()
  if (headers.authorization === undefined) return (key as string | undefined) ?? null
  const token = bearerToken(headers.authorization)
  return isPublishable(token) ? token : null
}

/**
 * Whether an answer is for a page to read. Not when the request brought a well-formed credential
 * of another kind: no page should get to work with one.
 */
export function isForPages({ headers }: Presentation): boolean {
  const token = bearerToken(headers.authorization)
  const kind = token === null ? null : tokenKind(token)
  return kind === null || kind === 'publishable'
}

/** A mistyped one is still no secret. */
function isPublishable(token: unknown): token is string {
  return typeof token === 'string' && token.startsWith(TOKEN_MARKS.publishable)
}
