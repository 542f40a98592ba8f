import Type, { type TObject, type TProperties, type TSchema } from 'typebox'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { isStorableText, VALID_TEXT } from '../http/validator.ts'
import type { FormErrors } from './form-controls.ts'

export const FORM_BYTES_MAX = 16_384
/** The policy has six limits for each of several currencies. */
const FIELDS_MAX = 200

/** Makes forms the only accepted body of `app`, an encapsulated part of the service. */
export function acceptFormBodies(app: ServiceApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
    async (_: unknown, bytes: Buffer) => parseForm(bytes),
  )
}

const TEXT_CHARACTERS_MAX = 300

interface FormField extends TSchema {
  /** Cuts a longer text. */
  cutAt?: number
  isSecret?: boolean
}

/** A field of text, which is trimmed and cut. */
export function formText(cutAt = TEXT_CHARACTERS_MAX) {
  return Type.String({ cutAt })
}

/** A secret is neither trimmed nor cut: a space at its end may be part of it. */
export function formSecret() {
  return Type.String({ isSecret: true })
}

/** All text, also of fields that are numbers in a body. */
export type FormValues<Fields extends TProperties> = {
  [Name in keyof Fields]: string
}

/**
 * Returns the fields of a submitted form, those of a schema: of a page's own, or of the contract
 * where an operation validates them. A missing field is empty.
 */
export function readForm<Fields extends TProperties>(
  body: unknown,
  { properties }: TObject<Fields>,
): FormValues<Fields> {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams()
  const values = Object.entries(properties).map(([name, field]) => [
    name,
    readField(form.get(name) ?? '', field),
  ])
  return Object.fromEntries(values)
}

function readField(text: string, { cutAt = TEXT_CHARACTERS_MAX, isSecret }: FormField): string {
  return isSecret ? text : text.trim().slice(0, cutAt)
}

/** What a form shows of a 422: the first sentence about each field. Rethrows any other error. */
export function toFormErrors(error: unknown): FormErrors {
  if (!(error instanceof Refusal) || error.status !== 422) throw error
  const entries = Object.entries(error.errors ?? { '': [error.message] })
  return Object.fromEntries(entries.map(([name, [sentence = '']]) => [name, sentence]))
}

function parseForm(bytes: Buffer): URLSearchParams {
  const form = new URLSearchParams(bytes.toString('utf8'))
  if (form.size > FIELDS_MAX) throw new Refusal(400, 'The form has too many fields.')
  for (const text of form.values()) {
    if (!isStorableText(text)) throw new Refusal(400, `The form must hold ${VALID_TEXT}.`)
  }
  return form
}

const PATH_CHARACTERS_MAX = 2_000

/**
 * Returns where to go after sign-in, from a query or a form: a path of this site, else `fallback`.
 * A value that a browser could read as another site (`//evil`, `/\evil`, `https:`, an embedded tab)
 * becomes the fallback, so that a link to the sign-in page is no open redirect (CWE-601).
 */
export function safeReturnPath(given: unknown, fallback = '/workspaces'): string {
  if (typeof given !== 'string' || given.length > PATH_CHARACTERS_MAX) return fallback
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(given) || given.includes('\\')) return fallback
  const ours = 'http://ours.invalid'
  const url = URL.canParse(given, ours) ? new URL(given, ours) : null
  if (url?.origin !== ours || url.pathname.startsWith('//')) return fallback
  return `${url.pathname}${url.search}${url.hash}`
}
