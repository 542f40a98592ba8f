import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SHOP_ORIGIN } from '../testing/fixtures/sample-events.ts'
import { startTestService } from '../testing/fixtures/service.ts'
import { NDJSON_MEDIA_TYPE } from './event-batches.ts'
import document from './openapi.json' with { type: 'json' }

const TYPES = [
  ...['application/json', 'text/plain', NDJSON_MEDIA_TYPE, 'text/html', 'application/xml'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'image/png'],
]

interface Operation {
  description?: string
  requestBody?: { content: Record<string, unknown> }
  security?: Record<string, unknown>[]
}

const OPERATIONS = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Operation>)
    .filter(([, { requestBody }]) => requestBody !== undefined)
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

type Scheme = { type: string; 'x-request-media-types'?: string[] }
const SCHEMES: Record<string, Scheme> = document.components.securitySchemes

/** Those of the body, those of the credential, and lines of JSON where the operation says so. */
function listDeclared({ requestBody, description = '' }: Operation, scheme: string): string[] {
  const ofScheme = SCHEMES[scheme]?.['x-request-media-types'] ?? []
  const lines = description.includes(NDJSON_MEDIA_TYPE) ? [NDJSON_MEDIA_TYPE] : []
  return [...Object.keys(requestBody?.content ?? {}), ...ofScheme, ...lines]
}

it('the service takes the media types that the document declares, with each credential', async test => {
  const service = await startTestService(test)
  const { publishableKey } = service.tracker
  const page = { origin: SHOP_ORIGIN }
  const credentials: Record<string, { headers: Record<string, string>; query: string }> = {
    trackerSecret: {
      headers: { authorization: `Bearer ${service.tracker.trackerSecret}` },
      query: '',
    },
    publishableKey: { headers: { ...page, authorization: `Bearer ${publishableKey}` }, query: '' },
    publishableKeyInQuery: { headers: page, query: `?key=${publishableKey}` },
  }
  let asked = 0
  for (const { method, path, operation } of OPERATIONS) {
    const schemes = (operation.security ?? document.security).flatMap(Object.keys)
    for (const scheme of schemes.filter(name => name in credentials)) {
      const { headers, query } = credentials[scheme] as (typeof credentials)[string]
      const declared = listDeclared(operation, scheme)
      for (const type of TYPES) {
        const address = `/api/v1${path.replace(/\{\w+\}/g, 'unknown')}${query}`
        const sent = { secret: null, rawBody: '{}', headers: { ...headers, 'content-type': type } }
        const { status } = await service.request(method, address, sent)
        const isDeclared = declared.includes(type)
        assert.notEqual(status, 401, `${method} ${path} with ${scheme}`)
        assert.equal(status !== 415, isDeclared, `${method} ${path}, ${scheme}, ${type}: ${status}`)
        asked += 1
      }
    }
  }
  assert.ok(asked >= 11 * TYPES.length, `${asked}`)
})
