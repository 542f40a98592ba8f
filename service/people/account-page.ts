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
import { formatIsoMinute } from '../util/time.ts'
import { PASSWORD_HINT } from './password-strength.ts'
import type { ActiveSession, CurrentPerson } from './session-store.ts'

interface AccountPage {
  person: CurrentPerson
  hasPassword: boolean
  sessions: readonly ActiveSession[]
  errors?: FormErrors
  notice?: string | undefined
}

export function accountPage(account: AccountPage): string {
  const { person, hasPassword, sessions, errors = {}, notice } = account
  const body = html`<h1>Your account</h1>
!${notice === undefined ? '' : message('success', notice)}
<section class="card">
<h2>Profile</h2>
<dl><dt>Name</dt><dd>${person.name}</dd><dt>Email</dt><dd>${person.email}</dd></dl>
</section>
<section class="card">
<h2>Password</h2>
!${passwordForm(hasPassword, errors)}
</section>
<section class="card">
<h2>Active sessions</h2>
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

/** The only page for a person whose password was generated. */
export function firstPasswordPage(person: CurrentPerson, errors: FormErrors = {}): string {
  const body = html`<div class="card">
<h1>Choose your own password</h1>
<p>Your current password was generated and is stored in a file.</p>
!${passwordForm(true, errors)}
</div>`
  return renderPage({ title: 'Choose a password', body, signedInAs: person.email })
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

function sessionRow(session: ActiveSession, { sessionId }: CurrentPerson): string {
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

/** The name of the browser and its system, which is all that a person recognizes. */
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
