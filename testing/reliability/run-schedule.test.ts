import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../fixtures/sample-events.ts'
import { startTestService } from '../fixtures/service.ts'
import { describeWaiting } from './run-schedule.ts'

it('says what deliveries wait for', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const query = async (text: string) => (await service.database.pool.query(text)).rows
  const [waiting, ...others] = JSON.parse(`[${await describeWaiting({ query })}]`)
  assert.deepEqual(others, [])
  const { deliveries, platform, status, attempt_count, leased, destination } = waiting
  assert.deepEqual(
    { deliveries, platform, status, attempt_count, leased, destination },
    {
      deliveries: 1,
      platform: 'meta',
      status: 'queued',
      attempt_count: 0,
      leased: 0,
      destination: 'active',
    },
  )
})
