import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readFormSecret, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
import { changePassword } from './account.ts'
import { accountPage, firstPasswordPage } from './account-page.ts'
import {
  findNotice,
  forSignedIn,
  replaceSession,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from './page-visit.ts'
import { supportsPasskeys } from './passkeys.ts'
import { hasAuthenticatorApp, listPasskeys } from './second-factor-store.ts'
import { deleteSession, deleteSessions, listSessions } from './session-store.ts'
import { findPasswordHash } from './user-store.ts'
import type { PeopleContext } from './users-context.ts'

/** The account page: the password and the active sessions. */
export function accountRoutes(app: ServiceApp, context: PeopleContext): void {
  const { database } = context
  const page = (handle: (visit: SignedInRequest) => Promise<unknown>) =>
    forSignedIn(context, handle)

  app.get(
    '/account',
    SIGNED_IN,
    page(async visit => showAccount(context, visit)),
  )
  app.get(
    '/account/password',
    SIGNED_IN,
    page(async ({ person, reply }) =>
      person.mustChangePassword ? firstPasswordPage(person) : seeOther(reply, '/account'),
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
    page(async ({ person, request, reply }) => {
      const id = parseRowId((request.params as { session: string }).session) ?? 0
      if (!(await deleteSession(database, person.userId, id))) {
        throw Refusal.notFound('Session not found.')
      }
      await context.recordSecurityEvent({ type: 'session.ended', person, request })
      return seeOther(reply, '/account?done=session_ended')
    }),
  )
  app.post(
    '/account/sessions/end-others',
    SIGNED_IN,
    page(async ({ person, request, reply }) => {
      await deleteSessions(database, person.userId, person.sessionId)
      await context.recordSecurityEvent({ type: 'session.ended', person, request })
      return seeOther(reply, '/account?done=session_ended')
    }),
  )
}

async function showAccount(
  { database, now, publicOrigin }: PeopleContext,
  { person, request }: SignedInRequest,
  errors: FormErrors = {},
): Promise<string> {
  const hasPassword = (await findPasswordHash(database, person.userId)) !== null
  const sessions = await listSessions(database, person.userId, now())
  return accountPage({
    person,
    hasPassword,
    sessions,
    hasApp: await hasAuthenticatorApp(database, person.userId),
    passkeys: await listPasskeys(database, person.userId),
    offersPasskeys: supportsPasskeys(publicOrigin()),
    errors,
    notice: findNotice(request.query),
  })
}

async function postPassword(context: PeopleContext, visit: SignedInRequest) {
  const { person, request, reply } = visit
  try {
    const token = await changePassword(context, person, {
      current: readFormSecret(request.body, 'current'),
      next: readFormSecret(request.body, 'password'),
    })
    await context.recordSecurityEvent({ type: 'password.changed', person, request })
    if (token === null) return seeOther(reply, '/sign-in?done=password_reset')
    await replaceSession(context, { request, reply, token, method: 'password' })
    return seeOther(reply, '/account?done=password_changed')
  } catch (error) {
    const errors = toFormErrors(error)
    if ('current' in errors) {
      await context.recordSecurityEvent({ type: 'password.change_failed', person, request })
    }
    const page = person.mustChangePassword
      ? firstPasswordPage(person, errors)
      : await showAccount(context, visit, errors)
    return reply.code(UNPROCESSABLE).send(page)
  }
}
