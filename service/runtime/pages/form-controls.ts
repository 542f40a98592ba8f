import { html } from 'ghtml'

/** One error message per field name. */
export type FormErrors = Record<string, string>

export interface TextField {
  name: string
  label: string
  type?: 'text' | 'email' | 'password'
  value?: string
  hint?: string
  errors?: FormErrors
  /** See https://html.spec.whatwg.org/#autofill; password managers use it. */
  autocomplete?: string
  charactersMax?: number
}

/** A labeled text field. Screen readers announce its hint and its error. Returns HTML. */
export function textField(field: TextField): string {
  const { name, label, type = 'text', value = '', autocomplete = 'off', charactersMax } = field
  const inputMode = type === 'email' ? ' inputmode="email" spellcheck="false"' : ''
  const length = charactersMax ? html` maxlength="${charactersMax}"` : ''
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<input id="${name}" name="${name}" type="${type}" value="${value}" required
autocomplete="${autocomplete}"!${length}!${inputMode}!${ariaAttributes(field)}>
</div>`
}

export interface EmailField {
  value?: string
  errors?: FormErrors
  /** `username` where it names the account of the person who types it. */
  autocomplete?: string
}

/** The field `email`. Returns HTML. */
export function emailField({ value = '', ...more }: EmailField): string {
  const field = { name: 'email', label: 'Email', type: 'email', value } as const
  return textField({ autocomplete: 'username', ...field, ...more })
}

export interface PasswordField {
  name?: string
  label?: string
  isNew?: boolean
  hint?: string
  errors?: FormErrors
}

/** A password field, which is never prefilled. Returns HTML. */
export function passwordField({ isNew = false, ...more }: PasswordField): string {
  const field = { name: 'password', label: 'Password', type: 'password' } as const
  const autocomplete = isNew ? 'new-password' : 'current-password'
  return textField({ ...field, autocomplete, ...more })
}

/** A short status label. Its color repeats what the label says. Returns HTML. */
export function tag(label: string, look?: 'success' | 'notice' | 'danger'): string {
  return html` <span class="tag!${look === undefined ? '' : ` ${look}`}">${label}</span>`
}

/**
 * The list of errors above a form, each a link to its field. It takes the focus, so that a screen
 * reader starts with it. Empty without errors.
 */
export function errorSummary(errors: FormErrors): string {
  const entries = Object.entries(errors)
  if (entries.length === 0) return ''
  const items = entries.map(([name, sentence]) => {
    // An error of the whole form has no field.
    if (name === '') return html`<li>${sentence}</li>`
    return html`<li><a href="#${name}">${sentence}</a></li>`
  })
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>Please check</h2>
<ul class="plain">!${items.join('')}</ul>
</div>`
}

/** A highlighted message. Returns HTML. */
export function message(kind: 'success' | 'notice' | 'danger', sentence: string): string {
  return html`<div class="message ${kind}" role="status"><p>${sentence}</p></div>`
}

/** A form with one button that sends hidden `fields`. Returns HTML. */
export function buttonForm(form: {
  action: string
  label: string
  fields?: Record<string, string>
  look?: string
  /** The subject of the button for screen readers, such as the row it belongs to. */
  about?: string
}): string {
  const { action, label, fields = {}, look = 'quiet small', about } = form
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  const named = about === undefined ? '' : html` aria-label="${label}: ${about}"`
  return html`<form method="post" action="${action}">!${hidden.join('')}
<button class="${look}"!${named}>${label}</button></form>`
}

interface FieldMessages {
  name: string
  hint?: string
  errors?: FormErrors
}

function fieldMessages({ name, hint, errors = {} }: FieldMessages): string {
  const error = errors[name]
  return [
    hint === undefined ? '' : html`<span class="hint" id="${name}-hint">${hint}</span>`,
    error === undefined ? '' : html`<span class="error" id="${name}-error">${error}</span>`,
  ].join('')
}

function ariaAttributes(field: FieldMessages): string {
  const { name, errors = {} } = field
  return describedByAttribute(field) + (errors[name] === undefined ? '' : ' aria-invalid="true"')
}

function describedByAttribute({ name, hint, errors = {} }: FieldMessages): string {
  const ids: string[] = []
  if (hint !== undefined) ids.push(`${name}-hint`)
  if (errors[name] !== undefined) ids.push(`${name}-error`)
  return ids.length === 0 ? '' : html` aria-describedby="${ids.join(' ')}"`
}
