import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { BASE_PATH, getEvent } from '@signalbox/contract/operations.ts'
import { deleteUserData, listEvents } from '@signalbox/contract/report-operations.ts'
import { createLogger } from './logger.ts'
import { createServiceApp, type ServiceApp } from './service-app.ts'

/**
 * The type check fails as soon as a route may read a member of what no validator has seen: then the
 * errors that are expected here are missing. The requests show why: nothing checks them.
 */
function echoRoutes(app: ServiceApp): void {
  app.route({
    ...deleteUserData,
    async handler({ body }, reply) {
      // @ts-expect-error The body is unknown.
      const { identifier_hash: digest } = body
      return reply.send(digest)
    },
  })
  app.route({
    ...listEvents,
    async handler({ query }, reply) {
      // @ts-expect-error The query is unknown.
      const { page } = query
      return reply.send(page)
    },
  })
  app.route({
    ...getEvent,
    async handler({ params }, reply) {
      // @ts-expect-error The parameters of the path are unknown.
      const { event } = params
      return reply.send(event)
    },
  })
}

it('hands a handler what the schema of its route forbids, without a type', async () => {
  const app = createServiceApp(createLogger('silent'))
  app.register(async api => echoRoutes(api), { prefix: BASE_PATH })
  const request = async (method: 'GET' | 'DELETE', path: string, payload?: object) => {
    const url = `${BASE_PATH}${path}`
    return (await app.inject({ method, url, ...(payload && { payload }) })).body
  }
  assert.equal(await request('DELETE', '/user-data', { identifier_hash: [1] }), '[1]')
  assert.equal(await request('GET', '/dashboard/events?page=none'), 'none')
  await app.close()
})

/** A cast to an object of unknown members claims nothing. */
const CAST = /(request\.|[^.\w])(body|query|params|form) as (?!UntrustedObject\b)[A-Z{]/

it('has no cast that gives unvalidated input a type', () => {
  assert.match('const { page } = request.query as { page: string }', CAST)
  assert.match('(params as PathParams).workspace', CAST)
  const service = join(import.meta.dirname, '../..')
  const files = globSync('**/*.ts', { cwd: service, exclude: ['**/*.test.ts'] })
  assert.ok(files.length > 100)
  const casts = files.filter(file => CAST.test(readFileSync(join(service, file), 'utf8')))
  assert.deepEqual(casts, [])
})
