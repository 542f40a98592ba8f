import { limitAddresses } from '../access/address-limits.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { readFormSecret, readFormText, safeReturnPath, toFormErrors } from '../pages/form-body.ts'
import { pageHeaders } from '../pages/serve-pages.ts'
import { signUp } from './account.ts'
import { SOCIAL_PROVIDERS } from './auth-library.ts'
import {
  findNotice,
  type PageReply,
  type PageRequest,
  replaceSession,
  seeOther,
} from './page-visit.ts'
import type { PeopleContext } from './people-context.ts'
import { deleteSession, findCurrentPerson } from './session-store.ts'
import { clearedSessionCookie } from './session-token.ts'
import { type SignInOutcome, signIn, verifyNewSession } from './sign-in.ts'
import { emailSentPage, PROVIDER_ORIGINS, signInPage, signUpPage } from './sign-in-pages.ts'

const PUBLIC = { config: { credential: 'none' } } as const
const UNAUTHORIZED = 401
const UNPROCESSABLE = 422

/** Signing in, up and out, as pages. Everything that is posted here counts by address. */
export function signInRoutes(app: ServiceApp, context: PeopleContext): void {
  const { social } = context
  app.get('/sign-in', PUBLIC, async (request, reply) => {
    const returnTo = safeReturnPath((request.query as ReturnQuery).return_to)
    if (await findCurrentPerson(context, request.headers)) return seeOther(reply, returnTo)
    reply.headers(pageHeaders({ formTargets: social.map(name => PROVIDER_ORIGINS[name]) }))
    return signInPage({ returnTo, social, notice: findNotice(request.query) })
  })
  app.get('/sign-up', PUBLIC, async request =>
    signUpPage({ returnTo: safeReturnPath((request.query as ReturnQuery).return_to) }),
  )
  app.post('/sign-out', PUBLIC, async (request, reply) => {
    const person = await findCurrentPerson(context, request.headers)
    if (person) await deleteSession(context.database, person.userId, person.sessionId)
    reply.header('set-cookie', clearedSessionCookie(context.publicOrigin()))
    return seeOther(reply, '/sign-in?done=signed_out')
  })
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.post('/sign-in', PUBLIC, (request, reply) => postSignIn(context, request, reply))
    limited.post('/sign-up', PUBLIC, (request, reply) => postSignUp(context, request, reply))
  })
}

interface ReturnQuery {
  return_to?: unknown
}

async function postSignIn(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const email = readFormText(request.body, 'email')
  const returnTo = safeReturnPath(readFormText(request.body, 'return_to', 2_000))
  const outcome = await signIn(context, {
    email,
    password: readFormSecret(request.body, 'password'),
    userAgent: request.headers['user-agent'],
  })
  if (outcome.outcome === 'signed_in') {
    await replaceSession(context, { request, reply, token: outcome.token })
    return seeOther(reply, returnTo)
  }
  const faults = { '': SIGN_IN_ERRORS[outcome.outcome] }
  const { social } = context
  return reply.code(UNAUTHORIZED).send(signInPage({ returnTo, social, email, errors: faults }))
}

const SIGN_IN_ERRORS: Record<Exclude<SignInOutcome['outcome'], 'signed_in'>, string> = {
  refused: 'Mail address and password do not belong together. Check both, or use a mailed link.',
  unverified:
    'Confirm your address first: follow the link in our mail, or ask for another at /verify.',
}

async function postSignUp(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const values = {
    name: readFormText(request.body, 'name'),
    email: readFormText(request.body, 'email'),
  }
  const returnTo = safeReturnPath(readFormText(request.body, 'return_to', 2_000))
  try {
    await signUp(context, { ...values, password: readFormSecret(request.body, 'password') })
  } catch (error) {
    const faults = toFormErrors(error)
    return reply.code(UNPROCESSABLE).send(signUpPage({ returnTo, values, errors: faults }))
  }
  return emailSentPage('We sent you a link. Follow it to confirm your address and to sign in.')
}

const FAILED_PATH = '/sign-in?done=provider_refused'

interface SocialReply extends PageReply {
  header(name: string, value: string | string[]): unknown
}

/**
 * Signing in with a social provider: the way there, and the way back, which is the only part of the
 * library that is reachable from outside. Without a provider in the settings there is neither.
 */
export function socialRoutes(app: ServiceApp, context: PeopleContext): void {
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

async function startSocialSignIn(context: PeopleContext, request: PageRequest, reply: SocialReply) {
  const wanted = readFormText(request.body, 'provider')
  const provider = SOCIAL_PROVIDERS.find(name => name === wanted && context.social.includes(name))
  if (!provider) throw Refusal.notFound('This way to sign in is not offered here.')
  const { api } = await context.authLibrary()
  const { headers, response } = await api.signInSocial({
    body: {
      provider,
      disableRedirect: true,
      callbackURL: safeReturnPath(readFormText(request.body, 'return_to', 2_000)),
      errorCallbackURL: FAILED_PATH,
    },
    headers: new Headers(),
    returnHeaders: true,
  })
  reply.header('set-cookie', headers.getSetCookie())
  return seeOther(reply, response.url ?? FAILED_PATH)
}

/** The library checks the state against its cookie, asks the provider, and opens a session. */
async function finishSocialSignIn(
  context: PeopleContext,
  request: PageRequest,
  reply: SocialReply,
) {
  const library = await context.authLibrary()
  // The path is appended to our own origin; what the request says of its host is not heard.
  const url = `${context.publicOrigin()}${request.url}`
  const headers = new Headers({ cookie: request.headers.cookie ?? '' })
  headers.set('user-agent', request.headers['user-agent'] ?? '')
  const answer = await library.handler(new Request(url, { headers }))
  const cookies = answer.headers.getSetCookie()
  const opened = cookies.find(isSessionCookie)
  const others = cookies.filter(cookie => !isSessionCookie(cookie))
  const token = opened === undefined ? null : readCookieToken(opened)
  const outcome = token === null ? null : await verifyNewSession(context, token)
  if (outcome?.outcome !== 'signed_in') {
    reply.header('set-cookie', others)
    return seeOther(reply, outcome?.outcome === 'unverified' ? '/forgot' : FAILED_PATH)
  }
  reply.header('set-cookie', others)
  await replaceSession(context, { request, reply, token: outcome.token })
  return seeOther(reply, toLocalPath(answer.headers.get('location'), context.publicOrigin()))
}

const SESSION_COOKIE = /^(?:__Secure-)?signalbox\.session_token=([^;]*)/

function isSessionCookie(cookie: string): boolean {
  return SESSION_COOKIE.test(cookie)
}

/** The library signs its cookie: the token, a point, the signature. We only need the token. */
function readCookieToken(cookie: string): string | null {
  const value = decodeURIComponent(SESSION_COOKIE.exec(cookie)?.[1] ?? '')
  return value.split('.', 1)[0] || null
}

function toLocalPath(location: string | null, origin: string): string {
  return safeReturnPath((location ?? '').replace(origin, ''))
}
