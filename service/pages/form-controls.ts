import { html } from 'ghtml'

/** The sentence about each field that is wrong, by its name. */
export type FormErrors = Record<string, string>

export interface TextField {
  name: string
  label: string
  type?: 'text' | 'email' | 'password' | 'time'
  value?: string
  hint?: string
  errors?: FormErrors
  /** https://html.spec.whatwg.org/#autofill, so that password managers know what is asked. */
  autocomplete?: string
  charactersMax?: number
  /** May be left empty. */
  isOptional?: boolean
  /** A number is asked for: a phone shows the keys for it. */
  isNumeric?: boolean
}

/** A labelled text field; its hint and its fault are read out with it. Returns HTML. */
export function textField(field: TextField): string {
  const { name, label, type = 'text', value = '', autocomplete = 'off', charactersMax } = field
  const length = charactersMax ? html` maxlength="${charactersMax}"` : ''
  const required = field.isOptional ? '' : ' required'
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<input id="${name}" name="${name}" type="${type}" value="${value}"!${required}
autocomplete="${autocomplete}"!${length}!${inputModeAttributes(field)}!${accessibilityAttributes(field)}>
</div>`
}

function inputModeAttributes({ type, isNumeric }: TextField): string {
  if (type === 'email') return ' inputmode="email" spellcheck="false"'
  return isNumeric ? ' inputmode="decimal"' : ''
}

/** A labelled field for more than one line. Returns HTML. */
export function textArea(field: Omit<TextField, 'type' | 'autocomplete' | 'isNumeric'>): string {
  const { name, label, value = '', charactersMax, isOptional } = field
  const length = charactersMax ? html` maxlength="${charactersMax}"` : ''
  const required = isOptional ? '' : ' required'
  // The parser drops one line break after the tag, so that one of the text's own is not lost.
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<textarea id="${name}" name="${name}" rows="3"!${required}!${length}!${accessibilityAttributes(field)}>
${value}</textarea>
</div>`
}

export interface Choice {
  type: 'radio' | 'checkbox'
  name: string
  value: string
  isChosen: boolean
  /** HTML of what stands beside it. */
  content: string
}

/** One of several that can be chosen: the whole row is the target. Returns HTML. */
export function choiceOption({ type, name, value, isChosen, content }: Choice): string {
  return html`<label class="choice">
<input type="${type}" name="${name}" value="${value}"!${isChosen ? ' checked' : ''}>
<span>!${content}</span>
</label>`
}

/** Choices under one question, with its hint and its fault. Returns HTML. */
export function choiceGroup(
  group: FieldMessages & { label: string; choices: readonly string[] },
): string {
  const { name, label, choices } = group
  // A group has no `aria-invalid` (WAI-ARIA 1.2, 6.6.11); its fault is read out with it.
  return html`<fieldset id="${name}" tabindex="-1"!${describedByAttribute(group)}>
<legend>${label}</legend>
!${fieldMessages(group)}
!${choices.join('')}
</fieldset>`
}

export interface EmailField {
  value?: string
  errors?: FormErrors
  /** `username` where it names the account; nothing where it is somebody else's. */
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

/** Never filled in by us. Returns HTML. */
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

/** A labelled list of which one is chosen. Returns HTML. */
export function selectField(field: SelectField): string {
  const { name, label, options, value } = field
  return html`<div class="field">
<label for="${name}">${label}</label>
!${fieldMessages(field)}
<select id="${name}" name="${name}"!${accessibilityAttributes(field)}>!${optionList(options, value)}</select>
</div>`
}

/** What stands in a `select`. Returns HTML. */
export function optionList(options: SelectField['options'], value?: string): string {
  const items = options.map(([key, text]) => {
    const selected = key === value ? ' selected' : ''
    return html`<option value="${key}"!${selected}>${text}</option>`
  })
  return items.join('')
}

/** A word that says in which state something is. Returns HTML. */
export function tag(word: string): string {
  return html` <span class="tag">${word}</span>`
}

/**
 * On top of a form that was refused: everything that is wrong, each a link to its field. It takes
 * the focus, so that a screen reader begins with it. Empty without faults.
 */
export function errorSummary(faults: FormErrors): string {
  const entries = Object.entries(faults)
  if (entries.length === 0) return ''
  const items = entries.map(([name, sentence]) => {
    // A fault of the whole form has no field to go to.
    if (name === '') return html`<li>${sentence}</li>`
    return html`<li><a href="#${name}">${sentence}</a></li>`
  })
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>Please check</h2>
<ul class="plain">!${items.join('')}</ul>
</div>`
}

/** A sentence that stands out. Returns HTML. */
export function message(kind: 'success' | 'notice' | 'danger', sentence: string): string {
  return html`<div class="message ${kind}" role="status"><p>${sentence}</p></div>`
}

/** A form that is one button. `fields` go along. Returns HTML. */
export function buttonForm(form: {
  action: string
  label: string
  fields?: Record<string, string>
  look?: string
  /** For screen readers, where the label alone says too little: which row it belongs to. */
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

function fieldMessages({ name, hint, errors: faults = {} }: FieldMessages): string {
  const fault = faults[name]
  return [
    hint === undefined ? '' : html`<span class="hint" id="${name}-hint">${hint}</span>`,
    fault === undefined ? '' : html`<span class="fault" id="${name}-fault">${fault}</span>`,
  ].join('')
}

function accessibilityAttributes(field: FieldMessages): string {
  const { name, errors: faults = {} } = field
  return describedByAttribute(field) + (faults[name] === undefined ? '' : ' aria-invalid="true"')
}

function describedByAttribute({ name, hint, errors: faults = {} }: FieldMessages): string {
  const ids = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(faults[name] === undefined ? [] : [`${name}-fault`]),
  ]
  return ids.length === 0 ? '' : html` aria-describedby="${ids.join(' ')}"`
}
