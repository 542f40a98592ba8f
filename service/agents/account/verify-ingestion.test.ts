import assert from 'node:assert/strict'
import { it } from 'node:test'
import { IngestionVerification } from '@signalbox/contract/agents/account.ts'
import {
  type AdAccountFixture,
  assertMatchesSchema,
  createAdAccountFixture,
  startAdAccountFixture,
} from '../../../testing/fixtures/ad-account.ts'
import { addAdAccount } from '../../../testing/fixtures/users.ts'
import { verifySignalIngestion } from './read-signal-health.ts'

it('stores one event for each tracker of the ad account, once', async test => {
  const ours = await startAdAccountFixture(test)
  await createAdAccountFixture(ours.service, await ours.service.newTracker())
  const { trackerId } = ours.tracker
  const first = await verify(ours)
  assertMatchesSchema(IngestionVerification, first)
  const expected = { tracker_id: trackerId, event_id: 'signal-verification', is_stored: true }
  assert.deepEqual(first.verifications, [{ ...expected, duplicate: false }])
  assert.deepEqual((await verify(ours)).verifications, [{ ...expected, duplicate: true }])
  const { rows } = await ours.service.database.pool.query('select tracker_id from events')
  assert.deepEqual(rows, [{ tracker_id: trackerId }])
  assert.equal(await ours.service.deliver(), 0)
})

it('reads the stored event back', async test => {
  const ours = await startAdAccountFixture(test)
  const lost = async () => ({ eventId: 'signal-verification', isDuplicate: false })
  const { verifications } = await verify(ours, lost)
  assert.deepEqual(
    verifications.map(({ is_stored }) => is_stored),
    [false],
  )
})

it('verifies nothing for an ad account without a tracker, and explains it', async test => {
  const ours = await startAdAccountFixture(test)
  const adAccountId = await addAdAccount(ours.service, ours.workspaceId, 'Alone')
  const answer = await verify({ ...ours, principal: { ...ours.principal, adAccountId } })
  assert.deepEqual(answer.verifications, [])
  assert.match(answer.explanation, /^No tracker delivers for this ad account/)
})

it('returns 403 without the permission to read', async test => {
  const ours = await startAdAccountFixture(test)
  const principal = { ...ours.principal, permissions: [] }
  await assert.rejects(verify({ ...ours, principal }), { name: 'Refusal', status: 403 })
})

type Verified = { eventId: string; isDuplicate: boolean }

/** Uses the same group commit as the server. */
function verify(
  { service, principal }: AdAccountFixture,
  verifyTracker = (trackerId: string) => verifiedOverHttp(service, trackerId),
) {
  return verifySignalIngestion({ database: service.database, verifyTracker }, principal)
}

async function verifiedOverHttp(
  { request, tracker }: AdAccountFixture['service'],
  trackerId: string,
): Promise<Verified> {
  assert.equal(trackerId, tracker.trackerId)
  const { body } = await request('POST', '/api/v1/verification-events')
  return { eventId: body.event_id, isDuplicate: body.duplicate }
}
