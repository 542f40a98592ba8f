import { limitAddresses } from '../access/limit-addresses.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { formText } from '../pages/form-body.ts'
import { returnPath } from '../pages/return-path.ts'
import { SOCIAL_PROVIDERS } from './auth-library.ts'
import { replaceSession } from './open-session.ts'
import type { PeopleContext } from './people-context.ts'
import { type PageReply, type PageRequest, seeOther } from './personal-page.ts'
import { openedSession } from './sign-in.ts'

const OPEN = { config: { credential: 'none' } } as const
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
    limited.post('/sign-in/social', OPEN, (request, reply) => leave(context, request, reply))
    limited.get('/auth/callback/:provider', OPEN, (request, reply) =>
      comeBack(context, request, reply),
    )
  })
}

async function leave(context: PeopleContext, request: PageRequest, reply: SocialReply) {
  const wanted = formText(request.body, 'provider')
  const provider = SOCIAL_PROVIDERS.find(name => name === wanted && context.social.includes(name))
  if (!provider) throw Refusal.notFound('This way to sign in is not offered here.')
  const { api } = await context.library()
  const { headers, response } = await api.signInSocial({
    body: {
      provider,
      disableRedirect: true,
      callbackURL: returnPath(formText(request.body, 'return_to', 2_000)),
      errorCallbackURL: FAILED_PATH,
    },
    headers: new Headers(),
    returnHeaders: true,
  })
  reply.header('set-cookie', headers.getSetCookie())
  return seeOther(reply, response.url ?? FAILED_PATH)
}

/** The library checks the state against its cookie, asks the provider, and opens a session. */
async function comeBack(context: PeopleContext, request: PageRequest, reply: SocialReply) {
  const library = await context.library()
  // The path is appended to our own origin; what the request says of its host is not heard.
  const url = `${context.publicOrigin()}${request.url}`
  const headers = new Headers({ cookie: request.headers.cookie ?? '' })
  headers.set('user-agent', request.headers['user-agent'] ?? '')
  const answer = await library.handler(new Request(url, { headers }))
  const cookies = answer.headers.getSetCookie()
  const opened = cookies.find(isSession)
  const others = cookies.filter(cookie => !isSession(cookie))
  const token = opened === undefined ? null : tokenIn(opened)
  const outcome = token === null ? null : await openedSession(context, token)
  if (outcome?.outcome !== 'signed_in') {
    reply.header('set-cookie', others)
    return seeOther(reply, outcome?.outcome === 'unverified' ? '/forgot' : FAILED_PATH)
  }
  reply.header('set-cookie', others)
  await replaceSession(context, { request, reply, token: outcome.token })
  return seeOther(reply, pathOf(answer.headers.get('location'), context.publicOrigin()))
}

const SESSION_COOKIE = /^(?:__Secure-)?signalbox\.session_token=([^;]*)/

function isSession(cookie: string): boolean {
  return SESSION_COOKIE.test(cookie)
}

/** The library signs its cookie: the token, a point, the signature. We only need the token. */
function tokenIn(cookie: string): string | null {
  const value = decodeURIComponent(SESSION_COOKIE.exec(cookie)?.[1] ?? '')
  return value.split('.', 1)[0] || null
}

function pathOf(location: string | null, origin: string): string {
  return returnPath((location ?? '').replace(origin, ''))
}
