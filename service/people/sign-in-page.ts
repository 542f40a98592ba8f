import { html } from 'ghtml'
import {
  emailField,
  type FieldFaults,
  faultSummary,
  message,
  passwordField,
  textField,
} from '../pages/form-controls.ts'
import { page } from '../pages/layout.ts'
import type { SocialProvider } from './auth-library.ts'
import { PASSWORD_HINT } from './password-rules.ts'

export interface SignInPage {
  returnTo: string
  social: readonly SocialProvider[]
  email?: string
  faults?: FieldFaults
  /** What happened before, such as "Your password is changed." */
  notice?: string | undefined
}

/** Address and password, or a link by mail, or a provider. Returns the whole document. */
export function signInPage({ returnTo, social, email = '', faults = {}, notice }: SignInPage) {
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const body = html`<div class="card">
<h1>Sign in</h1>
!${notice === undefined ? '' : message('success', notice)}
!${faultSummary(faults)}
<form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${returnTo}">
!${emailField({ value: email, faults })}
!${passwordField({ faults })}
<button>Sign in</button>
</form>
!${social.map(provider => socialForm(provider, returnTo)).join('')}
<p><a href="/magic">Mail me a link instead</a> or <a href="/forgot">choose a new password</a>.</p>
<p>New here? <a href="/sign-up${query}">Make an account</a></p>
</div>`
  return page({ title: 'Sign in', body })
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

export interface SignUpPage {
  returnTo: string
  values?: { name: string; email: string }
  faults?: FieldFaults
}

const NAME_FIELD = {
  name: 'name',
  label: 'Your name',
  autocomplete: 'name',
  charactersMax: 100,
} as const

export function signUpPage({ returnTo, values, faults = {} }: SignUpPage): string {
  const query = `?${new URLSearchParams({ return_to: returnTo })}`
  const body = html`<div class="card">
<h1>Make an account</h1>
!${faultSummary(faults)}
<form method="post" action="/sign-up">
<input type="hidden" name="return_to" value="${returnTo}">
!${textField({ ...NAME_FIELD, value: values?.name ?? '', faults })}
!${emailField({ value: values?.email ?? '', faults })}
!${passwordField({ isNew: true, hint: PASSWORD_HINT, faults })}
<button>Make an account</button>
</form>
<p>You have one? <a href="/sign-in${query}">Sign in</a></p>
</div>`
  return page({ title: 'Make an account', body })
}
