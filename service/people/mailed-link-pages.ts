import { html } from 'ghtml'
import {
  emailField,
  type FieldFaults,
  faultSummary,
  passwordField,
} from '../pages/form-controls.ts'
import { page } from '../pages/layout.ts'
import { PASSWORD_HINT } from './password-rules.ts'

/** After whatever sends a mail. It never says whether there is an account. */
export function mailSentPage(what: string): string {
  const body = html`<div class="card">
<h1>Look into your mail</h1>
<p>${what}</p>
<p class="quiet">Nothing there after some minutes? Look among unwanted mail, then
<a href="/verify">ask again</a>.</p>
</div>`
  return page({ title: 'Look into your mail', body })
}

export interface AskPage {
  title: string
  sentence: string
  action: string
  button: string
  email?: string
  faults?: FieldFaults
}

/** Asks for an address to which a link is to go. */
export function askForLinkPage(ask: AskPage): string {
  const { title, sentence, action, button, email = '', faults = {} } = ask
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${sentence}</p>
!${faultSummary(faults)}
<form method="post" action="${action}">
!${emailField({ value: email, faults })}
<button>${button}</button>
</form>
<p><a href="/sign-in">Back to signing in</a></p>
</div>`
  return page({ title, body })
}

/** The link of the first mail: the password of the sign-up shows that both are one person. */
export function verifyPage(token: string, faults: FieldFaults = {}): string {
  const hint = 'The one you chose when you made the account.'
  const body = html`<div class="card">
<h1>Confirm your address</h1>
!${faultSummary(faults)}
<form method="post" action="/verify">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'Your password', hint, faults })}
<button>Confirm and sign in</button>
</form>
<p class="quiet">You did not make an account? Close this page. Or you forgot the password?
<a href="/forgot">Choose a new one</a>, which confirms your address as well.</p>
</div>`
  return page({ title: 'Confirm your address', body })
}

export function resetPage(token: string, faults: FieldFaults = {}): string {
  const body = html`<div class="card">
<h1>Choose a new password</h1>
!${faultSummary(faults)}
<form method="post" action="/reset">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'New password', isNew: true, hint: PASSWORD_HINT, faults })}
<button>Set the password</button>
</form>
<p class="quiet">You will be signed out everywhere.</p>
</div>`
  return page({ title: 'Choose a new password', body })
}

/** A button, because programs that scan mails follow links and would use it up. */
export function followLinkPage(token: string): string {
  const body = html`<div class="card">
<h1>Sign in</h1>
<p>Only go on if you asked for this link yourself.</p>
<form method="post" action="/magic/sign-in">
<input type="hidden" name="token" value="${token}">
<button>Sign in</button>
</form>
</div>`
  return page({ title: 'Sign in', body })
}

/** A link that is used, too old or wrong. */
export function badLinkPage(again: string): string {
  const body = html`<div class="card">
<h1>This link does not work any more</h1>
<p>Each link works once and for a limited time. <a href="${again}">Ask for a new one</a>.</p>
</div>`
  return page({ title: 'This link does not work any more', body })
}
