import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import type { FormErrors } from './form-controls.ts'

export const FORM_BYTES_MAX = 16_384
const FIELDS_MAX = 50

/** Makes forms the only accepted body of `app`, an encapsulated part of the service. */
export function acceptFormBodies(app: ServiceApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
    async (_: unknown, bytes: Buffer) => parseForm(bytes),
  )
}

/** Returns the trimmed, truncated value of a field; empty when it is missing. */
export function readFormText(form: unknown, name: string, charactersMax = 300): string {
  const text = form instanceof URLSearchParams ? (form.get(name) ?? '') : ''
  return text.trim().slice(0, charactersMax)
}

/** Returns a secret untrimmed: a space at its end may be part of it. */
export function readFormSecret(form: unknown, name: string): string {
  return form instanceof URLSearchParams ? (form.get(name) ?? '') : ''
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
    if (text.includes('\0') || !text.isWellFormed()) {
      throw new Refusal(400, 'The form must hold valid Unicode text without NUL.')
    }
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
