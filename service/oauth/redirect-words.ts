import { isLoopback } from './redirect-policy.ts'

/** Where a redirect URI leads, as a person can judge it. */
export function redirectWords(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (isLoopback(url)) return `a program on this computer (${url.host})`
  if (url.protocol === 'https:') return url.host
  return `a program on this device that opens ${url.protocol} links`
}

/** The same as a source of `form-action`: an origin, or a scheme of its own. */
export function formTarget(redirectUri: string): string {
  const url = new URL(redirectUri)
  return ['http:', 'https:'].includes(url.protocol) ? url.origin : url.protocol
}
