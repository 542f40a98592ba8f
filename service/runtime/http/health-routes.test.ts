import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { type HealthOptions, healthRoutes } from './health-routes.ts'
import { createLogger } from './logger.ts'
import { createServiceApp } from './service-app.ts'

it('returns 200 from /livez and /readyz without a credential', async test => {
  const service = await startTestService(test)
  const live = await service.request('GET', '/livez', { secret: null })
  assert.equal(live.status, 200)
  assert.deepEqual(live.body, { status: 'ok' })
  const ready = await service.request('GET', '/readyz', { secret: null })
  assert.equal(ready.status, 200)
  assert.deepEqual(ready.body, { status: 'ok', failed: [] })
})

it('returns 503 from /readyz with each failed check and the pause reason, and 200 from /livez', async () => {
  let pause: string | null = 'start'
  const app = appWith({
    pauseReason: () => pause,
    checks: [
      { name: 'store', check: () => Promise.reject(new Error('password=hunter2')) },
      { name: 'disk', check: async () => {} },
    ],
  })
  const ready = await app.inject({ url: '/readyz' })
  assert.equal(ready.statusCode, 503)
  assert.equal(ready.headers['retry-after'], '2')
  assert.deepEqual(ready.json(), { status: 'unavailable', failed: ['store', 'start'] })
  pause = null
  const checked = await app.inject({ url: '/readyz' })
  assert.deepEqual(checked.json(), { status: 'unavailable', failed: ['store'] })
  assert.equal((await app.inject({ url: '/livez' })).statusCode, 200)
})

it('distinguishes starting and stopping from an unavailable store', async () => {
  let pause: string | null = 'shutdown'
  const app = appWith({ pauseReason: () => pause, checks: [] })
  const ending = await app.inject({ url: '/readyz' })
  assert.equal(ending.statusCode, 503)
  assert.deepEqual(ending.json(), { status: 'unavailable', failed: ['shutdown'] })
  pause = null
  assert.equal((await app.inject({ url: '/readyz' })).statusCode, 200)
})

it('shows circuit states and stays ready in each of them', async () => {
  const circuits = { open: 1_000, half_open: 2, throttled: 3 }
  const app = appWith({ pauseReason: () => null, checks: [], circuits: () => circuits })
  const ready = await app.inject({ url: '/readyz' })
  assert.equal(ready.statusCode, 200)
  assert.deepEqual(ready.json(), { status: 'ok', failed: [], circuits })
})

function appWith(health: HealthOptions) {
  const app = createServiceApp(createLogger('silent'))
  healthRoutes(app, health)
  return app
}
