import { randomInt } from 'node:crypto'
import { TestModeSubmission } from '@signalbox/contract/destinations.ts'
import type { Database } from '../db/database.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { noSuchDestination, requireDestinationId } from './destination-id.ts'
import type { Destination } from './destination-store.ts'
import { switchTestMode } from './test-mode-store.ts'

const checkBody = bodyCheck<TestModeSubmission>(TestModeSubmission)

export interface TestModeRequest {
  trackerId: string
  destinationId: string
  body: unknown
  at: Date
  /** After so long it switches itself off: forgotten test mode is lost conversions. */
  testModeSeconds: number
}

/**
 * setDestinationTestMode: returns the destination as it is now. It never switches on without a
 * code, because the platform would count the test events as live. Throws a 404 refusal for a
 * destination that the tracker does not have, and a 422 that names every wrong field.
 */
export async function setTestMode(
  database: Database,
  { trackerId, destinationId, body, at, testModeSeconds }: TestModeRequest,
): Promise<Destination> {
  requireDestinationId(destinationId)
  const { enabled, test_event_code } = checkBody(body)
  const until = new Date(at.getTime() + testModeSeconds * 1_000)
  const destination = await switchTestMode(database, {
    trackerId,
    destinationId,
    testModeUntil: enabled ? until : null,
    testEventCode: test_event_code ?? null,
    codeIfNone: enabled ? newTestCode() : null,
    at,
  })
  if (!destination) throw noSuchDestination()
  return destination
}

/** Of the form of Meta's own codes. One that the platform does not know is answered 200 as well. */
function newTestCode(): string {
  return `TEST${randomInt(10_000, 100_000)}`
}
