import { limitAddresses } from '../access/limit-addresses.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { formSecret, formText } from '../pages/form-body.ts'
import { formFaults } from './form-faults.ts'
import {
  type AskPage,
  askForLinkPage,
  badLinkPage,
  followLinkPage,
  mailSentPage,
  resetPage,
  verifyPage,
} from './mailed-link-pages.ts'
import { askForLink, followSignInLink, type LinkKind, resetPassword } from './mailed-links.ts'
import { replaceSession } from './open-session.ts'
import type { PeopleContext } from './people-context.ts'
import { type PageReply, type PageRequest, seeOther } from './personal-page.ts'
import { verifyAddress } from './verify-address.ts'

const OPEN = { config: { credential: 'none' } } as const
const BAD_REQUEST = 400
const UNAUTHORIZED = 401
const UNPROCESSABLE = 422
const TOKEN_CHARACTERS_MAX = 1_000

/** The pages that mailed links lead to, and those that ask for one. */
export function mailedLinkRoutes(app: ServiceApp, context: PeopleContext): void {
  app.get('/verify', OPEN, async request => {
    const token = tokenOf(request.query)
    return token === null ? askForLinkPage(ASK_PAGES.verification) : verifyPage(token)
  })
  app.get('/reset', OPEN, async request => {
    const token = tokenOf(request.query)
    return token === null ? askForLinkPage(ASK_PAGES.reset) : resetPage(token)
  })
  app.get('/magic', OPEN, async request => {
    const token = tokenOf(request.query)
    return token === null ? askForLinkPage(ASK_PAGES.sign_in) : followLinkPage(token)
  })
  app.get('/forgot', OPEN, async () => askForLinkPage(ASK_PAGES.reset))
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    const asking = (kind: LinkKind) => (request: PageRequest, reply: PageReply) =>
      postAsk(context, kind, { request, reply })
    limited.post('/verify/ask', OPEN, asking('verification'))
    limited.post('/forgot', OPEN, asking('reset'))
    limited.post('/magic', OPEN, asking('sign_in'))
    limited.post('/verify', OPEN, (request, reply) => postVerify(context, request, reply))
    limited.post('/reset', OPEN, (request, reply) => postReset(context, request, reply))
    limited.post('/magic/sign-in', OPEN, (request, reply) => postFollow(context, request, reply))
  })
}

const ASK_PAGES: Record<LinkKind, AskPage> = {
  verification: {
    title: 'Confirm your address',
    sentence: 'We mail you another link, if there is an account that waits for one.',
    action: '/verify/ask',
    button: 'Mail me a link',
  },
  reset: {
    title: 'Choose a new password',
    sentence: 'We mail you a link to choose a new password, if there is an account.',
    action: '/forgot',
    button: 'Mail me a link',
  },
  sign_in: {
    title: 'Sign in by mail',
    sentence: 'We mail you a link that signs you in, if there is an account.',
    action: '/magic',
    button: 'Mail me a link',
  },
}

interface Visit {
  request: PageRequest
  reply: PageReply
}

async function postAsk(context: PeopleContext, kind: LinkKind, { request, reply }: Visit) {
  const email = formText(request.body, 'email')
  try {
    await askForLink(context, kind, email)
  } catch (error) {
    const asked = { ...ASK_PAGES[kind], email, faults: formFaults(error) }
    return reply.code(UNPROCESSABLE).send(askForLinkPage(asked))
  }
  return mailSentPage('If there is an account with this address, a link is on its way to it.')
}

async function postVerify(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = formText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const result = await verifyAddress(context, {
    token,
    password: formSecret(request.body, 'password'),
    userAgent: request.headers['user-agent'],
  })
  switch (result.outcome) {
    case 'signed_in':
      await replaceSession(context, { request, reply, token: result.token })
      return seeOther(reply, '/workspaces')
    case 'bad_link':
    case 'unverified':
      return reply.code(BAD_REQUEST).send(badLinkPage('/verify'))
    case 'refused': {
      const faults = { password: 'This is not the password of the account.' }
      return reply.code(UNAUTHORIZED).send(verifyPage(token, faults))
    }
  }
}

async function postReset(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = formText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const password = formSecret(request.body, 'password')
  try {
    const isDone = await resetPassword(context, { token, password })
    if (isDone) return seeOther(reply, '/sign-in?done=password_reset')
    return reply.code(BAD_REQUEST).send(badLinkPage('/forgot'))
  } catch (error) {
    return reply.code(UNPROCESSABLE).send(resetPage(token, formFaults(error)))
  }
}

async function postFollow(context: PeopleContext, request: PageRequest, reply: PageReply) {
  const token = formText(request.body, 'token', TOKEN_CHARACTERS_MAX)
  const result = await followSignInLink(context, token, request.headers['user-agent'])
  if (result.outcome !== 'signed_in') return reply.code(BAD_REQUEST).send(badLinkPage('/magic'))
  await replaceSession(context, { request, reply, token: result.token })
  return seeOther(reply, '/workspaces')
}

function tokenOf(query: unknown): string | null {
  const token = (query as { token?: unknown } | null)?.token
  return typeof token === 'string' && token !== '' ? token : null
}
