import { it } from 'node:test'
import { type Language, openToolchain } from '../toolchains.ts'
import { checkClient } from './generate-clients.ts'

const GENERATORS: [Language, string][] = [
  ['typescript', 'openapi-typescript'],
  ['python', 'openapi-python-client'],
  ['go', 'oapi-codegen'],
]

for (const [language, generator] of GENERATORS) {
  it(`${generator} generates a client that compiles`, { timeout: 900_000 }, test => {
    openToolchain(test, language, () => checkClient(language))
  })
}
