import { html } from 'ghtml'
import Type from 'typebox'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import {
  formSecret,
  formText,
  readForm,
  safeReturnPath,
  toFormErrors,
} from '../../runtime/pages/form-body.ts'
import { errorSummary, type FormErrors, textField } from '../../runtime/pages/form-controls.ts'
import { PASSKEY_SCRIPT_PATH, renderPage } from '../../runtime/pages/layout.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import {
  completeSignIn,
  forSignedIn,
  NOTICES,
  type PageReply,
  type PageRequest,
  PUBLIC,
  readReturnPath,
  returnField,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNAUTHORIZED,
  UNPROCESSABLE,
} from './page-visit.ts'
import {
  finishPasskeyRegistration,
  finishPasskeySignIn,
  removePasskey,
  startPasskeyRegistration,
  startPasskeySignIn,
} from './passkeys.ts'
import { requireRecentAuthentication } from './reauthentication.ts'
import { requireToken } from './second-factor-routes.ts'
import { type CurrentUser, findCurrentUser, findHeldSession } from './session-store.ts'
import { sessionCookie } from './session-token.ts'
import type { UsersContext } from './users-context.ts'

type CookieReply = PageReply & { header(name: string, value: string | string[]): unknown }
type ScriptReply = CookieReply & { headers(values: Record<string, string>): unknown }

/** Signing in by a passkey, adding one and removing one. These pages run a script. */
export function passkeyRoutes(app: ServiceApp, context: UsersContext): void {
  app.register(async limited => {
    // Each page stores a challenge, so views count as well.
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    limited.get('/sign-in/passkey', PUBLIC, (request, reply) =>
      showPasskeySignIn(context, request, reply),
    )
    limited.post('/sign-in/passkey', PUBLIC, (request, reply) =>
      postPasskeySignIn(context, request, reply),
    )
  })
  app.get('/account/passkeys/new', SIGNED_IN, (request, reply) =>
    forSignedIn(context, visit => showNewPasskey(context, visit, reply))(request, reply),
  )
  app.post('/account/passkeys', SIGNED_IN, (request, reply) =>
    forSignedIn(context, visit => postPasskey(context, visit, reply))(request, reply),
  )
  app.post(
    '/account/passkeys/:passkey/remove',
    SIGNED_IN,
    forSignedIn(context, async ({ user, request, reply }) => {
      requireRecentAuthentication(user, context.now())
      const id = parseRowId(readPathParameters(request.params, 'passkey').passkey) ?? 0
      await removePasskey(context, user, id)
      const details = { factor: 'passkey' }
      await context.recordSecurityEvent({ type: 'second_factor.removed', user, request, details })
      return seeOther(reply, NOTICES.addTo('/account', 'passkey_removed'))
    }),
  )
}

