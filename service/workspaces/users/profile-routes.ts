import { html } from 'ghtml'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { formSecret, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  message,
  passwordField,
  tag,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { formatDate, formatIsoMinute } from '../../runtime/util/time.ts'
import {
  forSignedIn,
  NOTICES,
  replaceSession,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from './page-visit.ts'
import { supportsPasskeys } from './passkeys.ts'
import { PASSWORD_HINT } from './password-strength.ts'
import { hasAuthenticatorApp, listPasskeys, type Passkey } from './second-factor-store.ts'
import {
  type ActiveSession,
  type CurrentUser,
  deleteSession,
  deleteSessions,
  listSessions,
} from './session-store.ts'
import { changePassword } from './sign-up.ts'
import { findPasswordHash } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

/** The account page: the password and the active sessions. */
export function profileRoutes(app: ServiceApp, context: UsersContext): void {
  const { database } = context
  const page = (handle: (visit: SignedInRequest) => Promise<unknown>) =>
    forSignedIn(context, handle)

  app.get(
    '/account',
    SIGNED_IN,
    page(async visit => showProfile(context, visit)),
  )
  app.get(
    '/account/password',
    SIGNED_IN,
    page(async ({ user, reply }) =>
      user.mustChangePassword ? firstPasswordPage(user) : seeOther(reply, '/account'),
    ),
  )
  app.post(
    '/account/password',
    SIGNED_IN,
    page(async visit => postPassword(context, visit)),
  )
  app.post(
    '/account/sessions/:session/end',
    SIGNED_IN,
    page(async ({ user, request, reply }) => {
      const id = parseRowId(readPathParameters(request.params, 'session').session) ?? 0
      if (!(await deleteSession(database, user.userId, id))) {
        throw Refusal.notFound('Session not found.')
      }
      await context.recordSecurityEvent({ type: 'session.ended', user, request })
      return seeOther(reply, NOTICES.addTo('/account', 'session_ended'))
    }),
  )
  app.post(
    '/account/sessions/end-others',
    SIGNED_IN,
    page(async ({ user, request, reply }) => {
      await deleteSessions(database, user.userId, user.sessionId)
      await context.recordSecurityEvent({ type: 'session.ended', user, request })
      return seeOther(reply, NOTICES.addTo('/account', 'session_ended'))
    }),
  )
}

async function showProfile(
  { database, now, publicOrigin }: UsersContext,
  { user, request }: SignedInRequest,
  errors: FormErrors = {},
): Promise<string> {
  const hasPassword = (await findPasswordHash(database, user.userId)) !== null
  const sessions = await listSessions(database, user.userId, now())
  return profilePage({
    user,
    hasPassword,
    sessions,
    hasApp: await hasAuthenticatorApp(database, user.userId),
    passkeys: await listPasskeys(database, user.userId),
    offersPasskeys: supportsPasskeys(publicOrigin()),
    errors,
    notice: NOTICES.find(request.query),
  })
}

const PASSWORD_FORM = Type.Object({ current: formSecret(), password: formSecret() })

async function postPassword(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  const { current, password: next } = readForm(request.body, PASSWORD_FORM)
  try {
    const token = await changePassword(context, user, { current, next })
    await context.recordSecurityEvent({ type: 'password.changed', user, request })
    if (token === null) return seeOther(reply, NOTICES.addTo('/sign-in', 'password_reset'))
    await replaceSession(context, { request, reply, token, method: 'password' })
    return seeOther(reply, NOTICES.addTo('/account', 'password_changed'))
  } catch (error) {
    const errors = toFormErrors(error)
    if ('current' in errors) {
      await context.recordSecurityEvent({ type: 'password.change_failed', user, request })
    }
    const page = user.mustChangePassword
      ? firstPasswordPage(user, errors)
      : await showProfile(context, visit, errors)
    return reply.code(UNPROCESSABLE).send(page)
  }
}

interface ProfilePage {
  user: CurrentUser
  hasPassword: boolean
  sessions: readonly ActiveSession[]
  hasApp: boolean
  passkeys: readonly Passkey[]
  /** False where browsers accept no passkeys. */
  offersPasskeys: boolean
  errors?: FormErrors
  notice?: string | undefined
}

function profilePage(account: ProfilePage): string {
  const { user, hasPassword, sessions, errors = {}, notice } = account
  const body = html`<h1>Your account</h1>
!${notice === undefined ? '' : message('success', notice)}
<section class="card">
<h2>Profile</h2>
<dl><dt>Name</dt><dd>${user.name}</dd><dt>Email</dt><dd>${user.email}</dd></dl>
</section>
<section class="card">
<h2>Password</h2>
!${passwordForm(hasPassword, errors)}
</section>
!${appSection(account)}
!${passkeySection(account)}
<section class="card">
<h2>Active sessions</h2>
<ul class="plain">!${sessions.map(session => sessionRow(session, user)).join('')}</ul>
!${sessions.length > 1 ? buttonForm(END_OTHER_SESSIONS) : ''}
</section>`
  return renderPage({ title: 'Your account', body, signedInAs: user.email, isWide: true })
}

function appSection({ hasApp }: ProfilePage): string {
  const setUp = html`<p>After your password, a link or a provider, a code from your phone is needed,
too.</p>
<p><a class="button quiet" href="/account/authenticator">Set up an authenticator app</a></p>`
  const remove = { action: '/account/authenticator/remove', label: 'Remove', about: APP_TITLE }
  const manage = html`<p>Set up. A code is needed to sign in.</p>
<div class="actions"><a class="button quiet" href="/account/recovery-codes">Replace recovery
codes</a>!${buttonForm(remove)}</div>`
  return html`<section class="card">
<h2>${APP_TITLE}</h2>
!${hasApp ? manage : setUp}
</section>`
}

const APP_TITLE = 'Authenticator app'

function passkeySection({ passkeys, offersPasskeys }: ProfilePage): string {
  const rows = passkeys.map(({ id, name, createdAt }) => {
    const remove = buttonForm({
      action: `/account/passkeys/${id}/remove`,
      label: 'Remove',
      about: name,
    })
    const since = createdAt === null ? '' : html`<br><small>Since ${formatDate(createdAt)}</small>`
    return html`<li class="row"><span>${name}!${since}</span>!${remove}</li>`
  })
  const add = offersPasskeys
    ? '<p><a class="button quiet" href="/account/passkeys/new">Add a passkey</a></p>'
    : '<p>Passkeys need a host name in the address of this service, not an IP address.</p>'
  return html`<section class="card">
<h2>Passkeys</h2>
!${rows.length === 0 ? '' : html`<ul class="plain">!${rows.join('')}</ul>`}
!${add}
</section>`
}

const END_OTHER_SESSIONS = {
  action: '/account/sessions/end-others',
  label: 'Sign out everywhere else',
  look: 'quiet',
} as const

/** The only page for a user whose password was generated. */
function firstPasswordPage(user: CurrentUser, errors: FormErrors = {}): string {
  const body = html`<div class="card">
<h1>Choose your own password</h1>
<p>Your current password was generated and is stored in a file.</p>
!${passwordForm(true, errors)}
</div>`
  return renderPage({ title: 'Choose a password', body, signedInAs: user.email })
}

function passwordForm(hasPassword: boolean, errors: FormErrors): string {
  const current = passwordField({ name: 'current', label: 'Current password', errors })
  const hint = `${PASSWORD_HINT} You will be signed out everywhere else.`
  return html`!${errorSummary(errors)}
<form method="post" action="/account/password">
!${hasPassword ? current : ''}
!${passwordField({ label: 'New password', isNew: true, hint, errors })}
<button>Change password</button>
</form>`
}

function sessionRow(session: ActiveSession, { sessionId }: CurrentUser): string {
  const browser = describeUserAgent(session.userAgent)
  const since = formatIsoMinute(session.createdAt)
  const current = tag('This session')
  const end = buttonForm({
    action: `/account/sessions/${session.id}/end`,
    label: 'Sign out',
    about: `${browser}, since ${since}`,
  })
  return html`<li class="row"><span>${browser}<br><small>Since ${since} UTC</small></span>
!${session.id === sessionId ? current : end}</li>`
}

/** The name of the browser and its system, which is all that a user recognizes. */
function describeUserAgent(userAgent: string | null): string {
  const text = userAgent ?? ''
  const known = [
    ['Firefox', /Firefox\//],
    ['Edge', /Edg\//],
    ['Chrome', /Chrom(e|ium)\//],
    ['Safari', /Safari\//],
  ] as const
  const browser = known.find(([, pattern]) => pattern.test(text))?.[0] ?? 'Unknown browser'
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(text)?.[0]
  return system === undefined ? browser : `${browser} on ${system}`
}
