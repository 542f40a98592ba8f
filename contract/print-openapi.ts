import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenapiDocument } from './openapi-document.ts'

/**
 * `npm run contract:print` writes the document beside this file; a test keeps it up to date. It is
 * unsigned: the release key is not in the repository.
 */
export function printOpenapi(): string {
  return formatDocument(createOpenapiDocument())
}

/** The form in which documents are stored and served, so that two can be compared. */
export function formatDocument(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, 'openapi.json'), printOpenapi())
}
