import { TestModeSubmission } from '@signalbox/contract/destinations.ts'
import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { Validator } from '../../runtime/http/validator.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { assertDestinationId, destinationNotFound, isTestModeOn } from './destination-resource.ts'
import {
  type Destination,
  lockTestMode,
  switchTestMode,
  type TestMode,
} from './destination-store.ts'

const testModeValidator = new Validator(TestModeSubmission)

interface TestModeRequest {
  tracker: TrackerIdentity
  destinationId: string
  body: unknown
  at: Date
  /** Who switches it, for the audit log. */
  actor: AuditActor
}

export interface TestModeContext extends AuditedContext {
  platforms: PlatformRegistry
  /** Test mode ends by itself, because forgotten test mode loses conversions. */
  settings: Pick<Settings, 'testModeHours'>
}

/**
 * Switches test mode and returns the destination. A code that is left out is kept, null clears it.
 * Test mode never switches on without a code, because the platform would count the test events as
 * live. A change is audited. Throws a 404 refusal for a
 * destination of another tracker, and a 422 that names every invalid field.
 */
export async function setTestMode(
  context: TestModeContext,
  { tracker, destinationId, body, at, actor }: TestModeRequest,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { enabled, test_event_code } = testModeValidator.validate(body)
  const { platforms, settings } = context
  const until = new Date(at.getTime() + settings.testModeHours * HOUR_MILLISECONDS)
  const key = { trackerId: tracker.trackerId, destinationId }
  return commitAudited(context, async (transaction, record) => {
    const before = await lockTestMode(transaction, key)
    if (!before) throw destinationNotFound()
    const platform = platforms.find(before.platform) ?? platforms.default
    const testCode = test_event_code === undefined ? before.testCode : test_event_code
    const after = await switchTestMode(transaction, key, {
      testModeUntil: enabled ? until : null,
      testCode: testCode ?? (enabled ? platform.createTestCode() : null),
      at,
    })
    const entry = testModeEntry(tracker, { before, after, at, actor })
    if (entry) record(entry)
    return after
  })
}

type EntryOrigin = Pick<TestModeRequest, 'at' | 'actor'>

/** Null when nothing changes: test mode that is off is switched off and keeps its code. */
function testModeEntry(
  { workspaceId }: TrackerIdentity,
  { before, after, at, actor }: { before: TestMode; after: Destination } & EntryOrigin,
): AuditEntry | null {
  const until = isTestModeOn(after, at) ? after.testModeUntil : null
  const untilBefore = isTestModeOn(before, at) ? before.testModeUntil : null
  const isCodeChanged = before.testCode !== after.testCode
  if (until?.getTime() === untilBefore?.getTime() && !isCodeChanged) return null
  return {
    workspaceId,
    at,
    actor,
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
