import { html } from 'ghtml'
import { errorSummary, type FormErrors, textField } from '../../runtime/pages/form-controls.ts'
import { PASSKEY_SCRIPT_PATH, renderPage } from '../../runtime/pages/layout.ts'
import type { CurrentUser } from './session-store.ts'

interface PasskeySignInPage {
  options: unknown
  returnTo: string
  errors?: FormErrors
}

/** Signs in by a passkey. Needs a script; the other ways to sign in do not. */
export function passkeySignInPage({ options, returnTo, errors = {} }: PasskeySignInPage): string {
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
export function newPasskeyPage({ user, options, errors = {} }: NewPasskeyPage): string {
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
