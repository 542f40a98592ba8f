import Type from 'typebox'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import {
  formSecret,
  formText,
  readForm,
  safeReturnPath,
  toFormErrors,
} from '../../runtime/pages/form-body.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import {
  completeSignIn,
  NOTICES,
  type PageReply,
  type PageRequest,
  PUBLIC,
  readReturnPath,
  returnField,
  seeOther,
  UNAUTHORIZED,
  UNPROCESSABLE,
} from './page-visit.ts'
import { supportsPasskeys } from './passkeys.ts'
import { deleteSession, findCurrentUser, findHeldSession } from './session-store.ts'
import {
  clearedSessionCookie,
  isLibrarySessionCookie,
  readLibrarySessionToken,
} from './session-token.ts'
import { type NewSession, type SignInOutcome, signIn, verifyNewSession } from './sign-in.ts'
import { emailSentPage, PROVIDER_ORIGINS, signInPage, signUpPage } from './sign-in-pages.ts'
import { signUp } from './sign-up.ts'
import {
  describeSignUpPolicy,
  requireOpenSignUp,
  type SignUpPolicy,
  SOCIAL_PROVIDERS,
} from './sign-up-policy.ts'
import type { UsersContext } from './users-context.ts'

/** The pages to sign in, sign up and sign out. Submitted forms are rate-limited by address. */
export function signInRoutes(app: ServiceApp, context: UsersContext): void {
  const { social } = context
  app.get('/sign-in', PUBLIC, async (request, reply) => {
    const returnTo = readReturnPath(request)
    if (await findCurrentUser(context, request.headers)) return seeOther(reply, returnTo)
    reply.headers(pageHeaders({ formTargets: social.map(name => PROVIDER_ORIGINS[name]) }))
    return signInPage({ ...signInOptions(context), returnTo, notice: NOTICES.find(request.query) })
  })
  app.get('/sign-up', PUBLIC, async request => {
    requireOpenSignUp(context.signUp)
    const returnTo = readReturnPath(request)
    return signUpPage({ returnTo, policy: describeSignUpPolicy(context.signUp) })
  })
  app.post('/sign-out', PUBLIC, async (request, reply) => {
    const { headers } = request
    const user =
      (await findCurrentUser(context, headers)) ?? (await findHeldSession(context, headers))
    if (user) {
      await deleteSession(context.database, user.userId, user.sessionId)
      await context.recordSecurityEvent({ type: 'sign_out', user, request })
    }
    reply.header('set-cookie', clearedSessionCookie(context.publicOrigin()))
    return seeOther(reply, NOTICES.addTo('/sign-in', 'signed_out'))
  })
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.post('/sign-in', PUBLIC, (request, reply) => postSignIn(context, request, reply))
    limited.post('/sign-up', PUBLIC, (request, reply) => postSignUp(context, request, reply))
  })
}

const SIGN_IN_FORM = Type.Object({
  email: formText(),
  password: formSecret(),
  return_to: returnField,
})

async function postSignIn(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { email, password, return_to } = readForm(request.body, SIGN_IN_FORM)
  const returnTo = safeReturnPath(return_to)
  const outcome = await signIn(context, {
    email,
    password,
    userAgent: request.headers['user-agent'],
    cookie: request.headers.cookie,
  })
  if ('token' in outcome) {
    const method = 'password'
    return completeSignIn(context, { request, reply, session: outcome, returnTo, method })
  }
  const details = { method: 'password', reason: outcome.outcome }
  await context.recordSecurityEvent({ type: 'sign_in.failed', user: { email }, request, details })
  const errors = { '': SIGN_IN_ERRORS[outcome.outcome] }
  const page = { ...signInOptions(context), returnTo, email, errors }
  return reply.code(UNAUTHORIZED).send(signInPage(page))
}

function signInOptions({ social, singleSignOn, signUp, publicOrigin }: UsersContext) {
  const isSignUpOpen = signUp.mode !== 'closed'
  const providerName = singleSignOn?.name ?? null
  const offersPasskeys = supportsPasskeys(publicOrigin())
  return { social, providerName, isSignUpOpen, offersPasskeys }
}

const SIGN_IN_ERRORS: Record<Exclude<SignInOutcome, NewSession>['outcome'], string> = {
  refused: 'Incorrect email or password. Check both, or sign in by an emailed link.',
  unverified:
    'Confirm your email first: follow the link that we sent, or request another at /verify.',
}

const SIGN_UP_FORM = Type.Object({ name: formText(), ...SIGN_IN_FORM.properties })

