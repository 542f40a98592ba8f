import assert from 'node:assert/strict'
import { it } from 'node:test'
import { IngestionVerification } from '@signalbox/contract/agents/account.ts'
import {
  type AdAccountUnderTest,
  adAccountOf,
  adAccountUnderTest,
  assertShape,
} from '../../../testing/ad-account-under-test.ts'
import { addAdAccount } from '../../../testing/people-under-test.ts'
import { verifySignalIngestion } from './verify-ingestion.ts'

it('each tracker of the ad account stores one event, and once only', async test => {
  const ours = await adAccountUnderTest(test)
  await adAccountOf(ours.service, await ours.service.newTracker())
  const { trackerId } = ours.tracker
  const first = await verify(ours)
  assertShape(IngestionVerification, first)
  const expected = { tracker_id: trackerId, event_id: 'signal-verification', is_stored: true }
  assert.deepEqual(first.verifications, [{ ...expected, duplicate: false }])
  assert.deepEqual((await verify(ours)).verifications, [{ ...expected, duplicate: true }])
  const { rows } = await ours.service.database.pool.query('select tracker_id from events')
  assert.deepEqual(rows, [{ tracker_id: trackerId }])
  assert.equal(await ours.service.deliver(), 0)
})

it('what says that it was stored is read back', async test => {
  const ours = await adAccountUnderTest(test)
  const lost = async () => ({ eventId: 'signal-verification', isDuplicate: false })
  const { verifications } = await verify(ours, lost)
  assert.deepEqual(
    verifications.map(({ is_stored }) => is_stored),
    [false],
  )
})

it('an ad account without a tracker verifies nothing, and says so', async test => {
  const ours = await adAccountUnderTest(test)
  const adAccountId = await addAdAccount(ours.service, ours.workspaceId, 'Alone')
  const answer = await verify({ ...ours, principal: { ...ours.principal, adAccountId } })
  assert.deepEqual(answer.verifications, [])
  assert.match(answer.explanation, /^No tracker delivers for this ad account/)
})

it('403 without the permission to read', async test => {
  const ours = await adAccountUnderTest(test)
  const principal = { ...ours.principal, permissions: [] }
  await assert.rejects(verify({ ...ours, principal }), { name: 'Refusal', status: 403 })
})

type Verified = { eventId: string; isDuplicate: boolean }

/** As the server does it: through the same commits as every other event. */
function verify(
  { service, principal }: AdAccountUnderTest,
  verifyTracker = (trackerId: string) => verifiedOverHttp(service, trackerId),
) {
  return verifySignalIngestion({ database: service.database, verifyTracker }, principal)
}

async function verifiedOverHttp(
  { request, tracker }: AdAccountUnderTest['service'],
  trackerId: string,
): Promise<Verified> {
  assert.equal(trackerId, tracker.trackerId)
  const { body } = await request('POST', '/api/v1/verification-events')
  return { eventId: body.event_id, isDuplicate: body.duplicate }
}
