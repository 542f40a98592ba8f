import { html } from 'ghtml'
import { renderSVG } from 'uqr'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  message,
  passwordField,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { CONFIRM_AT_PROVIDER_PATH, type ConfirmationMeans } from './reauthentication.ts'
import type { CurrentUser } from './session-store.ts'

const CODE_FIELD = {
  name: 'code',
  label: 'Code',
  autocomplete: 'one-time-code',
  charactersMax: 30,
} as const

const CODE_HINT = 'Six digits from your authenticator app, or one of your recovery codes.'

interface ChallengePage {
  returnTo: string
  offersPasskey: boolean
  errors?: FormErrors
}

/** Asks for the second factor after the first one. */
export function challengePage({ returnTo, offersPasskey, errors = {} }: ChallengePage): string {
  const body = html`<div class="card">
<h1>Enter your code</h1>
!${errorSummary(errors)}
<form method="post" action="/sign-in/second-factor">
<input type="hidden" name="return_to" value="${returnTo}">
!${textField({ ...CODE_FIELD, hint: CODE_HINT, errors })}
<button>Continue</button>
</form>
!${offersPasskey ? passkeyLink(returnTo) : ''}
<p class="quiet">Lost your device? Use a recovery code, or ask the operator of this service.</p>
!${buttonForm({ action: '/sign-out', label: 'Cancel' })}
</div>`
  return renderPage({ title: 'Enter your code', body })
}

/** A link to the page that signs in by a passkey. */
export function passkeyLink(returnTo: string): string {
  const query = new URLSearchParams({ return_to: returnTo })
  return html`<p><a href="/sign-in/passkey?${query.toString()}">Use a passkey</a></p>`
}

interface ConfirmPage {
  user: CurrentUser
  means: ConfirmationMeans
  returnTo: string
  errors?: FormErrors
  notice?: string | undefined
}

/** Pages on which a person approves an agent or a device, which are sent here first. */
const APPROVAL_PATHS = ['/oauth2/interaction/', '/oauth2/device']

/** Why the person who comes from an agent has to sign in or to confirm who they are. HTML. */
export function purposeOf(returnTo: string): string {
  if (!APPROVAL_PATHS.some(path => returnTo.startsWith(path))) return ''
  return html`<p>An agent asks for access to one of your ad accounts. The next page says who asks
and what it may do. Nothing is connected until you approve it there.</p>`
}

/** Asks a signed-in user to confirm their identity before a sensitive change. */
export function confirmPage({ user, means, returnTo, errors = {}, notice }: ConfirmPage): string {
  const { hasPassword, hasApp, hasPasskey, providerName } = means
  const form = html`<form method="post" action="/account/confirm">
<input type="hidden" name="return_to" value="${returnTo}">
!${hasPassword ? passwordField({ errors }) : ''}
!${hasApp ? textField({ ...CODE_FIELD, hint: CODE_HINT, errors }) : ''}
<button>Confirm</button>
</form>`
  const isForm = hasApp || (hasPassword && !hasPasskey)
  const body = html`<div class="card">
<h1>Confirm your identity</h1>
!${purposeOf(returnTo)}
<p>What you are about to do needs a fresh confirmation. It counts for 15 minutes.</p>
!${notice === undefined ? '' : message('danger', notice)}
!${errorSummary(errors)}
!${isForm ? form : ''}
!${hasPasskey ? passkeyLink(returnTo) : ''}
!${providerName === null ? '' : providerLink(providerName, returnTo)}
!${isForm || hasPasskey || providerName !== null ? '' : NO_MEANS}
</div>`
  return renderPage({ title: 'Confirm your identity', body, signedInAs: user.email })
}

function providerLink(name: string, returnTo: string): string {
  const href = `${CONFIRM_AT_PROVIDER_PATH}?${new URLSearchParams({ return_to: returnTo })}`
  return html`<p><a class="button quiet" href="${href}">Sign in
with ${name} again</a></p>`
}

const NO_MEANS = html`<p>You have no password. Sign out, then sign in again the way you did
before.</p>`

interface AppSetupPage {
  user: CurrentUser
  hasPassword: boolean
  errors?: FormErrors
}

/** Starts setting up an authenticator app. */
export function appSetupPage({ user, hasPassword, errors = {} }: AppSetupPage): string {
  const body = html`<div class="card">
<h1>Set up an authenticator app</h1>
<p>The app shows a code that you enter after your password, a link or a provider. You also get ten
recovery codes.</p>
!${errorSummary(errors)}
<form method="post" action="/account/authenticator">
!${hasPassword ? passwordField({ label: 'Your password', errors }) : ''}
<button>Continue</button>
</form>
</div>`
  return renderPage({ title: 'Set up an authenticator app', body, signedInAs: user.email })
}

interface RecoveryCodesRequest {
  hasPassword: boolean
  errors?: FormErrors
}

/** Asks before recovery codes are replaced. */
export function newRecoveryCodesPage(
  user: CurrentUser,
  { hasPassword, errors = {} }: RecoveryCodesRequest,
): string {
  const body = html`<div class="card">
<h1>Replace your recovery codes</h1>
<p>The codes that you have now stop working.</p>
!${errorSummary(errors)}
<form method="post" action="/account/recovery-codes">
!${hasPassword ? passwordField({ label: 'Your password', errors }) : ''}
<button>Replace recovery codes</button>
</form>
</div>`
  return renderPage({ title: 'Replace your recovery codes', body, signedInAs: user.email })
}

interface AppSecretPage {
  user: CurrentUser
  /** `otpauth:`; null when only the code was wrong, because the secret is shown once. */
  uri: string | null
  errors?: FormErrors
}

/** Shows the secret once, and asks for the first code. */
export function appSecretPage({ user, uri, errors = {} }: AppSecretPage): string {
  const body = html`<div class="card">
<h1>Scan and confirm</h1>
!${uri === null ? '' : secretParts(uri)}
!${errorSummary(errors)}
<form method="post" action="/account/authenticator/verify">
!${textField({ ...CODE_FIELD, hint: 'The six digits that the app shows now.', errors })}
<button>Enable</button>
</form>
!${uri === null ? html`<p><a href="/account/authenticator">Start again</a></p>` : ''}
</div>`
  return renderPage({ title: 'Scan and confirm', body, signedInAs: user.email })
}

function secretParts(uri: string): string {
  const secret = new URL(uri).searchParams.get('secret') ?? ''
  const image = `data:image/svg+xml,${encodeURIComponent(renderSVG(uri, { border: 2 }))}`
  return html`<p><img class="qr" src="${image}" alt="QR code of the secret below"
width="220" height="220"></p>
<p>No camera? Enter this secret into the app:</p>
<p><code>${secret.match(/.{1,4}/g)?.join(' ') ?? ''}</code></p>`
}

/** Shows recovery codes once. */
export function recoveryCodesPage(user: CurrentUser, codes: readonly string[]): string {
  const items = codes.map(code => html`<li><code>${code}</code></li>`)
  const body = html`<div class="card">
<h1>Your recovery codes</h1>
<p>Each code works once instead of a code of the app. Print them or keep them in a password
manager: they are shown only now.</p>
<ul class="plain">!${items.join('')}</ul>
<p><a class="button" href="/account">Done</a></p>
</div>`
  return renderPage({ title: 'Your recovery codes', body, signedInAs: user.email })
}
