import { Refusal } from '../../runtime/http/refusal.ts'
import { isObject, objectOrEmpty, parseJsonObject } from '../../runtime/util/is-object.ts'
import type { AuthLibrary } from './auth-library.ts'
import { factorChangedEmail } from './mail/email-templates.ts'
import { sessionHeaders } from './second-factor.ts'
import { deletePasskey, listPasskeys, PASSKEYS_MAX } from './second-factor-store.ts'
import { type CurrentUser, clearSecondFactorUse } from './session-store.ts'
import {
  readAuthErrorCode,
  replaceSessionToken,
  type SignInOutcome,
  userAgentHeaders,
  verifyNewSession,
} from './sign-in.ts'
import type { UsersContext } from './users-context.ts'

/** What a page gives to the browser: the options, and the cookies that hold the challenge. */
export interface PasskeyCeremony {
  options: unknown
  cookies: string[]
}

/**
 * Browsers accept a passkey only for a host name (Web Authentication, 5.1.3): `localhost` works,
 * `127.0.0.1` does not.
 */
export function supportsPasskeys(publicOrigin: string): boolean {
  const { hostname } = new URL(publicOrigin)
  return !/^[\d.]+$|^\[/.test(hostname)
}

/** Starts adding a passkey. Throws a 422 when the user has too many. */
export async function startPasskeyRegistration(
  context: UsersContext,
  user: CurrentUser,
  token: string,
): Promise<PasskeyCeremony> {
  const { length } = await listPasskeys(context.database, user.userId)
  if (length >= PASSKEYS_MAX) {
    throw Refusal.ofFields({ '': [`You have ${PASSKEYS_MAX} passkeys. Remove one first.`] })
  }
  const { api } = await context.authLibrary()
  const { headers, response } = await api.generatePasskeyRegistrationOptions({
    query: {},
    headers: sessionHeaders(token),
    returnHeaders: true,
  })
  return { options: response, cookies: headers.getSetCookie() }
}

interface PasskeyResponse {
  /** What the browser created, as JSON text. */
  response: string
  /** The Cookie header, which holds the challenge. */
  cookie: string | undefined
}

interface PasskeyRegistration extends PasskeyResponse {
  token: string
  name: string
}

const NAME_CHARACTERS_MAX = 50

/**
 * Adds a passkey and tells the user by email. The session has used it, so it gets a new token.
 * Throws a 422 when the passkey is not acceptable.
 */
export async function finishPasskeyRegistration(
  context: UsersContext,
  user: CurrentUser,
  { response, cookie, token, name }: PasskeyRegistration,
): Promise<string> {
  const { api } = await context.authLibrary()
  try {
    await api.verifyPasskeyRegistration({
      body: { response: parseJsonObject(response) ?? {}, name: parsePasskeyName(name) },
      headers: sessionHeaders(token, cookie),
    })
  } catch (error) {
    if (!isRefusedPasskey(error)) throw error
    throw Refusal.ofFields({ '': ['This passkey was not accepted. Try again.'] })
  }
  context.mailer.send(factorChangedEmail(context.publicOrigin(), user, 'passkey_added'))
  const renewed = await replaceSessionToken(context, user.sessionId, true)
  if (renewed === null) throw new Refusal(403, 'Your session has ended. Sign in again.')
  return renewed
}

function parsePasskeyName(input: string): string {
  const name = input.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  return name.slice(0, NAME_CHARACTERS_MAX) || 'Passkey'
}

/** Starts a sign-in. For a session, also one that waits, only the user's own passkeys count. */
export async function startPasskeySignIn(
  context: UsersContext,
  token: string | null,
): Promise<PasskeyCeremony> {
  const { api } = await context.authLibrary()
  const { headers, response } = await api.generatePasskeyAuthenticationOptions({
    headers: token === null ? new Headers() : sessionHeaders(token),
    returnHeaders: true,
  })
  return {
    options: { ...response, userVerification: 'required' },
    cookies: headers.getSetCookie(),
  }
}

/** Signs in by a passkey, which is two factors: the device, and a PIN or biometrics. */
export async function finishPasskeySignIn(
  context: UsersContext,
  { response, cookie, userAgent }: PasskeyResponse & { userAgent: string | undefined },
): Promise<SignInOutcome> {
  const { api } = await context.authLibrary()
  const parsed = parseJsonObject(response)
  if (!isAuthenticationResponse(parsed)) return { outcome: 'refused' }
  const headers = userAgentHeaders(userAgent)
  headers.set('cookie', cookie ?? '')
  try {
    const { session } = await api.verifyPasskeyAuthentication({
      body: { response: parsed },
      headers,
    })
    return await verifyNewSession(context, session.token, { isSecondFactorUsed: true })
  } catch (error) {
    if (!isRefusedPasskey(error)) throw error
    return { outcome: 'refused' }
  }
}

/** Throws a 404 when the user has no such passkey. */
export async function removePasskey(
  context: UsersContext,
  user: CurrentUser,
  passkeyId: number,
): Promise<void> {
  const { database } = context
  if (!(await deletePasskey(database, user.userId, passkeyId))) {
    throw Refusal.notFound('Passkey not found.')
  }
  await clearSecondFactorUse(database, user.userId)
  context.mailer.send(factorChangedEmail(context.publicOrigin(), user, 'passkey_removed'))
}

type AuthenticationResponse = NonNullable<
  Parameters<AuthLibrary['api']['verifyPasskeyAuthentication']>[0]
>['body']['response']

/** The library checks the rest. */
function isAuthenticationResponse(parsed: unknown): parsed is AuthenticationResponse {
  const { id, response } = objectOrEmpty(parsed)
  return typeof id === 'string' && isObject(response)
}

/** The library reports a malformed registration as an error of its own. */
function isRefusedPasskey(error: unknown): boolean {
  const { body } = error as { body?: { code?: string } }
  return readAuthErrorCode(error) !== null || body?.code === 'FAILED_TO_VERIFY_REGISTRATION'
}
