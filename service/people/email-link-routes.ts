import { limitAddresses } from '../access/address-limits.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { readFormSecret, readFormText, toFormErrors } from '../pages/form-body.ts'
import { verifyEmail } from './account.ts'
import {
  type EmailLinkKind,
  requestEmailLink,
  resetPassword,
  signInByEmailLink,
} from './email-links.ts'
import { type PageReply, type PageRequest, replaceSession, seeOther } from './page-visit.ts'
import type { PeopleContext } from './people-context.ts'
import {
  confirmSignInPage,
  emailSentPage,
  invalidLinkPage,
  type RequestLinkPage,
  requestLinkPage,
  resetPasswordPage,
  verifyEmailPage,
} from './sign-in-pages.ts'

const PUBLIC = { config: { credential: 'none' } } as const
const BAD_REQUEST = 400
const UNAUTHORIZED = 401
const UNPROCESSABLE = 422
const TOKEN_CHARACTERS_MAX = 1_000

/** The pages that mailed links lead to, and those that ask for one. */
export function emailLinkRoutes(app: ServiceApp, context: PeopleContext): void {
  app.get('/verify', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null
      ? requestLinkPage(REQUEST_LINK_PAGES.verification)
      : verifyEmailPage(token)
  })
  app.get('/reset', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null ? requestLinkPage(REQUEST_LINK_PAGES.reset) : resetPasswordPage(token)
  })
  app.get('/magic', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null ? requestLinkPage(REQUEST_LINK_PAGES.sign_in) : confirmSignInPage(token)
  })
  app.get('/forgot', PUBLIC, async () => requestLinkPage(REQUEST_LINK_PAGES.reset))
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    const asking = (kind: EmailLinkKind) => (request: PageRequest, reply: PageReply) =>
      postLinkRequest(context, kind, { request, reply })
    limited.post('/verify/ask', PUBLIC, asking('verification'))
    limited.post('/forgot', PUBLIC, asking('reset'))
    limited.post('/magic', PUBLIC, asking('sign_in'))
    limited.post('/verify', PUBLIC, (request, reply) => postVerify(context, request, reply))
    limited.post('/reset', PUBLIC, (request, reply) => postReset(context, request, reply))
    limited.post('/magic/sign-in', PUBLIC, (request, reply) =>
      postSignInLink(context, request, reply),
    )
  })
}

const REQUEST_LINK_PAGES: Record<EmailLinkKind, RequestLinkPage> = {
  verification: {
    title: 'Confirm your address',
    description: 'We mail you another link, if there is an account that waits for one.',
    action: '/verify/ask',
    button: 'Mail me a link',
  },
  reset: {
    title: 'Choose a new password',
    description: 'We mail you a link to choose a new password, if there is an account.',
    action: '/forgot',
    button: 'Mail me a link',
  },
  sign_in: {
    title: 'Sign in by mail',
    description: 'We mail you a link that signs you in, if there is an account.',
    action: '/magic',
    button: 'Mail me a link',
  },
}

interface Visit {
  request: PageRequest
  reply: PageReply
}

async function postLinkRequest(
  context: PeopleContext,
  kind: EmailLinkKind,
  { request, reply }: Visit,
) {
  const email = readFormText(request.body, 'email')
  try {
    await requestEmailLink(context, kind, email)
  } catch (error) {
    const asked = { ...REQUEST_LINK_PAGES[kind], email, faults: toFormErrors(error) }
    return reply.code(UNPROCESSABLE).send(requestLinkPage(asked))
  }
  return emailSentPage('If there is an account with this address, a link is on its way to it.')
}

async function postVerify(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = readFormText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const result = await verifyEmail(context, {
    token,
    password: readFormSecret(request.body, 'password'),
    userAgent: request.headers['user-agent'],
  })
  switch (result.outcome) {
    case 'signed_in':
      await replaceSession(context, { request, reply, token: result.token })
      return seeOther(reply, '/workspaces')
    case 'bad_link':
    case 'unverified':
      return reply.code(BAD_REQUEST).send(invalidLinkPage('/verify'))
    case 'refused': {
      const faults = { password: 'This is not the password of the account.' }
      return reply.code(UNAUTHORIZED).send(verifyEmailPage(token, faults))
    }
  }
}

async function postReset(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = readFormText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const password = readFormSecret(request.body, 'password')
  try {
    const isDone = await resetPassword(context, { token, password })
    if (isDone) return seeOther(reply, '/sign-in?done=password_reset')
    return reply.code(BAD_REQUEST).send(invalidLinkPage('/forgot'))
  } catch (error) {
    return reply.code(UNPROCESSABLE).send(resetPasswordPage(token, toFormErrors(error)))
  }
}

async function postSignInLink(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = readFormText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const result = await signInByEmailLink(context, token, request.headers['user-agent'])
  if (result.outcome !== 'signed_in') return reply.code(BAD_REQUEST).send(invalidLinkPage('/magic'))
  await replaceSession(context, { request, reply, token: result.token })
  return seeOther(reply, '/workspaces')
}

function readToken(query: unknown): string | null {
  const token = (query as { token?: unknown } | null)?.token
  return typeof token === 'string' && token !== '' ? token : null
}
