import { randomInt } from 'node:crypto'
import { TestModeSubmission } from '@signalbox/contract/destinations.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { AuditEntry } from '../agents/audit/audit-entry.ts'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { noSuchDestination, requireDestinationId } from './destination-id.ts'
import type { Destination } from './destination-store.ts'
import { isTestModeOn } from './destination-view.ts'
import { lockTestMode, switchTestMode, type TestMode } from './test-mode-store.ts'

const checkBody = bodyCheck<TestModeSubmission>(TestModeSubmission)

export interface TestModeRequest {
  tracker: TrackerIdentity
  destinationId: string
  body: unknown
  at: Date
  /** After so long it switches itself off: forgotten test mode is lost conversions. */
  testModeSeconds: number
}

export interface TestModeScope {
  database: Database
  audit: AuditTrail
}

/**
 * setDestinationTestMode: returns the destination as it is now. It never switches on without a
 * code, because the platform would count the test events as live. What changes is written down.
 * Throws a 404 refusal for a destination that the tracker does not have, and a 422 that names every
 * wrong field.
 */
export async function setTestMode(
  { database, audit }: TestModeScope,
  { tracker, destinationId, body, at, testModeSeconds }: TestModeRequest,
): Promise<Destination> {
  requireDestinationId(destinationId)
  const { enabled, test_event_code } = checkBody(body)
  const until = new Date(at.getTime() + testModeSeconds * 1_000)
  const name = { trackerId: tracker.trackerId, destinationId }
  return database.query.transaction().execute(async query => {
    const before = await lockTestMode({ query }, name)
    if (!before) throw noSuchDestination()
    const after = await switchTestMode({ query }, name, {
      testModeUntil: enabled ? until : null,
      testEventCode: test_event_code ?? before.testEventCode ?? (enabled ? newTestCode() : null),
      at,
    })
    const entry = switchEntry(tracker, { before, after, at })
    if (entry) await audit.append({ query }, entry)
    return after
  })
}

/** Null where everything stays as it was: what was off is switched off, and keeps its code. */
function switchEntry(
  { trackerId, workspaceId }: TrackerIdentity,
  { before, after, at }: { before: TestMode; after: Destination; at: Date },
): AuditEntry | null {
  const until = isTestModeOn(after, at) ? after.testModeUntil : null
  const untilBefore = isTestModeOn(before, at) ? before.testModeUntil : null
  const isCodeChanged = before.testEventCode !== after.testEventCode
  if (until?.getTime() === untilBefore?.getTime() && !isCodeChanged) return null
  return {
    workspaceId,
    at,
    actor: { type: 'tracker', id: trackerId },
    action: 'test_mode.switched',
    subject: { type: 'destination', id: after.id },
    details: {
      is_on: until !== null,
      was_on: untilBefore !== null,
      until: until?.toISOString() ?? null,
      is_code_changed: isCodeChanged,
    },
  }
}

/** Of the form of Meta's own codes. One that the platform does not know is answered 200 as well. */
function newTestCode(): string {
  return `TEST${randomInt(10_000, 100_000)}`
}
