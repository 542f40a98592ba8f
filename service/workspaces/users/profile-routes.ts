import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { formSecret, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
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
import { firstPasswordPage, profilePage } from './profile-page.ts'
import { hasAuthenticatorApp, listPasskeys } from './second-factor-store.ts'
import { deleteSession, deleteSessions, listSessions } from './session-store.ts'
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
