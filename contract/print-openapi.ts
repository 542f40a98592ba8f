import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openapiDocument } from './openapi-document.ts'

/** `npm run contract:print`: writes the document beside this file. A test keeps it fresh. */
export function printOpenapi(): string {
  return `${JSON.stringify(openapiDocument(), null, 2)}\n`
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, 'openapi.json'), printOpenapi())
}
