import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { createServiceApp } from '../../runtime/http/service-app.ts'
import { guardRoutes } from './guard-routes.ts'

it('refuses to start with a route that declares no credential', () => {
  const app = createServiceApp(createLogger('silent'))
  guardRoutes(app, () => Promise.reject(new Error('not called')))
  const open = () => app.get('/open', async () => ({}))
  assert.throws(open, /the route \/open names no credential/)
})

it('authenticates the tracker on tracker routes only', async () => {
  const app = createServiceApp(createLogger('silent'))
  const received: (string | undefined)[] = []
  const tracker = { trackerId: 'tracker-1', workspaceId: 7 }
  guardRoutes(app, async authorization => {
    received.push(authorization)
    return tracker
  })
  app.get('/free', { config: { credential: 'none' } }, async request => ({ of: request.tracker }))
  app.get('/own', { config: { credential: 'tracker' } }, async request => ({ of: request.tracker }))
  const headers = { authorization: 'Bearer x' }
  assert.deepEqual((await app.inject({ url: '/free', headers })).json(), { of: null })
  assert.deepEqual(received, [])
  assert.deepEqual((await app.inject({ url: '/own', headers })).json(), { of: tracker })
  assert.deepEqual(received, ['Bearer x'])
})

it('returns 403 with a reason for a valid secret that a browser sent', async test => {
  const service = await startTestService(test)
  const origin = { origin: 'https://shop.example' }
  const reply = await service.submit(samplePurchase(), origin)
  assert.equal(reply.status, 403)
  assert.deepEqual(reply.body, {
    message:
      'This tracker secret came from a browser (Origin header), where anyone can read it: ' +
      'revoke it, and send events from your server.',
  })
  assert.equal(reply.headers.get('access-control-allow-origin'), null)
  assert.equal((await service.read('order-1001')).status, 404)
  const unknown = await service.request('POST', '/api/v1/events', {
    secret: 'garbage',
    body: samplePurchase(),
    headers: origin,
  })
  assert.equal(unknown.status, 401)
  const health = await service.request('GET', '/livez', { secret: null, headers: origin })
  assert.equal(health.status, 200)
})
