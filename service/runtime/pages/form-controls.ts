import { html } from 'ghtml'

/** One error message per field name. */
export type FormErrors = Record<string, string>

export interface TextField {
  name: string
  label: string
  type?: 'text' | 'email' | 'password' | 'time'
  value?: string
  hint?: string
  errors?: FormErrors
  /** See https://html.spec.whatwg.org/#autofill; password managers use it. */
  autocomplete?: string
  charactersMax?: number
  isOptional?: boolean
  /** Shows the number keys on a phone. */
  isNumeric?: boolean
}

/** A labeled text field. Screen readers announce its hint and its error. Returns HTML. */
export function textField(field: TextField): string {
  const { name, label, type = 'text', value = '', autocomplete = 'off', charactersMax } = field
  const length = charactersMax ? html` maxlength="${charactersMax}"` : ''
  const required = field.isOptional ? '' : ' required'
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<input id="${name}" name="${name}" type="${type}" value="${value}"!${required}
autocomplete="${autocomplete}"!${length}!${inputModeAttributes(field)}!${ariaAttributes(field)}>
</div>`
}

function inputModeAttributes({ type, isNumeric }: TextField): string {
  if (type === 'email') return ' inputmode="email" spellcheck="false"'
  return isNumeric ? ' inputmode="decimal"' : ''
}

/** A labeled text area. Returns HTML. */
export function textArea(field: Omit<TextField, 'type' | 'autocomplete' | 'isNumeric'>): string {
  const { name, label, value = '', charactersMax, isOptional } = field
  const length = charactersMax ? html` maxlength="${charactersMax}"` : ''
  const required = isOptional ? '' : ' required'
  // HTML parsers drop one line break after the tag, so one is added.
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<textarea id="${name}" name="${name}" rows="3"!${required}!${length}!${ariaAttributes(field)}>
${value}</textarea>
</div>`
}

export interface Choice {
  type: 'radio' | 'checkbox'
  name: string
  value: string
  isChosen: boolean
  /** The HTML of its label. */
  content: string
}

/** A radio button or checkbox whose whole row is clickable. Returns HTML. */
export function choiceOption({ type, name, value, isChosen, content }: Choice): string {
  return html`<label class="choice">
<input type="${type}" name="${name}" value="${value}"!${isChosen ? ' checked' : ''}>
<span>!${content}</span>
</label>`
}

/** Choices under one question, with a hint and an error. Returns HTML. */
export function choiceGroup(
  group: FieldMessages & { label: string; choices: readonly string[] },
): string {
  const { name, label, choices } = group
  // A group has no `aria-invalid` (WAI-ARIA 1.2, 6.6.11); the description announces its error.
  return html`<fieldset id="${name}" tabindex="-1"!${describedByAttribute(group)}>
<legend>${label}</legend>
!${fieldMessages(group)}
!${choices.join('')}
</fieldset>`
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

export interface SelectField {
  name: string
  label: string
  options: readonly (readonly [value: string, label: string])[]
  value?: string
  hint?: string
  errors?: FormErrors
}

/** A labeled drop-down list. Returns HTML. */
export function selectField(field: SelectField): string {
  const { name, label, options, value } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<select id="${name}" name="${name}"!${ariaAttributes(field)}>!${optionList(options, value)}</select>
</div>`
}

/** The options of a `select`. Returns HTML. */
function optionList(options: SelectField['options'], value?: string): string {
  const items = options.map(([key, text]) => {
    const selected = key === value ? ' selected' : ''
    return html`<option value="${key}"!${selected}>${text}</option>`
  })
  return items.join('')
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
