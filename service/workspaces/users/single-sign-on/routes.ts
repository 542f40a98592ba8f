import { EncryptJWT, jwtDecrypt } from 'jose'
import { limitAddresses } from '../../../runtime/http/client-address.ts'
import type { ServiceApp } from '../../../runtime/http/service-app.ts'
import { safeReturnPath } from '../../../runtime/pages/form-body.ts'
import {
  completeSignIn,
  forSignedIn,
  NOTICES,
  type PageReply,
  type PageRequest,
  PUBLIC,
  readReturnPath,
  SIGNED_IN,
  seeOther,
} from '../page-visit.ts'
import { CONFIRM_AT_PROVIDER_PATH, CONFIRM_PATH } from '../reauthentication.ts'
import { findCurrentUser } from '../session-store.ts'
import { readCookie, serializeCookie, sessionCookie } from '../session-token.ts'
import { SINGLE_SIGN_ON_CALLBACK, SINGLE_SIGN_ON_PATH } from '../sign-up-policy.ts'
import type { UsersContext } from '../users-context.ts'
import { providerErrorCode, type SignInSecrets } from './client.ts'
import {
  canConfirmAtProvider,
  confirmByIdentity,
  type LinkRefusal,
  signInByIdentity,
} from './linked-sign-in.ts'

/**
 * Sign-in with the OpenID provider of a company, and confirming one's identity there. They are
 * links, not forms: the policy of a page would have to name each address that a form leads to, and
 * a provider may redirect further.
 */
export function singleSignOnRoutes(app: ServiceApp, context: UsersContext): void {
  if (context.singleSignOn === null) return
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.get(SINGLE_SIGN_ON_PATH, PUBLIC, (request, reply) => {
      const returnTo = readReturnPath(request)
      // Another site may lead here, but only the person decides to sign in.
      if (request.headers['sec-fetch-site'] === 'cross-site') {
        return seeOther(reply, `/sign-in?${new URLSearchParams({ return_to: returnTo })}`)
      }
      return sendToProvider(context, { request, reply, returnTo, userId: null })
    })
    limited.get(
      CONFIRM_AT_PROVIDER_PATH,
      SIGNED_IN,
      forSignedIn(context, async visit => {
        const { user, request, reply } = visit
        const returnTo = readReturnPath(request)
        const isCrossSite = request.headers['sec-fetch-site'] === 'cross-site'
        if (isCrossSite || !(await canConfirmAtProvider(context, user))) {
          return seeOther(reply, CONFIRM_PATH)
        }
        const { userId, email } = user
        return sendToProvider(context, { request, reply, returnTo, userId, loginHint: email })
      }),
    )
    limited.get(SINGLE_SIGN_ON_CALLBACK, PUBLIC, (request, reply) =>
      handleAnswer(context, request, reply),
    )
  })
}

interface Departure {
  request: PageRequest
  reply: PageReply
  returnTo: string
  /** Who confirms their identity; null to sign in. */
  userId: number | null
  loginHint?: string
}

async function sendToProvider(context: UsersContext, departure: Departure): Promise<unknown> {
  const { request, reply, returnTo, userId, loginHint } = departure
  const { provider } = requireSingleSignOn(context)
  const isFresh = userId !== null
  try {
    const { url, secrets } = await provider.begin({ isFresh, ...(loginHint && { loginHint }) })
    const value = await sealAttempt(context, { ...secrets, returnTo, userId })
    reply.header('set-cookie', attemptCookie(context, value))
    return seeOther(reply, url)
  } catch (error) {
    return refuse(context, { request, reply, reason: providerErrorCode(error), isFresh })
  }
}

interface Attempt extends SignInSecrets {
  returnTo: string
  userId: number | null
}

/** Only the browser that began has the cookie, and it works once: an answer belongs to it alone. */
async function handleAnswer(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { provider } = requireSingleSignOn(context)
  const attempt = await openAttempt(context, request.headers.cookie)
  reply.header('set-cookie', attemptCookie(context, ''))
  if (!attempt) return refuse(context, { request, reply, reason: 'no_attempt', isFresh: false })
  const { requestedAt, userId, returnTo } = attempt
  const isFresh = userId !== null
  try {
    // The path is appended to our own origin; the Host header is not trusted.
    const url = `${context.publicOrigin()}${request.url}`
    const identity = await provider.finish(url, attempt, isFresh)
    if (isFresh) {
      const user = await findCurrentUser(context, request.headers)
      const isSame = user?.userId === userId
      const token = isSame && (await confirmByIdentity(context, user, { identity, requestedAt }))
      if (!token) {
        return refuse(context, { request, reply, reason: 'identity_unconfirmed', isFresh })
      }
      reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
      return seeOther(reply, returnTo)
    }
    const session = await signInByIdentity(context, { identity, request })
    if ('token' in session) {
      return completeSignIn(context, { request, reply, session, returnTo, method: 'oidc' })
    }
    return refuse(context, { request, reply, reason: session.outcome, isFresh })
  } catch (error) {
    return refuse(context, { request, reply, reason: providerErrorCode(error), isFresh })
  }
}

interface Refused {
  request: PageRequest
  reply: PageReply
  reason: string
  isFresh: boolean
}

/** Codes only: what the provider sent may name people. */
async function refuse(context: UsersContext, { request, reply, reason, isFresh }: Refused) {
  const details = { method: 'oidc', reason }
  await context.recordSecurityEvent({ type: 'sign_in.failed', user: null, request, details })
  if (isFresh) return seeOther(reply, NOTICES.addTo(CONFIRM_PATH, 'provider_unconfirmed'))
  const notice = REFUSALS.find(known => known === reason)
  return seeOther(reply, NOTICES.addTo('/sign-in', notice ?? 'provider_refused'))
}

const REFUSALS = [
  'email_unverified',
  'domain_not_allowed',
  'account_unverified',
  'another_identity',
  'sign_up_refused',
] as const satisfies readonly LinkRefusal[]

const COOKIE = 'signalbox_oidc'
const ATTEMPT_SECONDS = 600

function attemptCookie({ publicOrigin }: UsersContext, value: string): string {
  const secondsMax = value === '' ? 0 : ATTEMPT_SECONDS
  return serializeCookie(publicOrigin(), { name: COOKIE, value, secondsMax })
}

/** Encrypted, so that the browser cannot turn a sign-in into a confirmation, or move its time. */
function sealAttempt({ attemptKey, now }: UsersContext, attempt: Attempt): Promise<string> {
  const seconds = Math.floor(now().getTime() / 1_000)
  return new EncryptJWT({ ...attempt })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + ATTEMPT_SECONDS)
    .encrypt(attemptKey)
}

async function openAttempt(
  { attemptKey, now, publicOrigin }: UsersContext,
  header: string | undefined,
): Promise<(Attempt & { requestedAt: Date }) | null> {
  const sealed = readCookie(header, publicOrigin(), COOKIE)
  if (!sealed) return null
  try {
    const { payload } = await jwtDecrypt<Attempt>(sealed, attemptKey, { currentDate: now() })
    const { returnTo, iat = 0 } = payload
    return { ...payload, returnTo: safeReturnPath(returnTo), requestedAt: new Date(iat * 1_000) }
  } catch {
    return null
  }
}

function requireSingleSignOn({ singleSignOn }: UsersContext) {
  if (singleSignOn === null) throw new Error('no OpenID provider is set')
  return singleSignOn
}
