import assert from 'node:assert/strict'
import { it } from 'node:test'
import { lintOpenapi } from './lint-openapi.ts'
import { createOpenapiDocument } from './openapi-document.ts'
import { formatDocument, printOpenapi } from './print-openapi.ts'
import { generateSigningKey, readSigningKey, signOpenapi } from './signing-key.ts'

it('the linter finds no problem in the printed document', async () => {
  assert.deepEqual(await lintOpenapi(printOpenapi()), [])
})

it('the linter finds no problem in a signed document with its own server URL', async () => {
  const key = await readSigningKey(generateSigningKey(), 'development')
  assert.ok(key)
  const signed = await signOpenapi(
    createOpenapiDocument('https://events.signalbox.test/api/v1'),
    key,
  )
  assert.deepEqual(await lintOpenapi(formatDocument(signed)), [])
})

it('the linter reports errors in structure, references, examples, headers and names', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a document is broken on purpose
  const document: any = structuredClone(createOpenapiDocument())
  const { post } = document.paths['/events']
  post.surprise = true
  post.requestBody.content['application/json'].examples.purchase.value.event_name = 7
  post.responses['200'].headers = {}
  post.operationId = 'getEvent'
  document.paths['/events/{event}'].get.responses['200'].content = { 'text/html': {} }
  document.components.schemas.Idle = { $ref: '#/components/schemas/Nothing' }
  const found = await lintOpenapi(formatDocument(document))
  const rules = new Set(found.map(line => line.split(' ', 1)[0]))
  for (const rule of [
    'struct',
    'no-unresolved-refs',
    'no-invalid-media-type-examples',
    'no-unused-components',
    'response-contains-header',
    'response-mime-type',
    'operation-operationId-unique',
  ]) {
    assert.ok(rules.has(rule), `${rule} found nothing`)
  }
})
