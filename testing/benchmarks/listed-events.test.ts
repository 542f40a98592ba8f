// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { provisionTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { indexKey, listIdentifierDigests } from '../../service/signals/events/person-identifiers.ts'
import { createTestDatabase } from '../fixtures/database.ts'
import { eventsOfPerson, storePersons } from './erasure.ts'
import { storeListedEvents } from './listed-events.ts'

it('writes the same index keys in SQL as the service does', async test => {
  const { database } = await createTestDatabase(test)
  const credentialKeys = { current: Buffer.alloc(32, 1), previous: [] }
  const at = new Date()
  const tracker = await provisionTracker(database, {
    workspaceName: 'Test',
    at,
    credentialKeys,
    logger: createLogger('silent'),
  })
  await storeListedEvents(database, tracker, { count: 100 })
  const persons = await storePersons(database, tracker, { count: 100, persons: 3 })
  assert.deepEqual(
    persons.map(({ events }) => events),
    [0, 1, 2].map(eventsOfPerson),
  )
  const { rows } = await database.pool.query(
    `select visitor_id, user_data -> 'digests' as digests, identifier_keys from event_payloads`,
  )
  assert.equal(rows.length, 100)
  for (const { visitor_id: visitorId, digests, identifier_keys } of rows) {
    const keys = listIdentifierDigests({ visitorId, digests }).map(digest =>
      indexKey(tracker.trackerId, digest),
    )
    assert.deepEqual(identifier_keys, keys)
  }
  for (const { digest, events } of persons) {
    assert.equal(rows.filter(({ digests }) => digests.em.includes(digest)).length, events)
  }
})
