import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createLogger } from './logger.ts'
import { type CompletedRequest, createServiceApp, type ServiceApp } from './service-app.ts'

/** What is told of the requests to an app with two routes, without the time that they took. */
async function toldOf(ask: (app: ServiceApp) => Promise<unknown>) {
  const told: CompletedRequest[] = []
  const app = createServiceApp(createLogger('silent'), answered => told.push(answered))
  const config = { operationId: 'readThing' }
  app.get('/things/:thing', { config }, async () => ({}))
  app.post('/plain', async () => {
    throw new Error('broken')
  })
  await ask(app)
  for (const { seconds } of told) assert.ok(seconds >= 0 && seconds < 60)
  return told.map(({ operation, method, status }) => ({ operation, method, status }))
}

it('tells of each answer by the name of its operation, never by what was asked for', async () => {
  const told = await toldOf(app => app.inject({ url: '/things/jane@example.com?q=1' }))
  assert.deepEqual(told, [{ operation: 'readThing', method: 'GET', status: 200 }])
})

it('tells of routes without an operation by their path, and of failures too', async () => {
  const told = await toldOf(app => app.inject({ method: 'POST', url: '/plain' }))
  assert.deepEqual(told, [{ operation: '/plain', method: 'POST', status: 500 }])
})

it('tells of paths without a route without naming them', async () => {
  const told = await toldOf(app => app.inject({ url: '/elsewhere/jane' }))
  assert.deepEqual(told, [{ operation: null, method: 'GET', status: 404 }])
})
