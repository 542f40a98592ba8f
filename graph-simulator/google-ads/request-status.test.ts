import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { findUnknownMembers, readWithGoogleTypes } from './google-message-types.ts'
import {
  googleUnderTest,
  SAMPLE_DESTINATION,
  sampleGoogleEvent,
  sampleIngest,
} from './google-under-test.ts'

const DAY_MILLISECONDS = 86_400_000

it('is PROCESSING at first and then names the result in counts', async test => {
  const { ingest, readStatus, advance } = await googleUnderTest(test)
  const old = new Date(SAMPLE_NOW.getTime() - 64 * DAY_MILLISECONDS).toISOString()
  const { body } = await ingest(
    sampleIngest(
      sampleGoogleEvent(),
      sampleGoogleEvent({ transactionId: 'old', eventTimestamp: old }),
      sampleGoogleEvent({ transactionId: 'no', consent: { adUserData: 'CONSENT_DENIED' } }),
    ),
  )
  const early = await readStatus(body.requestId)
  assert.equal(early.body.requestStatusPerDestination[0].requestStatus, 'PROCESSING')
  advance(60)
  const { body: result } = await readStatus(body.requestId)
  assert.deepEqual(result.requestStatusPerDestination, [
    {
      destination: SAMPLE_DESTINATION,
      requestStatus: 'PARTIAL_SUCCESS',
      errorInfo: {
        errorCounts: [
          { recordCount: '1', reason: 'PROCESSING_ERROR_REASON_EVENT_TOO_OLD' },
          { recordCount: '1', reason: 'PROCESSING_ERROR_REASON_DENIED_CONSENT' },
        ],
      },
      eventsIngestionStatus: { recordCount: '3' },
    },
  ])
  assert.deepEqual(findUnknownMembers('RetrieveRequestStatusResponse', result), [])
  assert.deepEqual(readWithGoogleTypes('RetrieveRequestStatusResponse', result), result)
})

it('takes an event by its click ID for longer than by personal data', async test => {
  const { ingest, readStatus, advance } = await googleUnderTest(test)
  const daysAgo = (days: number) =>
    new Date(SAMPLE_NOW.getTime() - days * DAY_MILLISECONDS).toISOString()
  const adIdentifiers = { gclid: 'Cj0KCQ-click' }
  const { body } = await ingest(
    sampleIngest(
      sampleGoogleEvent({ eventTimestamp: daysAgo(89), adIdentifiers }),
      sampleGoogleEvent({ transactionId: 'b', eventTimestamp: daysAgo(91), adIdentifiers }),
    ),
  )
  advance(60)
  const { body: result } = await readStatus(body.requestId)
  const [status] = result.requestStatusPerDestination
  assert.equal(status.errorInfo.errorCounts[0].recordCount, '1')
})

it('restates a value by its transaction, and refuses a copy without a new one', async test => {
  const { ingest, readStatus, advance, google } = await googleUnderTest(test)
  await ingest(sampleIngest(sampleGoogleEvent()))
  const copy = await ingest(sampleIngest(sampleGoogleEvent()))
  const restated = await ingest(sampleIngest(sampleGoogleEvent({ conversionValue: 9.5 })))
  advance(60)
  const statusOf = async (requestId: string) =>
    (await readStatus(requestId)).body.requestStatusPerDestination[0]
  const { requestStatus, errorInfo } = await statusOf(copy.body.requestId)
  assert.equal(requestStatus, 'FAILED')
  assert.equal(errorInfo.errorCounts[0].reason, 'PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID')
  assert.equal((await statusOf(restated.body.requestId)).requestStatus, 'SUCCESS')
  const { body } = await google('GET', 'conversions')
  assert.deepEqual(body.conversions, [
    {
      account: '1234567890',
      conversion_action: '456',
      transaction_id: 'order-1',
      value: '9.5',
      currency: 'USD',
      restated: 1,
    },
  ])
  const { body: summary } = await google('GET', 'summary')
  assert.deepEqual(
    [summary.requests, summary.conversions, summary.restated, summary.value_by_currency],
    [3, 1, 1, { USD: '9.5' }],
  )
})

it('counts one transaction at two conversion actions twice', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const other = { ...SAMPLE_DESTINATION, reference: '789', productDestinationId: '789' }
  const event = sampleGoogleEvent({ destinationReferences: [] })
  await ingest({ ...sampleIngest(event), destinations: [SAMPLE_DESTINATION, other] })
  const { body } = await google('GET', 'conversions')
  assert.equal(body.count, 2)
})

it('gives events the errors that a test scripts', async test => {
  const { ingest, readStatus, google } = await googleUnderTest(test)
  const errors = [{ transaction_id: 'order-1', reason: 'INVALID_GCLID' }]
  await google('POST', 'options', { processing_seconds: 0, errors })
  const { body } = await ingest(sampleIngest(sampleGoogleEvent()))
  const { body: result } = await readStatus(body.requestId)
  assert.equal(result.requestStatusPerDestination[0].requestStatus, 'FAILED')
  assert.equal((await google('GET', 'conversions')).body.count, 0)
  assert.equal((await google('POST', 'options', { processing: 1 })).status, 422)
})

it('does not know the request of another sender', async test => {
  const { readStatus } = await googleUnderTest(test)
  const { status, body } = await readStatus('t-unknown')
  assert.equal(status, 400)
  assert.equal(body.error.details[0].reason, 'INVALID_REQUEST_ID')
})
