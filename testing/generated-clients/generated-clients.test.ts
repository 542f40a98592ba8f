import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type ClientLanguage,
  checkClient,
  findProgram,
  isRequired,
  UnavailableError,
} from './generate-clients.ts'

const GENERATORS: [ClientLanguage, string][] = [
  ['typescript', 'openapi-typescript'],
  ['python', 'openapi-python-client'],
  ['go', 'oapi-codegen'],
]

for (const [language, generator] of GENERATORS) {
  it(`${generator} generates a client that compiles`, { timeout: 400_000 }, test => {
    try {
      checkClient(language)
    } catch (error) {
      if (!(error instanceof UnavailableError) || isRequired(language)) throw error
      test.skip(error.message)
    }
  })
}

it('names what is missing when PATH is empty', () => {
  const empty = { PATH: '' }
  assert.throws(() => findProgram('go', empty), { name: 'UnavailableError', message: /^Go is not/ })
  assert.throws(() => findProgram('python', empty), {
    name: 'UnavailableError',
    message: /^Python 3\.11 or newer is not on PATH\.$/,
  })
})

it('requires the languages that SIGNALBOX_REQUIRE_SDKS lists, and no other', () => {
  const environment = { SIGNALBOX_REQUIRE_SDKS: 'python,go' }
  assert.deepEqual(
    GENERATORS.map(([language]) => isRequired(language, environment)),
    [false, true, true],
  )
  assert.equal(isRequired('go', {}), false)
})