async function postSignUp(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { password, return_to, ...values } = readForm(request.body, SIGN_UP_FORM)
  const returnTo = safeReturnPath(return_to)
  try {
    await signUp(context, { ...values, password, cookie: request.headers.cookie })
  } catch (error) {
    const policy = describeSignUpPolicy(context.signUp)
    const page = { returnTo, policy, values, errors: toFormErrors(error) }
    return reply.code(UNPROCESSABLE).send(signUpPage(page))
  }
  const user = { email: values.email }
  await context.recordSecurityEvent({ type: 'sign_up.requested', user, request })
  return emailSentPage(SIGNED_UP[context.signUp.mode])
}

const LINK_SENT = 'We sent you a link. Follow it to confirm your email and sign in.'

/** The same text for every address, so that it does not tell who is invited. */
const SIGNED_UP: Record<SignUpPolicy['mode'], string> = {
  open: LINK_SENT,
  invited:
    'If this address is invited or has an account, we sent it a link. Follow it to sign in. ' +
    'Otherwise, ask an owner of the workspace for an invitation.',
  closed: LINK_SENT,
}

const REFUSED_PATH = NOTICES.addTo('/sign-in', 'sign_up_refused')
const FAILED_PATH = NOTICES.addTo('/sign-in', 'provider_refused')
const SOCIAL_FORM = Type.Object({ provider: formText(), return_to: returnField })

interface SocialReply extends PageReply {
  header(name: string, value: string | string[]): unknown
}

/**
 * Social sign-in: the redirect to the provider and the callback, which is the only route of the
 * library that is reachable over HTTP. Without a configured provider, neither exists.
 */
export function socialRoutes(app: ServiceApp, context: UsersContext): void {
  if (context.social.length === 0) return
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.post('/sign-in/social', PUBLIC, (request, reply) =>
      startSocialSignIn(context, request, reply),
    )
    limited.get('/auth/callback/:provider', PUBLIC, (request, reply) =>
      finishSocialSignIn(context, request, reply),
    )
  })
}

async function startSocialSignIn(context: UsersContext, request: PageRequest, reply: SocialReply) {
  const { provider: requested, return_to } = readForm(request.body, SOCIAL_FORM)
  const provider = SOCIAL_PROVIDERS.find(
    name => name === requested && context.social.includes(name),
  )
  if (!provider) throw Refusal.notFound('This sign-in provider is not available.')
  const { api } = await context.authLibrary()
  const { headers, response } = await api.signInSocial({
    body: {
      provider,
      disableRedirect: true,
      callbackURL: safeReturnPath(return_to),
      errorCallbackURL: FAILED_PATH,
    },
    headers: new Headers(),
    returnHeaders: true,
  })
  reply.header('set-cookie', headers.getSetCookie())
  return seeOther(reply, response.url ?? FAILED_PATH)
}

/** The library checks the state against its cookie, calls the provider and creates a session. */
async function finishSocialSignIn(context: UsersContext, request: PageRequest, reply: SocialReply) {
  const library = await context.authLibrary()
  // The path is appended to our own origin; the Host header is not trusted.
  const url = `${context.publicOrigin()}${request.url}`
  const headers = new Headers({ cookie: request.headers.cookie ?? '' })
  headers.set('user-agent', request.headers['user-agent'] ?? '')
  const response = await library.handler(new Request(url, { headers }))
  const cookies = response.headers.getSetCookie()
  const token = readLibrarySessionToken(cookies)
  const outcome = token === null ? null : await verifyNewSession(context, token)
  const { provider } = readPathParameters(request.params, 'provider')
  // A path may name anything; only the name of a provider goes into the log.
  const method = SOCIAL_PROVIDERS.find(name => name === provider)
  reply.header(
    'set-cookie',
    cookies.filter(cookie => !isLibrarySessionCookie(cookie)),
  )
  if (outcome === null || !('token' in outcome) || !method) {
    const details = { ...(method && { method }), reason: outcome?.outcome ?? 'provider_refused' }
    await context.recordSecurityEvent({ type: 'sign_in.failed', user: null, request, details })
    if (outcome?.outcome === 'unverified') return seeOther(reply, '/forgot')
    const isRefused = ACCOUNT_REFUSED.test(response.headers.get('location') ?? '')
    return seeOther(reply, isRefused ? REFUSED_PATH : FAILED_PATH)
  }
  const returnTo = toLocalPath(response.headers.get('location'), context.publicOrigin())
  return completeSignIn(context, { request, reply, session: outcome, returnTo, method })
}

/** The error of the library when our sign-up policy lets it create no account. */
const ACCOUNT_REFUSED = /[?&]error=unable_to_create_user\b/

function toLocalPath(location: string | null, origin: string): string {
  return safeReturnPath((location ?? '').replace(origin, ''))
}
