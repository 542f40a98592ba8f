import { html } from 'ghtml'
import { page } from '../pages/layout.ts'
import type { CurrentPerson } from './current-person.ts'
import type { Invitation } from './invitation-store.ts'
import { ROLE_NAMES } from './workspace-pages.ts'

export function invitationPage(person: CurrentPerson, invitation: Invitation): string {
  const { id, workspaceName, role, inviterName } = invitation
  const body = html`<div class="card">
<h1>Join ${workspaceName}?</h1>
<p>${inviterName ?? 'Somebody'} invites you as ${ROLE_NAMES[role].toLowerCase()}.</p>
<form class="actions" method="post" action="/invitations/${id}">
<button name="answer" value="accepted">Join</button>
<button class="quiet" name="answer" value="declined">Decline</button>
</form>
</div>`
  return page({ title: `Join ${workspaceName}?`, body, signedInAs: person.email })
}
