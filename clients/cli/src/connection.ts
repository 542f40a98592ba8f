import { parseBaseUrl } from '../../sdks/typescript/src/base-url.ts'
import { CliError, createUsageError } from './cli-error.ts'
import { credentialPath, readCredential } from './credential-file.ts'
import type { CliHost } from './host.ts'

/** Where `npm start` listens. */
const DEFAULT_BASE_URL = 'http://127.0.0.1:3000/api/v1'

type BaseUrlSource = '--base-url' | 'SIGNALBOX_BASE_URL' | 'stored' | 'default'

/** Which service is called with which token, and why. */
export interface Connection {
  baseUrl: string
  baseUrlSource: BaseUrlSource
  token: string | null
  tokenSource: 'SIGNALBOX_TOKEN' | 'stored' | null
  /** Where a login stores its token. */
  path: string
  /** The base URL of the stored token; null when there is none. */
  storedFor: string | null
  storedToken: string | null
}

export const LOGIN_HINT = 'Set SIGNALBOX_TOKEN, or store a token with: signalbox auth login'

/**
 * SIGNALBOX_TOKEN wins over the stored token. The stored token is sent only to the service that it
 * was stored for, so that a wrong --base-url does not give it away.
 */
export async function resolveConnection(
  host: CliHost,
  baseUrlOption: string | undefined,
): Promise<Connection> {
  const { SIGNALBOX_TOKEN, SIGNALBOX_BASE_URL } = host.environment
  // A damaged file must not stop a run that does not need it.
  const stored = SIGNALBOX_TOKEN
    ? await readCredential(host).catch(() => null)
    : await readCredential(host)
  const [text, baseUrlSource] = firstGiven([
    [baseUrlOption, '--base-url'],
    [SIGNALBOX_BASE_URL, 'SIGNALBOX_BASE_URL'],
    [stored?.base_url, 'stored'],
  ])
  const baseUrl = checkBaseUrl(text)
  const isStoredUsed = !SIGNALBOX_TOKEN && stored?.base_url === baseUrl
  return {
    baseUrl,
    baseUrlSource,
    token: SIGNALBOX_TOKEN || (isStoredUsed ? stored.token : null),
    tokenSource: SIGNALBOX_TOKEN ? 'SIGNALBOX_TOKEN' : isStoredUsed ? 'stored' : null,
    path: credentialPath(host),
    storedFor: stored?.base_url ?? null,
    storedToken: stored?.token ?? null,
  }
}

/** The token. Throws with exit code 4 when there is none for this service. */
export function requireToken({ token, storedFor, baseUrl }: Connection): string {
  if (token !== null) return token
  if (storedFor === null) throw new CliError('authentication', 'There is no token.', LOGIN_HINT)
  const message = `The stored token is for ${storedFor}, so it is not sent to ${baseUrl}.`
  throw new CliError('authentication', message, LOGIN_HINT)
}

/** `sbx_sk_…9f2c`: enough to tell two tokens apart. */
export function maskToken(token: string): string {
  const kind = /^[a-z]+(_[a-z]+)+_/.exec(token)?.[0] ?? ''
  return token.length < kind.length + 16 ? `${kind}…` : `${kind}…${token.slice(-4)}`
}

function firstGiven(
  choices: readonly (readonly [string | undefined, BaseUrlSource])[],
): [string, BaseUrlSource] {
  for (const [text, source] of choices) if (text) return [text, source]
  return [DEFAULT_BASE_URL, 'default']
}

/** As the SDK reads it: the stored token is sent only where both are equal. */
function checkBaseUrl(text: string): string {
  const baseUrl = parseBaseUrl(text)
  if (baseUrl !== null) return baseUrl
  throw createUsageError(
    'The base URL must be an http or https URL without credentials, query and fragment.',
    'For example: --base-url https://events.example',
  )
}
