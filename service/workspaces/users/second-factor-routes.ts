import { limitAddresses } from '../../runtime/http/address-limits.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import {
  readFormSecret,
  readFormText,
  safeReturnPath,
  toFormErrors,
} from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import {
  completeSignIn,
  forSignedIn,
  type PageReply,
  type PageRequest,
  PUBLIC,
  SECOND_FACTOR_PATH,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from './page-visit.ts'
import {
  CONFIRM_PATH,
  confirmIdentity,
  findConfirmationMeans,
  requireRecentAuthentication,
} from './reauthentication.ts'
import {
  finishAppSetup,
  isCodeCorrect,
  removeApp,
  replaceRecoveryCodes,
  startAppSetup,
} from './second-factor.ts'
import {
  appSecretPage,
  appSetupPage,
  challengePage,
  confirmPage,
  newRecoveryCodesPage,
  recoveryCodesPage,
} from './second-factor-pages.ts'
import { listPasskeys } from './second-factor-store.ts'
import { findHeldSession } from './session-store.ts'
import { readSessionToken, sessionCookie } from './session-token.ts'
import { replaceSessionToken } from './sign-in.ts'
import { findPasswordHash } from './user-store.ts'
import type { PeopleContext } from './users-context.ts'

/** The code after the first factor, the authenticator app, and confirming one's identity. */
export function secondFactorRoutes(app: ServiceApp, context: PeopleContext): void {
  app.get(SECOND_FACTOR_PATH, PUBLIC, (request, reply) => showChallenge(context, request, reply))
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.post(SECOND_FACTOR_PATH, PUBLIC, (request, reply) =>
      postChallenge(context, request, reply),
    )
  })
  const on = (
    method: 'get' | 'post',
    url: string,
    handle: (context: PeopleContext, visit: SignedInRequest) => Promise<unknown>,
  ) =>
    app[method](
      url,
      SIGNED_IN,
      forSignedIn(context, visit => handle(context, visit)),
    )
  on('get', CONFIRM_PATH, async (_, visit) => showConfirm(context, visit))
  on('post', CONFIRM_PATH, postConfirm)
  on('get', '/account/authenticator', (_, visit) => showAppSetup(context, visit))
  on('post', '/account/authenticator', postAppSetup)
  on('post', '/account/authenticator/verify', postFirstCode)
  on('post', '/account/authenticator/remove', async (_, { person, request, reply }) => {
    requireRecentAuthentication(person, context.now())
    await removeApp(context, person)
    const details = { factor: 'authenticator_app' }
    await context.recordSecurityEvent({ type: 'second_factor.removed', person, request, details })
    return seeOther(reply, '/account?done=app_removed')
  })
  on('get', '/account/recovery-codes', (_, visit) => showNewRecoveryCodes(context, visit))
  on('post', '/account/recovery-codes', postRecoveryCodes)
}

/** The token of the request's session, whose person the caller has found by it. */
export function requireToken({ publicOrigin }: PeopleContext, { headers }: PageRequest): string {
  const token = readSessionToken(headers.cookie, publicOrigin())
  if (token === null) throw new Error('a signed-in request has no session token')
  return token
}

async function showChallenge(
  context: PeopleContext,
  request: PageRequest,
  reply: PageReply,
  errors: FormErrors = {},
): Promise<unknown> {
  const person = await findHeldSession(context, request.headers)
  if (!person) return seeOther(reply, '/sign-in')
  const { return_to: target } = request.query as { return_to?: unknown }
  const returnTo = safeReturnPath(readFormText(request.body, 'return_to', 2_000) || target)
  const passkeys = await listPasskeys(context.database, person.userId)
  const page = challengePage({ returnTo, offersPasskey: passkeys.length > 0, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postChallenge(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const person = await findHeldSession(context, request.headers)
  if (!person) return seeOther(reply, '/sign-in')
  const token = requireToken(context, request)
  const code = readFormText(request.body, 'code')
  if (!(await isCodeCorrect(context, { userId: person.userId, token, code }))) {
    await context.recordSecurityEvent({ type: 'second_factor.failed', person, request })
    const errors = { code: 'This code is wrong, or it was used before.' }
    return showChallenge(context, request, reply, errors)
  }
  const renewed = await replaceSessionToken(context, person.sessionId, true)
  if (renewed === null) return seeOther(reply, '/sign-in')
  const returnTo = safeReturnPath(readFormText(request.body, 'return_to', 2_000))
  const session = { outcome: 'signed_in', token: renewed } as const
  const method = 'second_factor'
  return completeSignIn(context, { request, reply, session, returnTo, method })
}

async function showConfirm(
  context: PeopleContext,
  { person, request, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  const { return_to: target } = request.query as { return_to?: unknown }
  const returnTo = safeReturnPath(readFormText(request.body, 'return_to', 2_000) || target)
  const means = await findConfirmationMeans(context, person)
  const page = confirmPage({ person, means, returnTo, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postConfirm(context: PeopleContext, visit: SignedInRequest) {
  const { person, request, reply } = visit
  try {
    const token = await confirmIdentity(context, person, {
      token: requireToken(context, request),
      password: readFormSecret(request.body, 'password'),
      code: readFormText(request.body, 'code'),
    })
    reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
    return seeOther(reply, safeReturnPath(readFormText(request.body, 'return_to', 2_000)))
  } catch (error) {
    return showConfirm(context, visit, toFormErrors(error))
  }
}

async function showAppSetup(
  context: PeopleContext,
  { person, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  requireRecentAuthentication(person, context.now())
  const hasPassword = (await findPasswordHash(context.database, person.userId)) !== null
  const page = appSetupPage({ person, hasPassword, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postAppSetup(context: PeopleContext, visit: SignedInRequest) {
  const { person, request } = visit
  requireRecentAuthentication(person, context.now())
  try {
    const password = readFormSecret(request.body, 'password')
    const token = requireToken(context, request)
    return appSecretPage({ person, uri: await startAppSetup(context, person, { token, password }) })
  } catch (error) {
    return showAppSetup(context, visit, toFormErrors(error))
  }
}

async function postFirstCode(context: PeopleContext, { person, request, reply }: SignedInRequest) {
  requireRecentAuthentication(person, context.now())
  try {
    const { recoveryCodes, token } = await finishAppSetup(context, person, {
      token: requireToken(context, request),
      code: readFormText(request.body, 'code'),
    })
    reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
    const details = { factor: 'authenticator_app' }
    await context.recordSecurityEvent({ type: 'second_factor.added', person, request, details })
    return recoveryCodesPage(person, recoveryCodes)
  } catch (error) {
    const page = appSecretPage({ person, uri: null, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(page)
  }
}

async function showNewRecoveryCodes(
  context: PeopleContext,
  { person, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  requireRecentAuthentication(person, context.now())
  const hasPassword = (await findPasswordHash(context.database, person.userId)) !== null
  const page = newRecoveryCodesPage(person, { hasPassword, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postRecoveryCodes(context: PeopleContext, visit: SignedInRequest) {
  const { person, request } = visit
  requireRecentAuthentication(person, context.now())
  try {
    const password = readFormSecret(request.body, 'password')
    const token = requireToken(context, request)
    const codes = await replaceRecoveryCodes(context, person, { token, password })
    await context.recordSecurityEvent({ type: 'recovery_codes.replaced', person, request })
    return recoveryCodesPage(person, codes)
  } catch (error) {
    return showNewRecoveryCodes(context, visit, toFormErrors(error))
  }
}