async function showPasskeySignIn(
  context: UsersContext,
  request: PageRequest,
  reply: ScriptReply,
  errors: FormErrors = {},
): Promise<unknown> {
  const returnTo = readReturnPath(request)
  const { headers } = request
  const user =
    (await findCurrentUser(context, headers)) ?? (await findHeldSession(context, headers))
  const token = user && requireToken(context, request)
  const { options, cookies } = await startPasskeySignIn(context, token)
  reply.headers(pageHeaders({ hasScript: true }))
  reply.header('set-cookie', cookies)
  const page = passkeySignInPage({ options, returnTo, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNAUTHORIZED).send(page)
}

const SIGN_IN_FORM = Type.Object({ response: formSecret(), return_to: returnField })

async function postPasskeySignIn(context: UsersContext, request: PageRequest, reply: ScriptReply) {
  const { response, return_to } = readForm(request.body, SIGN_IN_FORM)
  const outcome = await finishPasskeySignIn(context, {
    response,
    cookie: request.headers.cookie,
    userAgent: request.headers['user-agent'],
  })
  if (!('token' in outcome)) {
    const details = { method: 'passkey', reason: outcome.outcome }
    await context.recordSecurityEvent({ type: 'sign_in.failed', user: null, request, details })
    const errors = { '': 'This passkey is not known here. Try again, or sign in another way.' }
    return showPasskeySignIn(context, request, reply, errors)
  }
  const returnTo = safeReturnPath(return_to)
  const signIn = { session: outcome, returnTo, method: 'passkey' } as const
  return completeSignIn(context, { request, reply, ...signIn })
}

async function showNewPasskey(
  context: UsersContext,
  { user, request }: SignedInRequest,
  reply: ScriptReply,
  errors: FormErrors = {},
): Promise<unknown> {
  requireRecentAuthentication(user, context.now())
  const token = requireToken(context, request)
  const { options, cookies } = await startPasskeyRegistration(context, user, token)
  reply.headers(pageHeaders({ hasScript: true }))
  reply.header('set-cookie', cookies)
  const page = newPasskeyPage({ user, options, errors })
  return reply.code(Object.keys(errors).length === 0 ? 200 : UNPROCESSABLE).send(page)
}

const REGISTRATION_FORM = Type.Object({ response: formSecret(), name: formText() })

async function postPasskey(context: UsersContext, visit: SignedInRequest, reply: ScriptReply) {
  const { user, request } = visit
  requireRecentAuthentication(user, context.now())
  const { response, name } = readForm(request.body, REGISTRATION_FORM)
  try {
    const token = await finishPasskeyRegistration(context, user, {
      response,
      cookie: request.headers.cookie,
      token: requireToken(context, request),
      name,
    })
    reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
    const details = { factor: 'passkey' }
    await context.recordSecurityEvent({ type: 'second_factor.added', user, request, details })
    return seeOther(reply, NOTICES.addTo('/account', 'passkey_added'))
  } catch (error) {
    return showNewPasskey(context, visit, reply, toFormErrors(error))
  }
}

interface PasskeySignInPage {
  options: unknown
  returnTo: string
  errors?: FormErrors
}

/** Signs in by a passkey. Needs a script; the other ways to sign in do not. */
function passkeySignInPage({ options, returnTo, errors = {} }: PasskeySignInPage): string {
  const query = new URLSearchParams({ return_to: returnTo })
  const body = html`<div class="card">
<h1>Sign in with a passkey</h1>
!${errorSummary(errors)}
<form method="post" action="/sign-in/passkey" data-passkey="get"
data-options="${JSON.stringify(options)}" hidden>
<input type="hidden" name="return_to" value="${returnTo}">
<input type="hidden" name="response">
<button>Continue</button>
</form>
!${SCRIPT_MESSAGES}
<p><a href="/sign-in?${query.toString()}">Sign in another way</a></p>
</div>`
  return renderPage({ title: 'Sign in with a passkey', body, script: PASSKEY_SCRIPT_PATH })
}

interface NewPasskeyPage {
  user: CurrentUser
  options: unknown
  errors?: FormErrors
}

const NAME_FIELD = {
  name: 'name',
  label: 'Name',
  hint: 'To recognize it later, such as the name of the device.',
  charactersMax: 50,
} as const

/** Adds a passkey. */
function newPasskeyPage({ user, options, errors = {} }: NewPasskeyPage): string {
  const body = html`<div class="card">
<h1>Add a passkey</h1>
<p>A passkey signs you in by your fingerprint, your face or the PIN of a device.</p>
!${errorSummary(errors)}
<form method="post" action="/account/passkeys" data-passkey="create"
data-options="${JSON.stringify(options)}" hidden>
<input type="hidden" name="response">
!${textField({ ...NAME_FIELD, value: 'Passkey', errors })}
<button>Add passkey</button>
</form>
!${SCRIPT_MESSAGES}
<p><a href="/account">Back to your account</a></p>
</div>`
  const signedInAs = user.email
  return renderPage({ title: 'Add a passkey', body, signedInAs, script: PASSKEY_SCRIPT_PATH })
}

const SCRIPT_MESSAGES = html`<div class="message danger" role="alert" tabindex="-1" hidden
data-passkey-failure><p>The passkey was not used. Try again.</p></div>
<div class="message notice" data-passkey-unsupported><p>Passkeys need a recent browser that runs
scripts.</p></div>`
