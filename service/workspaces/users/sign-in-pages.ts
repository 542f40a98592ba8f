import { html } from 'ghtml'
import {
  emailField,
  errorSummary,
  type FormErrors,
  message,
  passwordField,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { PASSWORD_HINT } from './password-strength.ts'
import { passkeyLink, purposeOf } from './second-factor-pages.ts'
import { SINGLE_SIGN_ON_PATH, type SocialProvider } from './sign-up-policy.ts'

interface SignInPage {
  returnTo: string
  social: readonly SocialProvider[]
  /** Of the company's OpenID provider; null without one. */
  providerName: string | null
  isSignUpOpen: boolean
  offersPasskeys: boolean
  email?: string
  errors?: FormErrors
  /** What happened before, such as "Password changed." */
  notice?: string | undefined
}

/** Email and password, an emailed link, or a provider. Returns the whole document. */
export function signInPage(page: SignInPage): string {
  const { returnTo, social, providerName, isSignUpOpen, offersPasskeys } = page
  const { email = '', errors = {}, notice } = page
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const signUpLink = html`<p>New here? <a href="/sign-up${query}">Create an account</a></p>`
  const body = html`<div class="card">
<h1>Sign in</h1>
!${purposeOf(returnTo)}
!${notice === undefined ? '' : message('success', notice)}
!${errorSummary(errors)}
<form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${returnTo}">
!${emailField({ value: email, errors })}
!${passwordField({ errors })}
<button>Sign in</button>
</form>
!${providerName === null ? '' : providerLink(providerName, query)}
!${social.map(provider => socialForm(provider, returnTo)).join('')}
!${offersPasskeys ? passkeyLink(returnTo) : ''}
<p><a href="/magic">Email me a link instead</a> or <a href="/forgot">choose a new password</a>.</p>
!${isSignUpOpen ? signUpLink : ''}
</div>`
  return renderPage({ title: 'Sign in', body })
}

function providerLink(name: string, query: string): string {
  const href = `${SINGLE_SIGN_ON_PATH}${query}`
  return html`<p><a class="button quiet" href="${href}">Sign in with ${name}</a></p>`
}

const PROVIDER_NAMES: Record<SocialProvider, string> = { google: 'Google', github: 'GitHub' }

/** Targets of the sign-in form, for its Content-Security-Policy. */
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
  /** Who may sign up, unless anyone may. */
  policy: string | null
  values?: { name: string; email: string }
  errors?: FormErrors
}

const NAME_FIELD = {
  name: 'name',
  label: 'Your name',
  autocomplete: 'name',
  charactersMax: 100,
} as const

export function signUpPage({ returnTo, policy, values, errors = {} }: SignUpPage): string {
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const body = html`<div class="card">
<h1>Create an account</h1>
!${policy === null ? '' : html`<p>${policy}</p>`}
!${errorSummary(errors)}
<form method="post" action="/sign-up">
<input type="hidden" name="return_to" value="${returnTo}">
!${textField({ ...NAME_FIELD, value: values?.name ?? '', errors })}
!${emailField({ value: values?.email ?? '', errors })}
!${passwordField({ isNew: true, hint: PASSWORD_HINT, errors })}
<button>Create an account</button>
</form>
<p>Already have an account? <a href="/sign-in${query}">Sign in</a></p>
</div>`
  return renderPage({ title: 'Create an account', body })
}

/** Shown after every request for an email. It does not reveal whether an account exists. */
export function emailSentPage(text: string): string {
  const body = html`<div class="card">
<h1>Check your email</h1>
<p>${text}</p>
<p class="quiet">No email after a few minutes? Check your spam folder, then
<a href="/verify">request another</a>.</p>
</div>`
  return renderPage({ title: 'Check your email', body })
}

export interface RequestLinkPage {
  title: string
  description: string
  action: string
  button: string
  email?: string
  errors?: FormErrors
}

/** Asks for the address that a link is sent to. */
export function requestLinkPage(page: RequestLinkPage): string {
  const { title, description, action, button, email = '', errors = {} } = page
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${description}</p>
!${errorSummary(errors)}
<form method="post" action="${action}">
!${emailField({ value: email, errors })}
<button>${button}</button>
</form>
<p><a href="/sign-in">Back to sign-in</a></p>
</div>`
  return renderPage({ title, body })
}

/** Opened by the verification link. Asks for the password, to prove who signed up. */
export function verifyEmailPage(token: string, errors: FormErrors = {}): string {
  const hint = 'The password that you chose when you created the account.'
  const body = html`<div class="card">
<h1>Confirm your email</h1>
!${errorSummary(errors)}
<form method="post" action="/verify">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'Your password', hint, errors })}
<button>Confirm and sign in</button>
</form>
<p class="quiet">Did not create an account? Close this page. Forgot the password?
<a href="/forgot">Choose a new one</a>; that also confirms your email.</p>
</div>`
  return renderPage({ title: 'Confirm your email', body })
}

export function resetPasswordPage(token: string, errors: FormErrors = {}): string {
  const body = html`<div class="card">
<h1>Choose a new password</h1>
!${errorSummary(errors)}
<form method="post" action="/reset">
<input type="hidden" name="token" value="${token}">
!${passwordField({ label: 'New password', isNew: true, hint: PASSWORD_HINT, errors })}
<button>Set password</button>
</form>
<p class="quiet">You will be signed out everywhere.</p>
</div>`
  return renderPage({ title: 'Choose a new password', body })
}

/** Needs a click: email scanners follow links and would use up the link. */
export function confirmSignInPage(token: string): string {
  const body = html`<div class="card">
<h1>Sign in</h1>
<p>Continue only if you requested this link.</p>
<form method="post" action="/magic/sign-in">
<input type="hidden" name="token" value="${token}">
<button>Sign in</button>
</form>
</div>`
  return renderPage({ title: 'Sign in', body })
}

/** For a link that is used, expired or invalid. */
export function invalidLinkPage(requestPath: string): string {
  const body = html`<div class="card">
<h1>This link no longer works</h1>
<p>Each link works once and for a limited time. <a href="${requestPath}">Request a new one</a>.</p>
</div>`
  return renderPage({ title: 'This link no longer works', body })
}
