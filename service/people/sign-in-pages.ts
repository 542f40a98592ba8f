import { html } from 'ghtml'
import {
  emailField,
  errorSummary,
  type FormErrors,
  message,
  passwordField,
  textField,
} from '../pages/form-controls.ts'
import { renderPage } from '../pages/layout.ts'
import { PASSWORD_HINT } from './account-fields.ts'
import type { SocialProvider } from './auth-library.ts'

interface SignInPage {
  returnTo: string
  social: readonly SocialProvider[]
  email?: string
  errors?: FormErrors
  /** What happened before, such as "Your password is changed." */
  notice?: string | undefined
}

/** Address and password, or a link by mail, or a provider. Returns the whole document. */
export function signInPage({
  returnTo,
  social,
  email = '',
  errors: faults = {},
  notice,
}: SignInPage) {
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const body = html`<div class="card">
<h1>Sign in</h1>
!${notice === undefined ? '' : message('success', notice)}
!${errorSummary(faults)}
<form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${returnTo}">
!${emailField({ value: email, errors: faults })}
!${passwordField({ errors: faults })}
<button>Sign in</button>
</form>
!${social.map(provider => socialForm(provider, returnTo)).join('')}
<p><a href="/magic">Mail me a link instead</a> or <a href="/forgot">choose a new password</a>.</p>
<p>New here? <a href="/sign-up${query}">Make an account</a></p>
</div>`
  return renderPage({ title: 'Sign in', body })
}

const PROVIDER_NAMES: Record<SocialProvider, string> = { google: 'Google', github: 'GitHub' }

/** Where a form of the sign-in page leads, for its policy. */
export const PROVIDER_ORIGINS: Record<SocialProvider, string> = {
  google: 'https://accounts.google.com',
  github: 'https://github.com',
}

function socialForm(provider: SocialProvider, returnTo: string): string {
  return html`<form method="post" action="/sign-in/social">
<input type="hidden" name="provider" value="${provider}">
<input type="hidden" name="return_to" value="${returnTo}">
<button class="quiet">Continue with ${PROVIDER_NAMES[provider]}</button>
</form>`
}

interface SignUpPage {
  returnTo: string
  values?: { name: string; email: string }
  errors?: FormErrors
}

const NAME_FIELD = {
  name: 'name',
  label: 'Your name',
  autocomplete: 'name',
  charactersMax: 100,
} as const

export function signUpPage({ returnTo, values, errors: faults = {} }: SignUpPage): string {
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const body = html`<div class="card">
<h1>Make an account</h1>
!${errorSummary(faults)}
<form method="post" action="/sign-up">
<input type="hidden" name="return_to" value="${returnTo}">
!${textField({ ...NAME_FIELD, value: values?.name ?? '', errors: faults })}
!${emailField({ value: values?.email ?? '', errors: faults })}
!${passwordField({ isNew: true, hint: PASSWORD_HINT, errors: faults })}
<button>Make an account</button>
</form>
<p>You have one? <a href="/sign-in${query}">Sign in</a></p>
</div>`
  return renderPage({ title: 'Make an account', body })
}

/** After whatever sends a mail. It never says whether there is an account. */
export function emailSentPage(what: string): string {
  const body = html`<div class="card">
<h1>Look into your mail</h1>
<p>${what}</p>
<p class="quiet">Nothing there after some minutes? Look among unwanted mail, then
<a href="/verify">ask again</a>.</p>
</div>`
  return renderPage({ title: 'Look into your mail', body })
}

export interface RequestLinkPage {
  title: string
  description: string
  action: string
  button: string
  email?: string
  errors?: FormErrors
}

/** Asks for an address to which a link is to go. */
export function requestLinkPage(ask: RequestLinkPage): string {
  const { title, description: sentence, action, button, email = '', errors: faults = {} } = ask
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${sentence}</p>
!${errorSummary(faults)}
<form method="post" action="${action}">
!${emailField({ value: email, errors: faults })}
<button>${button}</button>
</form>
<p><a href="/sign-in">Back to signing in</a></p>
</div>`
  return renderPage({ title, body })
}

/** The link of the first mail: the password of the sign-up shows that both are one person. */
export function verifyEmailPage(token: string, faults: FormErrors = {}): string {
  const hint = 'The one you chose when you made the account.'
  const body = html`<div class="card">
<h1>Confirm your address</h1>
!${errorSummary(faults)}
<form method="post" action="/verify">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'Your password', hint, errors: faults })}
<button>Confirm and sign in</button>
</form>
<p class="quiet">You did not make an account? Close this page. Or you forgot the password?
<a href="/forgot">Choose a new one</a>, which confirms your address as well.</p>
</div>`
  return renderPage({ title: 'Confirm your address', body })
}

export function resetPasswordPage(token: string, faults: FormErrors = {}): string {
  const body = html`<div class="card">
<h1>Choose a new password</h1>
!${errorSummary(faults)}
<form method="post" action="/reset">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'New password', isNew: true, hint: PASSWORD_HINT, errors: faults })}
<button>Set the password</button>
</form>
<p class="quiet">You will be signed out everywhere.</p>
</div>`
  return renderPage({ title: 'Choose a new password', body })
}

/** A button, because programs that scan mails follow links and would use it up. */
export function confirmSignInPage(token: string): string {
  const body = html`<div class="card">
<h1>Sign in</h1>
<p>Only go on if you asked for this link yourself.</p>
<form method="post" action="/magic/sign-in">
<input type="hidden" name="token" value="${token}">
<button>Sign in</button>
</form>
</div>`
  return renderPage({ title: 'Sign in', body })
}

/** A link that is used, too old or wrong. */
export function invalidLinkPage(again: string): string {
  const body = html`<div class="card">
<h1>This link does not work any more</h1>
<p>Each link works once and for a limited time. <a href="${again}">Ask for a new one</a>.</p>
</div>`
  return renderPage({ title: 'This link does not work any more', body })
}
