import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'

it('delivers, reads and replays deliveries whose ids need more than 32 bits', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  const last = 2 ** 33
  await service.database.pool.query(
    'insert into delivery_id_counters (tracker_id, last_id) values ($1, $2)',
    [trackerId, last],
  )
  const refusal = { error: { code: 100, message: 'Invalid parameter' } }
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 400, body: JSON.stringify(refusal) } },
  ])
  assert.equal((await service.submit(samplePurchase())).status, 202)
  await service.deliver()
  const [failed] = (await service.read('order-1001')).body.deliveries
  assert.deepEqual([failed.id, failed.status], [last + 1, 'failed:permanent'])

  const replay = (ids: number[]) =>
    service.request('POST', '/api/v1/deliveries/replay', { body: { delivery_ids: ids } })
  assert.equal((await replay([Number.MAX_SAFE_INTEGER + 1])).status, 422)
  assert.equal((await replay([Number.MAX_SAFE_INTEGER])).body.queued, 0)
  assert.equal((await replay([failed.id])).body.queued, 1)
  await service.deliver()
  const [accepted] = (await service.read('order-1001')).body.deliveries
  assert.deepEqual([accepted.id, accepted.status], [failed.id, 'accepted'])
  assert.equal(accepted.created_at, failed.created_at)
})
