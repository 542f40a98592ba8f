import type { ReportBody } from './report-answer.ts'

/**
 * Where the next page is; null after the last one. Only the query may differ from what was asked
 * first: an answer must not send our token to another address. Meta writes the token into the
 * address; it is taken out again, since it travels in a header (Graph API, Paginated Results).
 */
export function nextPage({ paging }: ReportBody, first: URL): URL | null | 'elsewhere' {
  const next = (paging as { next?: unknown } | null | undefined)?.next
  if (next === undefined || next === null) return null
  const place = typeof next === 'string' ? URL.parse(next) : null
  if (!place || place.origin !== first.origin || place.pathname !== first.pathname)
    return 'elsewhere'
  if (place.username !== '' || place.password !== '') return 'elsewhere'
  place.searchParams.delete('access_token')
  place.hash = ''
  return place
}
