import { limitAddresses } from '../access/limit-addresses.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { formSecret, formText } from '../pages/form-body.ts'
import { pageHeaders } from '../pages/page-headers.ts'
import { returnPath } from '../pages/return-path.ts'
import { currentPerson } from './current-person.ts'
import { formFaults } from './form-faults.ts'
import { mailSentPage } from './mailed-link-pages.ts'
import { noticeOf } from './notices.ts'
import { replaceSession } from './open-session.ts'
import type { PeopleContext } from './people-context.ts'
import { type PageReply, type PageRequest, seeOther } from './personal-page.ts'
import { endedSessionCookie } from './session-cookie.ts'
import { deleteSession } from './session-store.ts'
import { type SignInOutcome, signIn } from './sign-in.ts'
import { PROVIDER_ORIGINS, signInPage, signUpPage } from './sign-in-page.ts'
import { signUp } from './sign-up.ts'

const OPEN = { config: { credential: 'none' } } as const
const UNAUTHORIZED = 401
const UNPROCESSABLE = 422

/** Signing in, up and out, as pages. Everything that is posted here counts by address. */
export function signInRoutes(app: ServiceApp, context: PeopleContext): void {
  const { social } = context
  app.get('/sign-in', OPEN, async (request, reply) => {
    const returnTo = returnPath((request.query as Query).return_to)
    if (await currentPerson(context, request.headers)) return seeOther(reply, returnTo)
    reply.headers(pageHeaders({ formTargets: social.map(name => PROVIDER_ORIGINS[name]) }))
    return signInPage({ returnTo, social, notice: noticeOf(request.query) })
  })
  app.get('/sign-up', OPEN, async request =>
    signUpPage({ returnTo: returnPath((request.query as Query).return_to) }),
  )
  app.post('/sign-out', OPEN, async (request, reply) => {
    const person = await currentPerson(context, request.headers)
    if (person) await deleteSession(context.database, person.userId, person.sessionId)
    reply.header('set-cookie', endedSessionCookie(context.publicOrigin()))
    return seeOther(reply, '/sign-in?done=signed_out')
  })
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.post('/sign-in', OPEN, (request, reply) => postSignIn(context, request, reply))
    limited.post('/sign-up', OPEN, (request, reply) => postSignUp(context, request, reply))
  })
}

interface Query {
  return_to?: unknown
}

async function postSignIn(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const email = formText(request.body, 'email')
  const returnTo = returnPath(formText(request.body, 'return_to', 2_000))
  const outcome = await signIn(context, {
    email,
    password: formSecret(request.body, 'password'),
    userAgent: request.headers['user-agent'],
  })
  if (outcome.outcome === 'signed_in') {
    await replaceSession(context, { request, reply, token: outcome.token })
    return seeOther(reply, returnTo)
  }
  const faults = { '': REFUSALS[outcome.outcome] }
  const { social } = context
  return reply.code(UNAUTHORIZED).send(signInPage({ returnTo, social, email, faults }))
}

const REFUSALS: Record<Exclude<SignInOutcome['outcome'], 'signed_in'>, string> = {
  refused: 'Mail address and password do not belong together. Check both, or use a mailed link.',
  unverified:
    'Confirm your address first: follow the link in our mail, or ask for another at /verify.',
}

async function postSignUp(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const values = { name: formText(request.body, 'name'), email: formText(request.body, 'email') }
  const returnTo = returnPath(formText(request.body, 'return_to', 2_000))
  try {
    await signUp(context, { ...values, password: formSecret(request.body, 'password') })
  } catch (error) {
    const faults = formFaults(error)
    return reply.code(UNPROCESSABLE).send(signUpPage({ returnTo, values, faults }))
  }
  return mailSentPage('We sent you a link. Follow it to confirm your address and to sign in.')
}
