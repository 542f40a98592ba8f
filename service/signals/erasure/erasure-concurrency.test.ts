// Full run only: hundreds of erasures at once with submissions.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { dumpAsText, findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { decideAccepted, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { assertCountersMatch } from '../../../testing/fixtures/stored-events.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import { singleNode } from '../../runtime/db/store-nodes.ts'
import { DestinationRouteCache } from '../delivery/plan-store.ts'
import { createEventCommitter } from '../ingestion/commit-events.ts'
import { draftEvent, type EventDraft } from '../ingestion/event-draft.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { createErasureKeyProvider } from './erasure-store.ts'
import { processDeletionRequest } from './routes.ts'

const PLATFORMS = createOfflinePlatforms()

const PEOPLE = 12
const WRITERS = 6
const GROUPS = 24
const GROUP_EVENTS = 40

it('stores no identity of a person erased during concurrent acceptance', async test => {
  const service = await startTestService(test)
  const writers = Array.from({ length: WRITERS }, () => processOf(test, service))
  const erasers = Array.from({ length: 2 }, () => processOf(test, service))
  for (let person = 0; person < PEOPLE; person += 1) {
    const email = `person-${person}@example.com`
    const body = { identifier_hash: hash('sha256', email) }
    let committed = 0
    let isErased: Promise<void> | null = null
    const erase = async () => {
      const receipts = await Promise.all(erasers.map(eraser => eraser.forget(body)))
      assert.equal(new Set(receipts.map(receipt => receipt.deletion_request_id)).size, 1)
      // All writers are still running, so any match was stored despite the erasure.
      assert.deepEqual(findEmailTraces(email, body.identifier_hash, await payloads(service)), [])
    }
    await Promise.all(
      writers.map(async (writer, index) => {
        for (let group = 0; group < GROUPS; group += 1) {
          const drafts = groupOf(service, { email, person, writer: index, group })
          const outcomes = await writer.commit(drafts)
          assert.ok(outcomes.every(({ isNew }) => isNew))
          committed += 1
          // At a different time for each person.
          if (committed > WRITERS + person * 5) isErased ??= erase()
        }
      }),
    )
    assert.ok(isErased, 'the person was never erased')
    await isErased
  }
  const stored = await dumpAsText(service.database)
  for (let person = 0; person < PEOPLE; person += 1) {
    const email = `person-${person}@example.com`
    assert.deepEqual(findEmailTraces(email, hash('sha256', email), stored), [], email)
  }
  await assertCountersMatch(service.database)
})

it('leaves no identity when submission and erasure run concurrently over HTTP', async test => {
  const service = await startTestService(test)
  const email = 'jane@example.com'
  const body = { identifier_hash: hash('sha256', email) }
  const replies = await Promise.all(
    Array.from({ length: 120 }, (_, index) =>
      index % 10 === 5
        ? service.request('DELETE', '/api/v1/user-data', { body })
        : service.submit(samplePurchase({ event_id: `event-${index}` })),
    ),
  )
  assert.ok(replies.every(({ status }) => status === 202 || status === 200))
  assert.deepEqual(
    findEmailTraces(email, body.identifier_hash, await dumpAsText(service.database)),
    [],
  )
  assert.deepEqual(findEmailTraces(email, body.identifier_hash, service.logged()), [])
  await assertCountersMatch(service.database)
})

/** Another process on the same store, with its own connections and caches. */
function processOf(test: TestContext, { connectionString, delivery, clock, tracker }: TestService) {
  const database = openDatabase({
    connectionString,
    connectionsMax: 4,
    applicationName: 'signalbox race',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  const { platforms, credentialKeys } = delivery
  const now = clock.now
  const erasureKey = createErasureKeyProvider({ database, credentialKeys, now })
  return {
    commit: createEventCommitter({
      database,
      platforms,
      routes: new DestinationRouteCache(singleNode(database), now),
      erasureKey,
      onEventsStored: () => {},
      onDuplicateRecordError: assert.ifError,
    }),
    forget: (body: unknown) =>
      processDeletionRequest(
        {
          platforms: { all: [] },
          database,
          now,
          audit: createTestAuditTrail({ delivery }),
          erasureKey,
        },
        tracker,
        body,
      ),
  }
}

interface Group {
  email: string
  person: number
  writer: number
  group: number
}

/** Half of the batch are events of the person, the rest of other people. */
function groupOf(service: TestService, { email, person, writer, group }: Group): EventDraft[] {
  // No tracker receives seventy thousand events in one millisecond.
  service.clock.advance(0.001)
  const receivedAt = service.clock.now()
  const { trackerId } = service.tracker
  return Array.from({ length: GROUP_EVENTS }, (_, index) => {
    const eventId = `${person}-${writer}-${group}-${index}`
    const isTheirs = index % 2 === 0
    const submission = samplePurchase({
      visitor_id: isTheirs ? (index % 4 === 0 ? email : `visitor-${person}-${index % 3}`) : eventId,
      user_data: isTheirs
        ? { em: email, external_id: [`crm-${person}`] }
        : { em: `customer-${eventId}@example.com` },
    }) as unknown as EventSubmission
    const moment = { receivedAt, eventTime: receivedAt }
    const decision = decideAccepted(submission, receivedAt)
    return draftEvent(submission, { platforms: PLATFORMS, trackerId, eventId, decision, ...moment })
  })
}

async function payloads({ database }: TestService): Promise<string> {
  const { rows } = await database.pool.query('select t::text as row from event_payloads t')
  return rows.map(({ row }) => row).join('\n')
}
