import { html } from 'ghtml'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  message,
  passwordField,
  tag,
} from '../pages/form-controls.ts'
import { renderPage } from '../pages/layout.ts'
import { PASSWORD_HINT } from './account-fields.ts'
import type { ActiveSession, CurrentPerson } from './session-store.ts'

export interface AccountPage {
  person: CurrentPerson
  hasPassword: boolean
  sessions: readonly ActiveSession[]
  errors?: FormErrors
  notice?: string | undefined
}

export function accountPage(account: AccountPage): string {
  const { person, hasPassword, sessions, errors: faults = {}, notice } = account
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
!${sessions.length > 1 ? buttonForm(END_OTHER_SESSIONS) : ''}
</section>`
  return renderPage({ title: 'Your account', body, signedInAs: person.email, isWide: true })
}

const END_OTHER_SESSIONS = {
  action: '/account/sessions/end-others',
  label: 'Sign out everywhere else',
  look: 'quiet',
} as const

/** The only page for somebody whose password was chosen by a program. */
export function firstPasswordPage(person: CurrentPerson, faults: FormErrors = {}): string {
  const body = html`<div class="card">
<h1>Choose a password of your own</h1>
<p>The one that you signed in with was made for you and stands in a file.</p>
!${passwordForm(true, faults)}
</div>`
  return renderPage({ title: 'Choose a password', body, signedInAs: person.email })
}

function passwordForm(hasPassword: boolean, faults: FormErrors): string {
  const current = passwordField({ name: 'current', label: 'Password now', errors: faults })
  const hint = `${PASSWORD_HINT} You will be signed out everywhere else.`
  return html`!${errorSummary(faults)}
<form method="post" action="/account/password">
!${hasPassword ? current : ''}
!${passwordField({ label: 'New password', isNew: true, hint, errors: faults })}
<button>Change the password</button>
</form>`
}

function sessionRow(session: ActiveSession, { sessionId }: CurrentPerson): string {
  const program = describeUserAgent(session.userAgent)
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
function describeUserAgent(userAgent: string | null): string {
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
