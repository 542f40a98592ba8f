import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { expireCounts } from './expire-events.ts'

it('deletes refusals with their values, counts, causes of failures and names of events after a month', async test => {
  const service = await startTestService(test)
  const { database, clock, submit, deliver, server, simulatorUrl } = service
  await scriptFaults(simulatorUrl, [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }])
  await submit(samplePurchase())
  await submit({ ...samplePurchase(), event_time: 'x' })
  await deliver()
  await server.flushRefusals()
  const expire = (batchesMax?: number) =>
    expireCounts({ database, now: clock.now(), ...(batchesMax && { batchesMax }) })

  clock.advance(31 * DAY_SECONDS - 3_600)
  assert.deepEqual(await expire(), { rows: 0, more: false })
  clock.advance(DAY_SECONDS)
  assert.deepEqual(await expire(1), { rows: 1, more: true })
  const [one, other] = await Promise.all([expire(), expire()])
  assert.equal(one.rows + other.rows, 5)
  assert.deepEqual(await expire(), { rows: 0, more: false })
})
