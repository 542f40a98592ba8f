import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const CHILDREN_MAX = 100

it('returns the parent and the children of an event, oldest child first', async test => {
  const service = await startTestService(test)
  await submitChild(service, 'cart', undefined)
  await submitChild(service, 'order', 'cart')
  await submitChild(service, 'refund-2', 'order')
  service.clock.advance(1)
  await submitChild(service, 'refund-1', 'order')
  const { event, lineage } = (await service.read('order')).body
  assert.equal(event.parent_event_id, 'cart')
  assert.equal(lineage.parent.id, 'cart')
  assert.deepEqual(idsOf(lineage.children), ['refund-2', 'refund-1'])
  const root = (await service.read('cart')).body
  assert.equal(root.lineage.parent, null)
  assert.deepEqual(idsOf(root.lineage.children), ['order'])
  const { deliveries, ...asParent } = root.event
  assert.deepEqual(lineage.parent, asParent)
  assert.equal(deliveries.length, 1)
})

it('returns the ID of a missing parent, and the parent once it exists', async test => {
  const service = await startTestService(test)
  await submitChild(service, 'order', 'cart')
  const early = (await service.read('order')).body
  assert.equal(early.event.parent_event_id, 'cart')
  assert.equal(early.lineage.parent, null)
  await submitChild(service, 'cart', undefined)
  assert.equal((await service.read('order')).body.lineage.parent.id, 'cart')
})

it('returns no parent or child of another tracker', async test => {
  const service = await startTestService(test)
  const { trackerSecret: secret } = await service.newTracker()
  for (const body of [
    samplePurchase({ event_id: 'cart' }),
    samplePurchase({ event_id: 'refund', parent_event_id: 'order' }),
  ]) {
    await service.request('POST', '/api/v1/events', { secret, body })
  }
  await submitChild(service, 'order', 'cart')
  const { lineage } = (await service.read('order')).body
  assert.deepEqual(lineage, { parent: null, children: [] })
})

it('returns events that are their own or each other’s parent', async test => {
  const service = await startTestService(test)
  await submitChild(service, 'self', 'self')
  const { lineage } = (await service.read('self')).body
  assert.equal(lineage.parent.id, 'self')
  assert.deepEqual(idsOf(lineage.children), ['self'])
  await submitChild(service, 'a', 'b')
  await submitChild(service, 'b', 'a')
  assert.equal((await service.read('a')).body.lineage.parent.id, 'b')
})

it(`returns the first ${CHILDREN_MAX} children of an event that has more`, async test => {
  const service = await startTestService(test)
  await submitChild(service, 'order', undefined)
  for (let index = 0; index <= CHILDREN_MAX; index += 1) {
    service.clock.advance(1)
    await submitChild(service, `item-${index}`, 'order')
  }
  const { lineage } = (await service.read('order')).body
  const ids = Array.from({ length: CHILDREN_MAX }, (_, index) => `item-${index}`)
  assert.deepEqual(idsOf(lineage.children), ids)
})

async function submitChild(
  service: TestService,
  event_id: string,
  parent_event_id: string | undefined,
): Promise<void> {
  const reply = await service.submit(samplePurchase({ event_id, parent_event_id }))
  assert.equal(reply.status, 202)
}

function idsOf(events: { id: string }[]): string[] {
  return events.map(({ id }) => id)
}
