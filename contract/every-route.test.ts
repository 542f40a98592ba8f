import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../testing/fixtures/service.ts'
import { BASE_PATH } from './operations.ts'
import { printOpenapi } from './print-openapi.ts'

/** HEAD comes with every GET, and OPTIONS is how a browser asks; neither is an operation. */
const SILENT_METHODS = ['HEAD', 'OPTIONS']

it('every route under the base path is in the document, and every operation is a route', async test => {
  const { routes } = await startTestService(test)
  const served = routes
    .filter(({ url, method }) => url.startsWith(BASE_PATH) && !SILENT_METHODS.includes(method))
    .map(
      ({ url, method }) => `${method} ${url.slice(BASE_PATH.length).replaceAll(/:(\w+)/g, '{$1}')}`,
    )
  const { paths } = JSON.parse(printOpenapi())
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map(method => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(served.length > 10)
  assert.deepEqual(served.sort(), documented.sort())
})
