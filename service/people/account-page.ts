import { html } from 'ghtml'
import {
  buttonForm,
  type FieldFaults,
  faultSummary,
  message,
  passwordField,
  tag,
} from '../pages/form-controls.ts'
import { page } from '../pages/layout.ts'
import type { CurrentPerson } from './current-person.ts'
import { PASSWORD_HINT } from './password-rules.ts'
import type { LiveSession } from './session-store.ts'

export interface AccountPage {
  person: CurrentPerson
  hasPassword: boolean
  sessions: readonly LiveSession[]
  faults?: FieldFaults
  notice?: string | undefined
}

export function accountPage(account: AccountPage): string {
  const { person, hasPassword, sessions, faults = {}, notice } = account
  const body = html`<h1>Your account</h1>
!${notice === undefined ? '' : message('success', notice)}
<section class="card">
<h2>You</h2>
<dl><dt>Name</dt><dd>${person.name}</dd><dt>Mail address</dt><dd>${person.email}</dd></dl>
</section>
<section class="card">
<h2>Password</h2>
!${passwordForm(hasPassword, faults)}
</section>
<section class="card">
<h2>Where you are signed in</h2>
<ul class="plain">!${sessions.map(session => sessionRow(session, person)).join('')}</ul>
!${sessions.length > 1 ? buttonForm(END_OTHERS) : ''}
</section>`
  return page({ title: 'Your account', body, signedInAs: person.email, isWide: true })
}

const END_OTHERS = {
  action: '/account/sessions/end-others',
  label: 'Sign out everywhere else',
  look: 'quiet',
} as const

/** The only page for somebody whose password was chosen by a program. */
export function firstPasswordPage(person: CurrentPerson, faults: FieldFaults = {}): string {
  const body = html`<div class="card">
<h1>Choose a password of your own</h1>
<p>The one that you signed in with was made for you and stands in a file.</p>
!${passwordForm(true, faults)}
</div>`
  return page({ title: 'Choose a password', body, signedInAs: person.email })
}

function passwordForm(hasPassword: boolean, faults: FieldFaults): string {
  const current = passwordField({ name: 'current', label: 'Password now', faults })
  const hint = `${PASSWORD_HINT} You will be signed out everywhere else.`
  return html`!${faultSummary(faults)}
<form method="post" action="/account/password">
!${hasPassword ? current : ''}
!${passwordField({ label: 'New password', isNew: true, hint, faults })}
<button>Change the password</button>
</form>`
}

function sessionRow(session: LiveSession, { sessionId }: CurrentPerson): string {
  const program = programOf(session.userAgent)
  const since = session.createdAt.toISOString().slice(0, 16).replace('T', ' ')
  const own = tag('This one')
  const end = buttonForm({
    action: `/account/sessions/${session.id}/end`,
    label: 'Sign out',
    about: `${program}, since ${since}`,
  })
  return html`<li class="row"><span>${program}<br><small>Since ${since} UTC</small></span>
!${session.id === sessionId ? own : end}</li>`
}

/** A word that a person knows; the whole text means nothing to them. */
function programOf(userAgent: string | null): string {
  const text = userAgent ?? ''
  const known = [
    ['Firefox', /Firefox\//],
    ['Edge', /Edg\//],
    ['Chrome', /Chrom(e|ium)\//],
    ['Safari', /Safari\//],
  ] as const
  const program = known.find(([, pattern]) => pattern.test(text))?.[0] ?? 'Another program'
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(text)?.[0]
  return system === undefined ? program : `${program} on ${system}`
}
