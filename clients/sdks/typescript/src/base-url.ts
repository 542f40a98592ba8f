/**
 * A base URL without a slash at its end, so that equal addresses are equal text; with the path of
 * the API if it has none. Null unless it is http or https without credentials, query and fragment.
 */
export function parseBaseUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const isBase = url && /^https?:$/.test(url.protocol) && `${url.search}${url.hash}` === ''
  if (!isBase || `${url.username}${url.password}` !== '') return null
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path === '' ? '/api/v1' : path}`
}
