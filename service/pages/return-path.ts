const CHARACTERS_MAX = 2_000

/**
 * Where to go after signing in, from a query or a form: a path of our own, else `fallback`. A value
 * that a browser could read as another place (`//evil`, `/\evil`, `https:`, a tab in between) is
 * none, so that a link to our sign-in page never ends elsewhere (CWE-601).
 */
export function returnPath(given: unknown, fallback = '/workspaces'): string {
  if (typeof given !== 'string' || given.length > CHARACTERS_MAX) return fallback
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(given) || given.includes('\\')) return fallback
  const ours = 'http://ours.invalid'
  const url = URL.canParse(given, ours) ? new URL(given, ours) : null
  if (url?.origin !== ours || url.pathname.startsWith('//')) return fallback
  return `${url.pathname}${url.search}${url.hash}`
}
