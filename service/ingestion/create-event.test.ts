import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { serviceUnderTest } from '../../testing/service-under-test.ts'

it('202 stores a purchase, which the platform then receives once', async test => {
  const service = await serviceUnderTest(test)
  const reply = await service.submit(samplePurchase())
  assert.equal(reply.status, 202)
  assert.deepEqual(reply.body, { event_id: 'order-1001', duplicate: false, warnings: [] })
  assert.equal(await service.deliver(), 1)
  const { body } = await service.read('order-1001')
  assert.equal(body.deliveries[0].status, 'accepted')
  assert.equal((await service.received('event_id=order-1001')).count, 1)
})
