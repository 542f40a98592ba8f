import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createLogger } from './logger.ts'
import { type CompletedRequest, createServiceApp, type ServiceApp } from './service-app.ts'

/** Returns the reported requests of an app with two routes, without their durations. */
async function completedBy(send: (app: ServiceApp) => Promise<unknown>) {
  const completed: CompletedRequest[] = []
  const app = createServiceApp(createLogger('silent'), request => completed.push(request))
  const config = { operationId: 'readThing' }
  app.get('/things/:thing', { config }, async () => ({}))
  app.post('/plain', async () => {
    throw new Error('broken')
  })
  await send(app)
  for (const { seconds } of completed) assert.ok(seconds >= 0 && seconds < 60)
  return completed.map(({ operation, method, status }) => ({ operation, method, status }))
}

it('reports each response by its operation id, never by its path', async () => {
  const completed = await completedBy(app => app.inject({ url: '/things/jane@example.com?q=1' }))
  assert.deepEqual(completed, [{ operation: 'readThing', method: 'GET', status: 200 }])
})

it('reports routes without an operation id by their pattern, failures included', async () => {
  const completed = await completedBy(app => app.inject({ method: 'POST', url: '/plain' }))
  assert.deepEqual(completed, [{ operation: '/plain', method: 'POST', status: 500 }])
})

it('reports paths without a route without naming them', async () => {
  const completed = await completedBy(app => app.inject({ url: '/elsewhere/jane' }))
  assert.deepEqual(completed, [{ operation: null, method: 'GET', status: 404 }])
})
