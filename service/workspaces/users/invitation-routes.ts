import { DECIDING_ROLES, ROLE_ABILITIES, ROLE_LABELS } from '@signalbox/contract/session/roles.ts'
import { InvitationAnswer } from '@signalbox/contract/session/users.ts'
import { html } from 'ghtml'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm } from '../../runtime/pages/form-body.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import type { Invitation } from './invitation-store.ts'
import { answerInvitation, readInvitation } from './invitations.ts'
import { forSignedIn, NOTICES, SIGNED_IN, seeOther } from './page-visit.ts'
import type { CurrentUser } from './session-store.ts'
import type { UsersContext } from './users-context.ts'

/** The page of an emailed invitation. It works without scripts, as everything before sign-in. */
export function invitationRoutes(app: ServiceApp, context: UsersContext): void {
  const url = '/invitations/:invitation'
  app.get(
    url,
    SIGNED_IN,
    forSignedIn(context, async ({ user, request }) => {
      const { invitation } = readPathParameters(request.params, 'invitation')
      return invitationPage(user, await readInvitation(context, user, invitation))
    }),
  )
  app.post(
    url,
    SIGNED_IN,
    forSignedIn(context, async ({ user, request, reply }) => {
      const { invitation: invitationId } = readPathParameters(request.params, 'invitation')
      const isAccepted = readForm(request.body, InvitationAnswer).answer === 'accepted'
      const answer = isAccepted ? 'accepted' : 'declined'
      const workspaceId = await answerInvitation(context, user, { invitationId, answer })
      if (isAccepted) return seeOther(reply, `/w/${workspaceId}`)
      return seeOther(reply, NOTICES.addTo('/workspaces', 'invitation_declined'))
    }),
  )
}

function invitationPage(user: CurrentUser, invitation: Invitation): string {
  const { id, workspaceName, role, inviterName } = invitation
  const abilities = ROLE_ABILITIES[role].map(sentence => html`<li>${sentence}</li>`)
  const body = html`<div class="card">
<h1>Join ${workspaceName}?</h1>
<p>${inviterName} invited you as ${ROLE_LABELS[role].toLowerCase()}. You may:</p>
<ul>!${abilities.join('')}</ul>
!${DECIDING_ROLES.includes(role) ? WAIT : ''}
<form class="actions" method="post" action="/invitations/${id}">
<button name="answer" value="accepted">Join</button>
<button class="quiet" name="answer" value="declined">Decline</button>
</form>
</div>`
  return renderPage({ title: `Join ${workspaceName}?`, body, signedInAs: user.email })
}

const WAIT = html`<p>Until 72 hours after you join, or until another owner confirms your role, you
are a member.</p>`
