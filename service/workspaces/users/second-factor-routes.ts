import Type from 'typebox'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import {
  formSecret,
  formText,
  readForm,
  safeReturnPath,
  toFormErrors,
} from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import {
  completeSignIn,
  forSignedIn,
  NOTICES,
  type PageReply,
  type PageRequest,
  PUBLIC,
  readReturnPath,
  returnField,
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
import type { UsersContext } from './users-context.ts'

/** The code after the first factor, the authenticator app, and confirming one's identity. */
export function secondFactorRoutes(app: ServiceApp, context: UsersContext): void {
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
    handle: (context: UsersContext, visit: SignedInRequest) => Promise<unknown>,
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
  on('post', '/account/authenticator/remove', async (_, { user, request, reply }) => {
    requireRecentAuthentication(user, context.now())
    await removeApp(context, user)
    const details = { factor: 'authenticator_app' }
    await context.recordSecurityEvent({ type: 'second_factor.removed', user, request, details })
    return seeOther(reply, NOTICES.addTo('/account', 'app_removed'))
  })
  on('get', '/account/recovery-codes', (_, visit) => showNewRecoveryCodes(context, visit))
  on('post', '/account/recovery-codes', postRecoveryCodes)
}

/** The token of the request's session, whose user the caller has found by it. */
export function requireToken({ publicOrigin }: UsersContext, { headers }: PageRequest): string {
  const token = readSessionToken(headers.cookie, publicOrigin())
  if (token === null) throw new Error('a signed-in request has no session token')
  return token
}

const CODE_FORM = Type.Object({ code: formText() })
const PASSWORD_FORM = Type.Object({ password: formSecret() })
const CHALLENGE_FORM = Type.Object({ code: formText(), return_to: returnField })
const CONFIRM_FORM = Type.Object({
  password: formSecret(),
  code: formText(),
  return_to: returnField,
})

async function showChallenge(
  context: UsersContext,
  request: PageRequest,
  reply: PageReply,
  errors: FormErrors = {},
): Promise<unknown> {
  const user = await findHeldSession(context, request.headers)
  if (!user) return seeOther(reply, '/sign-in')
  const returnTo = readReturnPath(request)
  const passkeys = await listPasskeys(context.database, user.userId)
  const page = challengePage({ returnTo, offersPasskey: passkeys.length > 0, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postChallenge(context: UsersContext, request: PageRequest, reply: PageReply) {
  const user = await findHeldSession(context, request.headers)
  if (!user) return seeOther(reply, '/sign-in')
  const token = requireToken(context, request)
  const { code, return_to } = readForm(request.body, CHALLENGE_FORM)
  if (!(await isCodeCorrect(context, { userId: user.userId, token, code }))) {
    await context.recordSecurityEvent({ type: 'second_factor.failed', user, request })
    const errors = { code: 'This code is wrong, or it was used before.' }
    return showChallenge(context, request, reply, errors)
  }
  const renewed = await replaceSessionToken(context, user.sessionId, true)
  if (renewed === null) return seeOther(reply, '/sign-in')
  const returnTo = safeReturnPath(return_to)
  const session = { outcome: 'signed_in', token: renewed } as const
  const method = 'second_factor'
  return completeSignIn(context, { request, reply, session, returnTo, method })
}

async function showConfirm(
  context: UsersContext,
  { user, request, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  const returnTo = readReturnPath(request)
  const means = await findConfirmationMeans(context, user)
  const notice = NOTICES.find(request.query)
  const page = confirmPage({ user, means, returnTo, errors, notice })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postConfirm(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  const { return_to, ...proof } = readForm(request.body, CONFIRM_FORM)
  try {
    const token = await confirmIdentity(context, user, {
      ...proof,
      token: requireToken(context, request),
    })
    reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
    return seeOther(reply, safeReturnPath(return_to))
  } catch (error) {
    return showConfirm(context, visit, toFormErrors(error))
  }
}

async function showAppSetup(
  context: UsersContext,
  { user, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  requireRecentAuthentication(user, context.now())
  const hasPassword = (await findPasswordHash(context.database, user.userId)) !== null
  const page = appSetupPage({ user, hasPassword, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postAppSetup(context: UsersContext, visit: SignedInRequest) {
  const { user, request } = visit
  requireRecentAuthentication(user, context.now())
  try {
    const { password } = readForm(request.body, PASSWORD_FORM)
    const token = requireToken(context, request)
    return appSecretPage({ user, uri: await startAppSetup(context, user, { token, password }) })
  } catch (error) {
    return showAppSetup(context, visit, toFormErrors(error))
  }
}

async function postFirstCode(context: UsersContext, { user, request, reply }: SignedInRequest) {
  requireRecentAuthentication(user, context.now())
  try {
    const { recoveryCodes, token } = await finishAppSetup(context, user, {
      token: requireToken(context, request),
      code: readForm(request.body, CODE_FORM).code,
    })
    reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
    const details = { factor: 'authenticator_app' }
    await context.recordSecurityEvent({ type: 'second_factor.added', user, request, details })
    return recoveryCodesPage(user, recoveryCodes)
  } catch (error) {
    const page = appSecretPage({ user, uri: null, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(page)
  }
}

async function showNewRecoveryCodes(
  context: UsersContext,
  { user, reply }: SignedInRequest,
  errors: FormErrors = {},
) {
  requireRecentAuthentication(user, context.now())
  const hasPassword = (await findPasswordHash(context.database, user.userId)) !== null
  const page = newRecoveryCodesPage(user, { hasPassword, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

async function postRecoveryCodes(context: UsersContext, visit: SignedInRequest) {
  const { user, request } = visit
  requireRecentAuthentication(user, context.now())
  try {
    const { password } = readForm(request.body, PASSWORD_FORM)
    const token = requireToken(context, request)
    const codes = await replaceRecoveryCodes(context, user, { token, password })
    await context.recordSecurityEvent({ type: 'recovery_codes.replaced', user, request })
    return recoveryCodesPage(user, codes)
  } catch (error) {
    return showNewRecoveryCodes(context, visit, toFormErrors(error))
  }
}
