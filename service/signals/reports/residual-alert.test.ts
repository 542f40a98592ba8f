import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { sendFromOtherSource } from '../../../testing/fixtures/simulator.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import type { AlertTransition } from './alert-store.ts'
import { makeDueReports } from './make-reports.ts'

/** From noon to 06:00 of the third day after. */
const TO_FINAL = 66 * HOUR_SECONDS
const DAY = 24 * HOUR_SECONDS

it('raises one alert for a large residual in the final report and resolves it later', async test => {
  const service = await startTestService(test)
  const transitions: AlertTransition[] = []
  const onAlert = (transition: AlertTransition) => void transitions.push(transition)
  const makeDue = () =>
    makeDueReports({ ...service.delivery, onAlert }, { now: service.clock.now() })

  await service.submit(samplePurchase())
  await service.deliver()
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Purchase', count: 10 }],
  })
  service.clock.advance(18 * HOUR_SECONDS)
  await makeDue()
  assert.deepEqual(transitions, [])
  service.clock.advance(TO_FINAL - 18 * HOUR_SECONDS)
  await makeDue()
  await makeDue()
  assert.equal(transitions.length, 1)
  assert.partialDeepStrictEqual(transitions[0], {
    kind: 'reconciliation_unexplained',
    transition: 'raised',
    trackerId: service.tracker.trackerId,
    sentence:
      'On 2026-11-21 the platform counts 10 events more than the report explains: see the ' +
      'reconciliation report.',
  })

  service.clock.advance(DAY)
  await makeDue()
  assert.deepEqual(
    transitions.map(({ transition }) => transition),
    ['raised', 'resolved'],
  )
})

it('raises no alert for a few unexplained events', async test => {
  const service = await startTestService(test)
  const transitions: AlertTransition[] = []
  await service.submit(samplePurchase())
  await service.deliver()
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Purchase', count: 9 }],
  })
  service.clock.advance(TO_FINAL)
  const context = {
    ...service.delivery,
    onAlert: (transition: AlertTransition) => void transitions.push(transition),
  }
  await makeDueReports(context, { now: service.clock.now() })
  assert.deepEqual(transitions, [])
})
